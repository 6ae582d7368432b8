"""Events over HTTP, as a stream of server-sent events."""

import re
from collections.abc import AsyncIterator, Callable
from functools import partial

from falcon.asgi import Request, Response, SSEvent

from api.errors import Forbidden, bad_request
from api.events.branch_feeds import Edit
from api.events.streams import KeepAlive, StreamItem, Streams, StreamStart
from api.http.guard.access import any_principal, principal_of
from api.http.guard.guard import read_admitted
from api.http.request.client_presence import PRESENCE
from api.http.request.parameters import MAX_INTEGER, read_text
from api.interfaces import Principal
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.history.live import LiveNamespace

RETRY_MILLISECONDS = 2000  # a disconnected client waits so long before it reconnects
_ID = re.compile(r"[0-9]{1,19}")
_NEEDED = "This needs project:read in a project of this namespace."


class Events:
    """The events of a namespace."""

    def __init__(self, served: ReleaseLoader, streams: Streams) -> None:
        self._releases = served
        self._streams = streams

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """Stream edits and new events, or those after an id, of the projects that the caller may read (`project:read`)."""
        principal = principal_of(req)
        if not principal.can_see(namespace):
            raise Forbidden(_NEEDED)
        served = await self._releases.namespace(namespace)
        if not _reads_any(namespace, served, principal):
            raise Forbidden(_NEEDED)
        await _stream(req, resp, self._streams, namespace, partial(_reads_any, namespace, served))


class AllEvents:
    """The events of every namespace that the caller may see."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Stream edits and new events, or those after an id, of all projects that the caller may read (`project:read`)."""
        await _stream(req, resp, self._streams, None, bool)


async def _stream(
    req: Request, resp: Response, streams: Streams, namespace: str | None, may_follow: Callable[[Principal], bool]
) -> None:
    """Respond with the events after the one that the request names, else with new ones."""
    after, newest = _read_after(req), await streams.newest()
    begin = newest if after is None else min(after, newest)
    # Without it nginx buffers a response until some kilobytes have arrived.
    # https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
    resp.set_header("X-Accel-Buffering", "no")
    resp.content_type = "text/event-stream"
    presence = req.scope.get(PRESENCE)
    resp.sse = _dump(streams.follow(namespace, read_admitted(req), begin, newest, may_follow, presence))


def _reads_any(namespace: str, served: LiveNamespace, principal: Principal) -> bool:
    return any(principal.can("project", "read", namespace, project) for project in ("*", *served.projects))


def _read_after(req: Request) -> int | None:
    """Read the last id that the client has seen: of the header that browsers send to reconnect, else of `after`."""
    text = req.get_header("Last-Event-ID") or read_text(req, "after")
    if text is None:
        return None
    if _ID.fullmatch(text) is None or int(text) > MAX_INTEGER:
        raise bad_request("'after' and Last-Event-ID must be the id of an event, in digits only.", "bad_parameter")
    return int(text)


async def _dump(pieces: AsyncIterator[StreamItem]) -> AsyncIterator[SSEvent]:
    async for piece in pieces:
        if isinstance(piece, StreamStart):
            yield SSEvent(retry=RETRY_MILLISECONDS, event_id=str(piece.id))
        elif isinstance(piece, KeepAlive):
            yield SSEvent(comment="still here")
        elif isinstance(piece, Edit):
            yield SSEvent(json=piece.wire(), event=piece.type.value)
        else:
            yield SSEvent(json=piece.wire(), event=piece.type.value, event_id=str(piece.id))
