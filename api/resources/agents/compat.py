"""The same project data for agents that were written for an older service, under a separate base URL.

They expect a bare number as the version, treat every status but 200 as a failure, and follow no link.
"""

from falcon.asgi import Request, Response

from api.http.compat import without_etag
from api.http.guard.access import grants_item, reads_project
from api.http.request.parameters import Window
from api.http.response.replies import ConditionalGet, ServedVersion, number_reply
from api.http.walks import WALKS, WalkKey, Walks
from api.resources.agents.agents import Agents
from api.resources.agents.published import PublishedList, read_conditional_get, write_reply
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.errors import NotFound
from gitstore.history.live import LiveProject


class PublishNumber:
    """The version of a project in the format of such agents: the publish number."""

    def __init__(self, releases: ReleaseLoader) -> None:
        self._releases = releases

    @reads_project
    async def on_get(self, _req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the publish number as a bare JSON integer; always 200."""
        found = await self._releases.project(namespace, project)
        write_reply(resp, without_etag(number_reply(ServedVersion(found.version, found.number, found.release))))


class UnconditionalList(PublishedList):
    """A published list in canonical form that is always sent in full; ignores If-None-Match.

    A walk through it goes on in the version in which it began.
    """

    @grants_item("read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the list; always 200. The walk through a list that is gone ends."""
        try:
            await super().on_get(req, resp, namespace, project)
        except NotFound:
            walks: Walks | None = req.scope.get(WALKS)
            if walks:
                walks.forget(_walk_key(req))
            raise

    def _choose(self, req: Request, window: Window, current: LiveProject) -> LiveProject:
        walks: Walks | None = req.scope.get(WALKS)
        return walks.follow(_walk_key(req), window.offset, current) if walks else current

    def _read_conditional_get(self, req: Request) -> ConditionalGet:
        return read_conditional_get(req)._replace(if_none_match=None)

    async def _write(self, req: Request, resp: Response, served_version: ServedVersion, window: Window) -> None:
        await super()._write(req, resp, served_version._replace(is_canonical=True), window)
        resp.delete_header("ETag")


def _walk_key(req: Request) -> WalkKey:
    return (req.get_header("Authorization") or "").encode("latin-1"), req.path


class CompatReports:
    """The registration of such agents: that of `Agents`, without the list for people."""

    def __init__(self, agents: Agents) -> None:
        self.on_post = agents.on_post
