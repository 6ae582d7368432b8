"""Request bodies: counted to the byte, decoded strictly and held to a schema."""

from typing import Any

import orjson
from falcon.asgi import Request

import schemas
from api.background import in_thread
from api.errors import ApiError, bad_request, invalid

LARGE = 64 * 1024
"""Bytes from which on a body is checked in a thread, so that a wrong one does not hold up the event loop."""


async def read_json(req: Request, schema: str, limit: int | None = None) -> dict[str, Any]:
    """The JSON object of a request that its schema accepts; `limit` in bytes, else that of the settings.

    Errors: 415 for another content type, 413 over the limit, 408 where the body takes too long,
    400 `malformed_json` with line and column, 422 `invalid_body` with problems.
    """
    _check_media_type(req)
    data = await read_bytes(req, req.context.json_limit if limit is None else limit)
    value: dict[str, Any] = decode_json(data)
    problems = schemas.check(schema, value) if len(data) < LARGE else await in_thread(schemas.check, schema, value)
    if problems:
        raise invalid("The body is not what this call takes; the problems say where.", problems)
    return value


def decode_json(data: bytes) -> Any:
    """The value of strict JSON; else 400 with line and column (from 1, in characters)."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as ex:
        if not data.strip():
            raise bad_request("The body is empty where JSON is expected.", "malformed_json") from ex
        place = f"line {ex.lineno}, column {ex.colno}"
        raise bad_request(f"The body is not JSON: {_reason(ex)} ({place}).", "malformed_json") from ex


async def read_bytes(req: Request, limit: int) -> bytes:
    """The whole body, counted also where no length was announced; 413 over `limit`, 408 where it is too slow."""
    if (req.content_length or 0) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    count = 0
    async for part in req.stream:
        count += len(part)
        if count > limit:
            raise _too_large(limit)
        parts.append(part)
    if req.content_length is not None and count < req.content_length:
        raise bad_request("The body ended before its announced length.", "truncated_body")
    return b"".join(parts)


def _check_media_type(req: Request) -> None:
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        message = "Send the body as JSON, with the header Content-Type: application/json."
        raise ApiError(415, "unsupported_media_type", message)


def _too_large(limit: int) -> ApiError:
    message = f"The body is larger than the {limit:,} bytes that this call takes."
    return ApiError(413, "body_too_large", message)


def _reason(ex: orjson.JSONDecodeError) -> str:
    return ex.msg.split(": line ", maxsplit=1)[0]
