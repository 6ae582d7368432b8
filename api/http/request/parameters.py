"""Query parameters, parsed strictly: numbers in ASCII digits, flags, names and times."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypeVar

from falcon.asgi import Request

from api.db.timestamps import load_time
from api.errors import bad_request, not_found
from content.records.names import DEFAULT_DRAFT, is_name

DEFAULT_LIMIT = 500
MAX_INTEGER = 2**63 - 1

Value = TypeVar("Value")

_DIGITS = re.compile(r"[0-9]{1,19}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)


class Window(NamedTuple):
    """The requested part of a list: at most `limit` items after the first `offset` items."""

    limit: int
    offset: int


def read_window(req: Request) -> Window:
    """Read `limit` (default 500) and `offset` (default 0); `limit` has no maximum; 400 for anything but a number."""
    if not req.query_string:
        return Window(DEFAULT_LIMIT, 0)
    return Window(read_number(req, "limit", DEFAULT_LIMIT), read_number(req, "offset", 0))


def read_number(req: Request, name: str, default: int) -> int:
    """Read a whole number from 0 to 2^63-1, written in ASCII digits; 400 for anything else."""
    text = read_text(req, name)
    if text is None:
        return default
    if _DIGITS.fullmatch(text) is None or int(text) > MAX_INTEGER:
        raise bad_request(f"'{name}' must be a whole number, written in digits only.", "bad_parameter")
    return int(text)


def read_flag(req: Request, name: str, *, default: bool = False) -> bool:
    """Read `true` or `false`; 400 for anything else."""
    text = read_text(req, name)
    if text not in {None, "true", "false"}:
        raise bad_request(f"'{name}' must be true or false.", "bad_parameter")
    return default if text is None else text == "true"


def read_word(req: Request, name: str, words: Mapping[str, Value]) -> Value | None:
    """Read one of a few words, and map it; None if it is missing or empty, 400 for another one."""
    text = read_text(req, name)
    if not text:
        return None
    if text not in words:
        raise bad_request(f"'{name}' must be one of {', '.join(words)}.", "bad_parameter")
    return words[text]


def read_draft_name(req: Request) -> str:
    """Read the name of the draft, `?draft=` (default `main`); 400 for an invalid name."""
    text = read_name(req, "draft")
    return DEFAULT_DRAFT if text is None else text


def read_name(req: Request, name: str) -> str | None:
    """Read a parameter that is a name, None if it is missing; 400 for a text that cannot be a name."""
    text = read_text(req, name)
    if text is not None and not is_name(text):
        raise bad_request(f"'{name}' must be 1 to 50 letters, digits, underscores or hyphens.", "bad_parameter")
    return text


def read_time(req: Request, name: str) -> datetime | None:
    """Read a time in RFC 3339 format with its zone; 400 for anything else."""
    text = read_text(req, name)
    if text is None:
        return None
    try:
        if _TIME.fullmatch(text):
            return load_time(text)
    except ValueError:  # well-formed, but not a date that exists, such as 30 February
        pass
    message = f"'{name}' must be a time with its zone, such as 2027-01-31T00:00:00Z (a + is written %2B in a URL)."
    raise bad_request(message, "bad_parameter")


def read_text(req: Request, name: str) -> str | None:
    """Read a parameter, None if it is missing; 400 if it is given more than once."""
    # Falcon gives a list for a parameter that occurs more than once:
    # https://falcon.readthedocs.io/en/stable/api/request_and_response_asgi.html#falcon.asgi.Request.params
    values = req.params.get(name)
    if isinstance(values, list):
        raise bad_request(f"'{name}' is given more than once.", "bad_parameter")
    return values


_COMMIT = re.compile("[0-9a-f]{40}")


def read_commit(req: Request, name: str) -> str:
    """Read the parameter with a commit, empty if it is missing; 400 for anything else."""
    text = read_text(req, name)
    if text is not None and _COMMIT.fullmatch(text) is None:
        raise bad_request(f"'{name}' must be a commit: 40 hexadecimal digits, a to f in lower case.", "bad_parameter")
    return text or ""


MAX_ID = 2**31 - 1
_ID_DIGITS = re.compile(r"[1-9][0-9]{0,9}")


def read_id(text: str, what: str) -> int:
    """Parse the id of a record; 404 for anything that cannot be an id."""
    if _ID_DIGITS.fullmatch(text) is None or int(text) > MAX_ID:
        raise not_found(f"There is no such {what}.")
    return int(text)
