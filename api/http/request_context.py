"""The outermost middleware: request ids, the headers of every response, and the log line."""

import re
import time
from http import HTTPStatus
from os import urandom

from falcon.asgi import Request, Response

from api import logs
from api.errors import ApiError, bad_request, not_found
from api.http.request.host import is_host
from api.http.response.replies import COMMON_HEADERS
from api.interfaces import LeakSearch
from api.metrics.counters import UNKNOWN_ROUTE, Counters, method_label

_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NEEDS_HOST = "1.1"
_SAFE_METHODS = frozenset({"GET", "HEAD"})

_log = logs.logger("request")


class RequestContext:
    """Middleware that gives every request an id and every response safe default headers, and counts it.

    `json_limit` in bytes is for `read_json`, `public_url` for cookies, `leaks` for `read_content`.
    """

    def __init__(
        self, json_limit: int, counters: Counters, public_url: str = "", leaks: LeakSearch | None = None
    ) -> None:
        self._json_limit = json_limit
        self._public_url = public_url
        self._counters = counters
        self._leaks = leaks

    async def process_request(self, req: Request, _resp: Response) -> None:
        """Take the caller's X-Request-Id if it is harmless, else create one."""
        given = req.get_header("X-Request-Id")
        context = req.context
        context.request_id = given if given and _is_harmless(given) else urandom(8).hex()
        context.json_limit, context.counters = self._json_limit, self._counters
        context.public_url, context.leaks = self._public_url, self._leaks
        context.seconds_waited = 0.0
        context.begun = time.perf_counter()
        _check_framing(req)
        _refuse_odd_slashes(req)

    async def process_response(self, req: Request, resp: Response, _resource: object, _succeeded: bool) -> None:  # noqa: FBT001 - Falcon's call
        """Set the headers of every response; it may be cached only if its responder says so."""
        resp.set_header("X-Request-Id", req.context.request_id)
        for name, value in COMMON_HEADERS:
            resp.set_header(name, value)
        if resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", "no-store")
        seconds = time.perf_counter() - req.context.begun
        self._count(req, resp.status_code, seconds - req.context.seconds_waited)
        _log_answer(req, resp.status_code, seconds)

    def _count(self, req: Request, status: int, seconds: float) -> None:
        self._counters.add_request(req.uri_template or UNKNOWN_ROUTE, method_label(req.method), status, seconds)


def _is_harmless(given: str) -> bool:
    """Return whether a request id may be in a response, the log and the audit trail: not with a token in it."""
    return _GIVEN_ID.fullmatch(given) is not None and logs.remove_secrets(given) == given


def _check_framing(req: Request) -> None:
    """Raise 400 for HTTP/1.1 without a valid Host, and 501 for a transfer coding other than chunked; gunicorn lets both pass.

    https://www.rfc-editor.org/rfc/rfc9112#section-3.2, https://www.rfc-editor.org/rfc/rfc9112#section-6.1
    """
    host, coding = req.get_header("Host"), req.get_header("Transfer-Encoding")
    if req.scope["http_version"] == _NEEDS_HOST and (host is None or not is_host(host)):
        raise bad_request("An HTTP/1.1 request needs one valid header Host.", "malformed_request")
    if coding is not None and coding.strip().lower() != "chunked":
        raise ApiError(501, "not_implemented", "This service does not know the request's transfer coding.")


def _refuse_odd_slashes(req: Request) -> None:
    """Raise a 404 for a doubled or encoded slash: once decoded, the path would be that of another resource."""
    if "//" in req.path or b"%2f" in req.scope.get("raw_path", b"").lower():
        raise not_found("There is nothing at this path: a slash in it is doubled, or encoded as %2F.")


def _log_answer(req: Request, status: int, seconds: float) -> None:
    """Write one log line; for successful reads only at debug level, since agents make thousands a second."""
    failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    refused = getattr(req.context, "refused", status)  # a failed login of a browser is a redirect
    quiet = refused < HTTPStatus.BAD_REQUEST and (req.method in _SAFE_METHODS or req.path.endswith("/hit"))
    if quiet and not logs.is_debug_enabled():
        return
    write = _log.error if failed else _log.debug if quiet else _log.info
    write("answered", status=status, milliseconds=round(seconds * 1000, 2), **logs.request_fields(req))
