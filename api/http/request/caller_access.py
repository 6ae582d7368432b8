"""The access of the caller of one request, asked again after every wait.

Access may end while a request waits: a token is removed or expires, a user is deleted, deactivated, logged out, or loses a
role. A caller that waits must not learn more than a new request would tell it.
"""

import time
from asyncio import Future
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, Protocol

from falcon.asgi import Request

from api.http.request.client_presence import PRESENCE

SHORT = 0.1
"""Seconds for which an answer about access is good enough: the time of a request that does not wait."""


class CallerAccess(Protocol):
    """The access of a caller to one responder."""

    async def check(self) -> Any:
        """Ask again; raises 401 or 403, as for a new request."""

    def watch(self, *needed: tuple[str, str]) -> AbstractContextManager["Future[None]"]:
        """Give a future that is done as soon as the caller loses its access, or one of the (resource, action) grants."""


async def check_again(req: Request, begun: float) -> None:
    """Ask for the caller's access again, if work that began at this monotonic time took long; raises 401 or 403."""
    caller: CallerAccess | None = getattr(req.context, "caller", None)
    if caller is not None and time.monotonic() - begun > SHORT:
        await caller.check()


@asynccontextmanager
async def waiting(req: Request, *needed: tuple[str, str]) -> AsyncIterator["Future[None]"]:
    """Give a future that is done when there is no one left to wait for: the caller has left, or lost its access."""
    presence = req.scope.get(PRESENCE)
    with req.context.caller.watch(*needed) as ended:

        def leave() -> None:
            if not ended.done():
                ended.set_result(None)

        if presence is not None:
            presence.listen(leave)
        try:
            yield ended
        finally:
            if presence is not None:
                presence.forget(leave)
