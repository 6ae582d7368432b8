"""The routes of agents that were written for an older service: the project data and the reports, below their base URL."""

from api.compression import Compressed
from api.identity.service import Services
from api.resources.agents import AgentResource, Agents
from api.resources.compat import BASE, PublishNumber, Reports, WholeList
from api.resources.health import Ping
from api.routing import Route
from api.served import Served
from content.vocabulary import Kind
from gitstore.store import Store

_PROJECT = BASE + "/api/namespace/{namespace}/project/{project}"


def compat_routes(store: Store, served: Served, services: Services, compressed: Compressed) -> list[Route]:
    """Every route that such an agent calls."""
    agent = AgentResource(served, services.fleet)
    lists = [Route(f"{_PROJECT}/{kind}", WholeList(served, store, kind, compressed)) for kind in Kind]
    return [
        Route(_PROJECT + "/version", PublishNumber(served)),
        *lists,
        Route(_PROJECT + "/agents", Reports(Agents(served, store, services.fleet))),
        Route(_PROJECT + "/agents/{name}/hit", agent, "hit"),
        Route(BASE + "/health/ping", Ping()),
    ]
