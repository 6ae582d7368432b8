"""Query parameters, read strictly: plain ASCII digits, known words, names that the one parser accepts."""

import re
from datetime import datetime
from typing import NamedTuple

from falcon.asgi import Request

from api.errors import bad_request
from api.state.moment import load_time
from content.names import DEFAULT_DRAFT, is_name

DEFAULT_LIMIT = 500
LARGEST = 2**63 - 1

_DIGITS = re.compile(r"[0-9]{1,19}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)


class Window(NamedTuple):
    """The part of a list that was asked for: at most `limit` items after `offset` items."""

    limit: int
    offset: int


def read_window(req: Request) -> Window:
    """`limit` (500) and `offset` (0) as asked, never cut; 400 for anything but a plain number."""
    if not req.query_string:
        return Window(DEFAULT_LIMIT, 0)
    return Window(read_number(req, "limit", DEFAULT_LIMIT), read_number(req, "offset", 0))


def read_number(req: Request, name: str, default: int) -> int:
    """A whole number from 0 to 2^63-1, written in ASCII digits; 400 for anything else."""
    text = read_text(req, name)
    if text is None:
        return default
    if _DIGITS.fullmatch(text) is None or int(text) > LARGEST:
        raise bad_request(f"'{name}' must be a whole number, written in digits only.", "bad_parameter")
    return int(text)


def read_flag(req: Request, name: str, *, default: bool = False) -> bool:
    """`true` or `false`; 400 for anything else."""
    text = read_text(req, name)
    if text not in {None, "true", "false"}:
        raise bad_request(f"'{name}' must be true or false.", "bad_parameter")
    return default if text is None else text == "true"


def read_draft(req: Request) -> str:
    """The name of the draft that the request is about: `main` unless `?draft=` says another; 400 for no name."""
    text = read_text(req, "draft")
    if text is None:
        return DEFAULT_DRAFT
    if not is_name(text):
        raise bad_request("'draft' must be 1 to 50 letters, digits, underscores or hyphens.", "bad_parameter")
    return text


def read_time(req: Request, name: str) -> datetime | None:
    """A moment as RFC 3339 writes it, with its zone; 400 for anything else."""
    text = read_text(req, name)
    if text is None:
        return None
    try:
        if _TIME.fullmatch(text):
            return load_time(text)
    except ValueError:  # of the right form, and no time, such as February 30
        pass
    message = f"'{name}' must be a time with its zone, such as 2027-01-31T00:00:00Z (a + is written %2B in a URL)."
    raise bad_request(message, "bad_parameter")


def read_text(req: Request, name: str) -> str | None:
    """The value of a parameter, None if it is not there; 400 if it is there more than once."""
    values = req.params.get(name)
    if isinstance(values, list):
        raise bad_request(f"'{name}' is given more than once.", "bad_parameter")
    return values
