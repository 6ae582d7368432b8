"""Events over HTTP, as a stream that goes on (server-sent events)."""

import re
from collections.abc import AsyncIterator

from falcon.asgi import Request, Response, SSEvent

from api.access import any_principal, principal_of
from api.collaborators import Principal
from api.errors import Forbidden, bad_request
from api.guard import read_bearer
from api.notice.streams import Piece, Position, Silence, Streams
from api.parameters import LARGEST, read_text
from api.served import Served
from gitstore.live import LiveNamespace

RETRY_MILLISECONDS = 2000
"""How long a client that was cut off waits before it comes again."""
_ID = re.compile(r"[0-9]{1,19}")
_NEEDED = "This needs project:read in a project of this namespace."


class Events:
    """The events of a namespace."""

    def __init__(self, served: Served, streams: Streams) -> None:
        self._served = served
        self._streams = streams

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """What happens from now on, or after an id, in the projects that the caller may read (`project:read`)."""
        principal = principal_of(req)
        if not principal.sees(namespace):
            raise Forbidden(_NEEDED)
        if not _reads_any(principal, namespace, await self._served.namespace(namespace)):
            raise Forbidden(_NEEDED)
        after, newest = _read_after(req), await self._streams.newest()
        begin = newest if after is None else min(after, newest)
        resp.set_header("X-Accel-Buffering", "no")  # else nginx keeps events until it has some kilobytes
        resp.content_type = "text/event-stream"
        resp.sse = _dump(self._streams.follow(namespace, read_bearer(req), begin, newest))


def _reads_any(principal: Principal, namespace: str, served: LiveNamespace) -> bool:
    return any(principal.may("project", "read", namespace, project) for project in ("*", *served.projects))


def _read_after(req: Request) -> int | None:
    """The last id that the client saw: of the header that browsers send when they come again, else of `after`."""
    text = req.get_header("Last-Event-ID") or read_text(req, "after")
    if text is None:
        return None
    if _ID.fullmatch(text) is None or int(text) > LARGEST:
        raise bad_request("'after' and Last-Event-ID are the id of an event: digits only.", "bad_parameter")
    return int(text)


async def _dump(pieces: AsyncIterator[Piece]) -> AsyncIterator[SSEvent]:
    async for piece in pieces:
        if isinstance(piece, Position):
            yield SSEvent(retry=RETRY_MILLISECONDS, event_id=str(piece.id))
        elif isinstance(piece, Silence):
            yield SSEvent(comment="still here")
        else:
            yield SSEvent(json=piece.wire(), event=piece.type.value, event_id=str(piece.id))
