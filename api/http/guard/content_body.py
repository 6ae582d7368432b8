"""Bodies that become content: a valid API token in one is refused and revoked, before readers or Git can have it."""

from collections.abc import Collection, Iterator
from typing import Any

import orjson
from falcon.asgi import Request

from api.auth.tokens.api_token import PREFIX, find_values
from api.errors import invalid
from api.http.guard.access import principal_of
from api.http.request.json_body import FieldCheck, has_body, read_with_bytes
from api.interfaces import LeakSearch, TokenSearch
from api.runtime.jobs.background import run_in_thread
from content.records.problem import Problem
from schemas.wording import dump_pointer

REPORTED = "found in a report"
_PREFIX = PREFIX.encode()
_SIGNS = (_PREFIX, rb"\u", rb"\\")  # JSON may write a token with escapes, and its texts may have those of YAML
_CODE = "api_token"
_MESSAGE = "This is a valid API token. It is revoked now. Remove it here, and create another token."


async def read_content(
    req: Request,
    schema: str,
    limit: int | None = None,
    *,
    reason: str = "found in an edit",
    further: FieldCheck | None = None,
    credentials: Collection[str] = (),
) -> dict[str, Any]:
    """Read a JSON body as `read_json` does; 422 with the field for a valid API token in it, which is revoked.

    Fields that are `credentials` may have one: they are kept as secrets, and no response shows them.
    """
    data, value = await read_with_bytes(req, schema, limit, further)
    search = _search(req, reason)
    if search and any(sign in data for sign in _SIGNS):
        searched = {name: each for name, each in value.items() if name not in credentials} if credentials else value
        await run_in_thread(_check_fields, search, searched)
    return value


async def read_optional_content(req: Request, schema: str, limit: int | None = None) -> dict[str, Any]:
    """Read a JSON body that may be left out, as `read_content` does."""
    return await read_content(req, schema, limit) if has_body(req) else {}


async def check_file(req: Request, data: bytes) -> None:
    """Raise 422 with the line for a file with a valid API token, which is revoked."""
    search = _search(req, "found in an import")
    if search and (_PREFIX in data or b"\\" in data):
        await run_in_thread(_check_lines, search, data)


async def check_name(req: Request, subject: str, name: str) -> None:
    """Raise 422 for a name in the path of a report that has a valid API token in it, which is revoked."""
    search = _search(req, REPORTED)
    if search and PREFIX in name and await run_in_thread(search.find, name.encode()) is not None:
        raise invalid(f"{subject} contains a valid API token; nothing was recorded.", [Problem(_CODE, _MESSAGE)], _CODE)


def _search(req: Request, reason: str) -> TokenSearch | None:
    leaks: LeakSearch | None = getattr(req.context, "leaks", None)
    if leaks is None:
        return None
    return leaks(principal_of(req), reason, req.context.namespace, req.remote_addr)


def _check_fields(search: TokenSearch, body: object) -> None:
    written = orjson.dumps(body)  # without escapes but those of the texts; a walk through all texts takes far longer
    if not any(sign in written for sign in _SIGNS):
        return
    found = [(steps, value) for steps, text in _texts(body, ()) for _, value in find_values(text.encode())]
    live = search.revoke({value for _, value in found})
    places = dict.fromkeys(dump_pointer(steps) for steps, value in found if value in live)
    if places:
        problems = [Problem(_CODE, _MESSAGE, pointer=pointer) for pointer in places]
        raise invalid("The body contains a valid API token; nothing was changed.", problems, _CODE)


def _texts(value: object, steps: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every text in a JSON value, with its path."""
    if isinstance(value, str):
        yield steps, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, (*steps, name))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _texts(each, (*steps, place))


def _check_lines(search: TokenSearch, data: bytes) -> None:
    at = search.find(data)
    if at is not None:
        problem = Problem(_CODE, _MESSAGE, line=data.count(b"\n", 0, at) + 1)
        raise invalid("The file contains a valid API token; nothing was imported.", [problem], _CODE)
