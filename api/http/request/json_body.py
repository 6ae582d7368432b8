"""Request bodies: limited in bytes, decoded strictly and validated by a schema."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import orjson
from falcon.asgi import Request

import schemas
from api.errors import ApiError, bad_request, invalid
from api.http.request.caller_access import check_again
from api.runtime.jobs.background import run_in_thread
from content.records.problem import Problem
from schemas import invalid_fields

FieldCheck = Callable[[Mapping[str, Any], Collection[str]], list[Problem]]
"""Returns the problems of the fields that are valid by the schema, given the names of the invalid ones; it may block."""

# bytes; larger bodies are validated in a thread, since collecting the errors of an invalid one blocks the event loop
LARGE = 64 * 1024


async def read_json(req: Request, schema: str, limit: int | None = None) -> dict[str, Any]:
    """Read a JSON body and validate it by its schema; `limit` in bytes, by default that of the settings.

    Errors: 415 for another content type, 413 over the limit, 408 if the body is too slow,
    400 `malformed_json` with line and column, 422 `invalid_body` with problems.
    """
    data, value = await read_with_bytes(req, schema, limit)
    del data
    return value


async def read_with_bytes(
    req: Request, schema: str, limit: int | None = None, further: FieldCheck | None = None
) -> tuple[bytes, dict[str, Any]]:
    """Read a JSON body as `read_json` does; return its bytes too. 422 also has the problems of the `further` check."""
    check_json(req)
    check_coding(req)
    data = await read_bytes(req, req.context.json_limit if limit is None else limit)
    value: dict[str, Any] = decode_json(data)
    problems = schemas.check(schema, value) if len(data) < LARGE else await run_in_thread(schemas.check, schema, value)
    found = await run_in_thread(_check_fields, further, value, problems) if further else []
    if problems or found:
        fault = "The body does not match its schema" if problems else "The body is invalid"
        raise invalid(f"{fault}; see the problems.", [*problems, *found])
    return data, value


def _check_fields(further: FieldCheck, body: object, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems of the fields of a body that have none by its schema."""
    if not isinstance(body, dict):
        return []
    refused = invalid_fields(problems)
    return further({name: value for name, value in body.items() if name not in refused}, refused)


async def read_optional_json(req: Request, schema: str) -> dict[str, Any]:
    """Read a JSON body that may be left out, as `read_json` does; one without a Content-Length is not ignored."""
    return await read_json(req, schema) if has_body(req) else {}


def has_body(req: Request) -> bool:
    """Return whether a request has a body, also one without a Content-Length."""
    return bool(req.content_type or req.content_length or req.get_header("Transfer-Encoding"))


def clear_fields(body: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return the body of a PATCH with the default of each field that it clears by null, as in RFC 7396."""
    # https://www.rfc-editor.org/rfc/rfc7396; the schemas refuse null for every other field.
    return {name: defaults[name] if value is None else value for name, value in body.items()}


def decode_json(data: bytes) -> Any:
    """Decode strict JSON; else 400 with line and column (from 1, in characters)."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as ex:
        if not data.strip():
            raise bad_request("The body is empty; send JSON.", "malformed_json") from ex
        place = f"line {ex.lineno}, column {ex.colno}"
        raise bad_request(f"The body is not valid JSON: {_reason(ex)} ({place}).", "malformed_json") from ex


async def read_bytes(req: Request, limit: int) -> bytes:
    """Read the whole body, with or without a Content-Length; 413 over `limit` bytes, 408 if it is too slow.

    A caller that loses its access meanwhile gets 401 or 403.
    """
    if (req.content_length or 0) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    begun = time.monotonic()
    count = 0
    async for part in req.stream:
        count += len(part)
        if count > limit:
            raise _too_large(limit)
        parts.append(part)
    if req.content_length is not None and count < req.content_length:
        raise bad_request("The body is shorter than its Content-Length.", "truncated_body")
    await check_again(req, begun)
    return b"".join(parts)


def check_json(req: Request) -> None:
    """Raise 415 unless the body is declared as JSON."""
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        message = "Send the body as JSON, with the header Content-Type: application/json."
        raise ApiError(415, "unsupported_media_type", message)


def check_coding(req: Request) -> None:
    """Raise 415 if the body has a content coding; the response names the accepted one (RFC 9110, 15.5.16)."""
    given = {coding.strip().lower() for coding in (req.get_header("Content-Encoding") or "").split(",")}
    if given - {"", "identity"}:
        message = "The body has a Content-Encoding. Send it uncompressed, without that header."
        raise ApiError(415, "unsupported_media_type", message, headers={"Accept-Encoding": "identity"})


def _too_large(limit: int) -> ApiError:
    message = f"The body is larger than the limit of {limit:,} bytes."
    return ApiError(413, "body_too_large", message)


def _reason(ex: orjson.JSONDecodeError) -> str:
    return ex.msg.split(": line ", maxsplit=1)[0]
