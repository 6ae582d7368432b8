"""The response to a request that cannot reach the application, in the application's error shape."""

import json
from collections.abc import Sequence
from http import HTTPStatus

_ERRORS: dict[int, tuple[str, str]] = {
    400: ("malformed_request", "The request is not well-formed HTTP."),
    414: ("uri_too_long", "The request line is longer than this service reads."),
    431: ("headers_too_large", "The request's headers are more or longer than this service reads."),
    500: ("internal_error", "Something failed that should not have; the log tells more."),
    501: ("not_implemented", "This service does not know the request's transfer coding."),
    503: ("overloaded", "The service holds as many connections as it may; try again shortly."),
}
_DEFAULT_ERROR = ("refused", "The request is refused.")


def error_response(status: int, headers: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return the bytes of a whole HTTP/1.1 response that refuses a request and ends the connection."""
    code, message = _ERRORS.get(status, _DEFAULT_ERROR)
    body = json.dumps({"error": code, "message": message}).encode()
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        *(f"{name}: {value}" for name, value in headers),
        "Connection: close",
    )
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
