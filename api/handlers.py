"""From exceptions to answers: the one table of what each failure is in HTTP, and the one serializer."""

import errno
from http import HTTPStatus
from typing import Any

import falcon
import orjson
from falcon.asgi import App, Request, Response, WebSocket

from api import logs
from api.errors import ApiError
from gitstore import errors as store

_STORE_STATUS: dict[type[store.StoreError], int] = {
    store.NotFound: 404,
    store.AlreadyExists: 409,
    store.DuplicateIdentity: 409,
    store.BadRequest: 400,
    store.StaleItem: 412,
    store.StaleDraft: 409,
    store.LostRace: 409,
    store.NothingToPublish: 409,
    store.NothingToChange: 409,
    store.DraftExists: 409,
    store.Conflicts: 409,
    store.Invalid: 422,
    store.ApprovalRequired: 403,
    store.NotAllowed: 403,
    store.OutOfSpace: 507,
    # Never 404: an agent that is told "no such project" drops its rules.
    store.StoreError: 503,
}
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large", 415: "unsupported_media_type"}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_POLICY_VIOLATION = 1008

_log = logs.logger("api")


def add_handlers(app: "App[Request, Response]") -> None:
    """Make every exception that a responder or middleware raises an answer in the one shape."""
    app.add_error_handler(Exception, answer)
    app.add_error_handler(falcon.HTTPError, answer)


async def answer(
    req: Request, resp: Response | None, ex: Exception, _params: dict[str, Any], ws: WebSocket | None = None
) -> None:
    """Write the answer to an exception; the log, and never the answer, tells of what was not foreseen."""
    error = translate(ex)
    if error is None:
        error = unforeseen(req, ex)
    elif error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("service_error", error=error.code, exc_info=ex, **logs.request_fields(req))
    if resp is not None:
        write_error(resp, error)
    elif ws is not None:
        await ws.close(_POLICY_VIOLATION)


def write_error(resp: Response, error: ApiError) -> None:
    """The one serializer of errors; nothing that a responder had set before it failed stays."""
    resp.status = error.status
    resp.content_type = falcon.MEDIA_JSON
    resp.data = orjson.dumps(error.wire())
    for stale in ("ETag", "Last-Modified", "Cache-Control", "Location"):
        resp.delete_header(stale)
    resp.set_headers(error.headers)


def translate(ex: Exception) -> ApiError | None:
    """The answer that an exception stands for; None for one that nobody foresaw."""
    if isinstance(ex, ApiError):
        return ex
    if isinstance(ex, store.StoreError):
        return _of_store(ex)
    if isinstance(ex, falcon.HTTPError):
        return _of_falcon(ex)
    return _of_system(ex) if isinstance(ex, OSError) else None


def unforeseen(req: Request, ex: Exception) -> ApiError:
    """A 500 that names the request, whose traceback goes to the log alone."""
    _log.error("unforeseen_error", exc_info=ex, **logs.request_fields(req))
    message = f"Something failed that should not have; the log tells more under request {logs.request_id(req)}."
    return ApiError(500, "internal_error", message)


def _of_store(ex: store.StoreError) -> ApiError:
    status = next(_STORE_STATUS[kind] for kind in type(ex).__mro__ if kind in _STORE_STATUS)
    headers = {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    problems = ex.problems if isinstance(ex, store.Invalid) else ()
    error = ApiError(status, ex.code, str(ex) or "The content store refused this.", problems, headers)
    return error.beside(conflicts=list(ex.conflicts)) if isinstance(ex, store.Conflicts) else error


def _of_falcon(ex: falcon.HTTPError) -> ApiError:
    status = ex.status_code
    code = _HTTP_CODES.get(status, "bad_request" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "unavailable")
    messages = {404: "There is nothing at this path.", 405: "This path does not take this method."}
    message = messages.get(status) or ex.description or f"{ex.title or 'The request is refused'}."
    return ApiError(status, code, message, headers=dict(ex.headers or {}))


def _of_system(ex: OSError) -> ApiError:
    if ex.errno in _FULL:
        return ApiError(507, "out_of_space", "The disk is full; nothing was changed.")
    message = "The storage failed; the log says how. Try again."
    return ApiError(503, "storage_error", message, headers={"Retry-After": "1"})
