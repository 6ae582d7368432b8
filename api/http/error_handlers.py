"""Error handling: the table from exceptions to HTTP statuses, and the serializer of error responses."""

import math
import re
from http import HTTPStatus
from typing import Any

import falcon
import orjson
from falcon.asgi import App, Request, Response, WebSocket

from api import logs
from api.db.errors import TooManyAgents
from api.errors import ApiError
from api.http.response.failed_sign_in import is_sign_in, write_failed_sign_in
from gitstore import errors as store
from gitstore.wire.client.remote_errors import RemoteAway, RemoteError

_STORE_STATUS: dict[type[store.StoreError], int] = {
    store.NotFound: 404,
    store.VersionTooOld: 410,
    store.AlreadyExists: 409,
    store.DuplicateIdentity: 409,
    store.BadRequest: 400,
    store.StaleItem: 412,
    store.StaleDraft: 409,
    store.StaleProposal: 409,
    store.StaleVersion: 409,
    store.LostRace: 409,
    store.NothingToPublish: 409,
    store.NothingToChange: 409,
    store.DraftExists: 409,
    store.Rewound: 409,
    store.Conflicts: 409,
    store.Invalid: 422,
    store.ApprovalRequired: 403,
    store.NotAllowed: 403,
    store.OutOfSpace: 507,
    TooManyAgents: 409,
    # Never 404: an agent that receives "no such project" drops its rules.
    store.StoreError: 503,
}
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large", 415: "unsupported_media_type"}
# A state of the machine, not of the code: the reason says it all, and thousands of requests may meet it.
_OPERATIONAL = (ApiError, store.OutOfSpace, store.Busy, RemoteError)
_GIT = re.compile("git/", re.IGNORECASE)  # the user agents of C git, libgit2, JGit and others
_POLICY_VIOLATION = 1008  # close code, RFC 6455 7.4.1

_log = logs.logger("api")


def add_handlers(app: "App[Request, Response]") -> None:
    """Translate every exception of a responder or middleware into an error response of the same shape."""
    # For HTTPError too: Falcon picks the most specific handler, and its own for HTTPError would win over Exception's.
    # https://falcon.readthedocs.io/en/stable/api/app.html#falcon.asgi.App.add_error_handler
    app.add_error_handler(Exception, handle_exception)
    app.add_error_handler(falcon.HTTPError, handle_exception)


async def handle_exception(
    req: Request, resp: Response | None, ex: Exception, _params: dict[str, Any], ws: WebSocket | None = None
) -> None:
    """Write the error response of an exception; the details of an unexpected one go to the log only."""
    error = translate(ex)
    if error is None:
        error = unexpected_error(req, ex)
    elif error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        cause = {"reason": str(ex)} if isinstance(ex, _OPERATIONAL) else {"exc_info": ex}
        _log.error("service_error", error=error.code, **cause, **logs.request_fields(req))
    req.context.error, req.context.account, req.context.refused = error.code, error.account, error.recorded
    if resp is not None and is_sign_in(req):
        write_failed_sign_in(resp, error)
    elif resp is not None:
        write_error(resp, error, is_plain=_is_git(req))
    elif ws is not None:  # Falcon passes no response for a WebSocket handshake, to which this service has no routes
        await ws.close(_POLICY_VIOLATION)


def write_error(resp: Response, error: ApiError, *, is_plain: bool = False) -> None:
    """Serialize an error; replaces the status, body and caching headers that the responder had set before it failed.

    With `is_plain` it is plain text, which Git prints.
    """
    resp.status = error.status
    resp.content_type = falcon.MEDIA_TEXT if is_plain else falcon.MEDIA_JSON
    resp.data = f"{error.message}\n".encode() if is_plain else orjson.dumps(error.wire())
    for stale in ("ETag", "Last-Modified", "Cache-Control", "Location"):
        resp.delete_header(stale)
    resp.set_headers(error.headers)


def _is_git(req: Request) -> bool:
    """Tell whether the caller is Git, which prints a message only if it is plain text."""
    return (req.uri_template or "").startswith("/git/") and _GIT.search(req.user_agent or "") is not None


def translate(ex: Exception) -> ApiError | None:
    """Return the error response of an exception, or None for an unexpected exception."""
    if isinstance(ex, ApiError):
        return ex
    if isinstance(ex, store.StoreError):
        return _from_store_error(ex)
    if isinstance(ex, falcon.HTTPError):
        return _from_http_error(ex)
    return _from_os_error(ex) if isinstance(ex, OSError) else None


def unexpected_error(req: Request, ex: Exception) -> ApiError:
    """Return a 500 with the request id; the traceback goes to the log only."""
    _log.error("unexpected_error", exc_info=ex, **logs.request_fields(req))
    message = f"Internal error (a bug). Please report it with the log lines of request {logs.request_id(req)}."
    return ApiError(500, "internal_error", message)


def _from_store_error(ex: store.StoreError) -> ApiError:
    status = next(_STORE_STATUS[kind] for kind in type(ex).__mro__ if kind in _STORE_STATUS)
    seconds = math.ceil(ex.seconds) if isinstance(ex, RemoteAway) else 1
    headers = {"Retry-After": str(max(seconds, 1))} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    error = ApiError(status, ex.code, str(ex) or "The content store refused the request.", ex.problems, headers)
    return error.with_details(conflicts=list(ex.conflicts)) if isinstance(ex, store.Conflicts) else error


def _from_http_error(ex: falcon.HTTPError) -> ApiError:
    status = ex.status_code
    code = _HTTP_CODES.get(status, "bad_request" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "unavailable")
    messages = {404: "There is nothing at this path.", 405: "This path does not allow this method."}
    message = messages.get(status) or ex.description or f"{ex.title or 'The request is invalid'}."
    return ApiError(status, code, message, headers=dict(ex.headers or {}))


def _from_os_error(ex: OSError) -> ApiError:
    if store.is_disk_full(ex):
        return _from_store_error(store.OutOfSpace())
    message = "The storage failed; the log has the details. Try again."
    return ApiError(503, "storage_error", message, headers={"Retry-After": "1"})
