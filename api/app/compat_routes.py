"""The routes of agents that were written for an older service: project data and reports, under their base URL."""

from api.app.services import Services
from api.http.compat import BASE
from api.http.response.compression import CompressionCache
from api.http.routing import Route
from api.resources.agents.agents import AgentResource, Agents
from api.resources.agents.compat import CompatReports, PublishNumber, UnconditionalList
from api.resources.service.health import Ping
from api.runtime.serving.release_loader import ReleaseLoader
from content.records.vocabulary import Kind
from gitstore.store.store import Store

_PROJECT = BASE + "/api/namespace/{namespace}/project/{project}"


def compat_routes(
    store: Store, releases: ReleaseLoader, services: Services, compressed: CompressionCache
) -> list[Route]:
    """Return every route that such an agent calls."""
    agent = AgentResource(releases, store.publishes, services.fleet)
    lists = [Route(f"{_PROJECT}/{kind}", UnconditionalList(releases, store, kind, compressed)) for kind in Kind]
    return [
        Route(_PROJECT + "/version", PublishNumber(releases)),
        *lists,
        Route(_PROJECT + "/agents", CompatReports(Agents(releases, store.publishes, services.fleet))),
        Route(_PROJECT + "/agents/{name}/hit", agent, "hit"),
        Route(BASE + "/health/ping", Ping()),
    ]
