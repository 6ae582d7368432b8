"""The same project data for agents that were written for an older service, under a base URL of their own.

They read a bare number as the version, take anything but 200 for a failure, and never follow a link.
"""

from falcon.asgi import Request, Response

from api.access import reads_project
from api.parameters import Window
from api.replies import Asked, State, number_reply
from api.resources.agents import Agents
from api.resources.published import PublishedList, read_asked, write_reply
from api.served import Served

BASE = "/compat/flecto"


class PublishNumber:
    """The version of a project as such agents know it."""

    def __init__(self, served: Served) -> None:
        self._served = served

    @reads_project
    async def on_get(self, _req: Request, resp: Response, namespace: str, project: str) -> None:
        """The publish number as a bare JSON integer; always 200."""
        found = await self._served.project(namespace, project)
        write_reply(resp, number_reply(State(found.version, found.number, found.release)))
        _leave_unconditional(resp)


class WholeList(PublishedList):
    """A published list that is always sent, whatever the caller says that it has."""

    def _asked(self, req: Request) -> Asked:
        return read_asked(req)._replace(known=None)

    async def _write(self, req: Request, resp: Response, state: State, window: Window) -> None:
        await super()._write(req, resp, state, window)
        _leave_unconditional(resp)


class Reports:
    """Where such agents report: the registration of `Agents`, without the list that people read there."""

    def __init__(self, agents: Agents) -> None:
        self.on_post = agents.on_post


def _leave_unconditional(resp: Response) -> None:
    """Name no ETag, since a request that carries one would not be answered by it."""
    resp.delete_header("ETag")
