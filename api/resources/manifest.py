"""What a version holds, in so few bytes that an agent can prove that it holds the same."""

from falcon.asgi import Request, Response

from api.access import reads_project
from api.background import in_thread
from api.replies import IMMUTABLE, State, manifest_reply
from api.resources.published import read_asked, write_reply
from api.served import Served
from gitstore.release import Release
from gitstore.store import Store


class ManifestResource:
    """The manifest of what is published now."""

    def __init__(self, served: Served) -> None:
        self._served = served

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Version, totals and digests of the lists, or 304."""
        found = await self._served.project(namespace, project)
        await _digest(found.release)
        state = State(found.version, found.number, found.release)
        write_reply(resp, manifest_reply(state, found.time, read_asked(req)))


class VersionedManifest:
    """The manifest of one version, which never changes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """Version, totals and digests of the lists, or 304."""
        found, release = await in_thread(self._store.release, namespace, project, version)
        await _digest(release)
        state = State(found.commit, found.number, release, IMMUTABLE)
        write_reply(resp, manifest_reply(state, found.time, read_asked(req)))


async def _digest(release: Release) -> None:
    """Compute the digests off the event loop: the first time in this worker that somebody asks for them."""
    if not release.is_digested:
        await in_thread(release.digest)
