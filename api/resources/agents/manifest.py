"""Manifests: totals and digests of a version's lists, by which an agent can verify its copy."""

from falcon.asgi import Request, Response

from api.errors import bad_request
from api.http.guard.access import reads_project
from api.http.request.parameters import read_text
from api.http.response.replies import IMMUTABLE, Digests, ServedVersion
from api.http.response.signed_replies import ManifestSigner
from api.resources.agents.published import read_conditional_get, write_reply
from api.runtime.jobs.background import run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.compiled.releases.release import Release
from gitstore.store.store import Store


class ManifestResource:
    """The manifest of the published version."""

    def __init__(self, releases: ReleaseLoader, signer: ManifestSigner) -> None:
        self._releases = releases
        self._signer = signer

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show version, totals and digests of the lists, or 304."""
        found = await self._releases.project(namespace, project)
        shown = await _digest(req, found.release)
        served_version = ServedVersion(found.version, found.number, found.release)
        place = (namespace, project)
        write_reply(resp, self._signer.reply(served_version, found.time, read_conditional_get(req), shown, place))


class VersionedManifest:
    """The manifest of a fixed version; immutable."""

    def __init__(self, store: Store, signer: ManifestSigner) -> None:
        self._store = store
        self._signer = signer

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """Show version, totals and digests of the lists, or 304."""
        found, release = await run_in_thread(self._store.releases.read, namespace, project, version)
        shown = await _digest(req, release)
        served_version = ServedVersion(found.commit, found.number, release, IMMUTABLE)
        place = (namespace, project)
        write_reply(resp, self._signer.reply(served_version, found.time, read_conditional_get(req), shown, place))


async def _digest(req: Request, release: Release) -> Digests:
    """Compute the requested digests in a thread, unless this worker has them; return which ones they are."""
    word = read_text(req, "digests") or Digests.ALL
    if word not in set(Digests):
        raise bad_request(f"'digests' must be {', '.join(Digests)}.", "bad_parameter")
    shown = Digests(word)
    if not release.has_digests(shown.names):
        await run_in_thread(release.digest, shown.names)
    return shown
