"""The changes of the published lists since a version, for agents that hold it."""

from falcon.asgi import Request, Response

from api.errors import bad_request
from api.http.guard.access import grants_any, readable_kinds
from api.http.request.parameters import read_text
from api.http.response.changes import (
    ChangesCache,
    ChangesKey,
    TargetVersion,
    changes_body,
    changes_reply,
    changes_tag,
    unchanged_reply,
)
from api.http.response.replies import IMMUTABLE, REVALIDATE, Reply, etag_matches
from api.resources.agents.published import read_conditional_get, write_reply
from api.runtime.jobs.background import CHANGES_QUEUE, run_in_queue, run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.compiled.indexes.versions import check_version_word
from gitstore.history.list_changes import VersionChanges
from gitstore.store.store import Store


class Changes:
    """The changes of the lists from one version to another: the published one, unless `?to=` names it."""

    def __init__(self, releases: ReleaseLoader, store: Store) -> None:
        self._releases = releases
        self._store = store
        self._cache = ChangesCache()

    @grants_any(("redirect", "read"), ("page", "read"))
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the records that were added, changed and removed, each with its index, or 304."""
        old, new = read_text(req, "from"), read_text(req, "to")
        target = await self._target(namespace, project, new)
        if not old:
            raise bad_request("'from' is required: the version whose lists you hold.", "bad_parameter")
        check_version_word(old)  # before an answer that needs no comparison
        write_reply(resp, await self._reply(req, ChangesKey(namespace, project, old.lower(), target.version), target))

    async def _target(self, namespace: str, project: str, new: str | None) -> TargetVersion:
        found = await self._releases.project(namespace, project)
        if new is None or new == found.version:
            return TargetVersion(found.version, found.number, REVALIDATE if new is None else IMMUTABLE)
        version = await run_in_thread(self._store.releases.version, namespace, project, new)
        return TargetVersion(version.commit, version.number, IMMUTABLE)

    async def _reply(self, req: Request, key: ChangesKey, target: TargetVersion) -> Reply:
        kinds, conditional_get = tuple(readable_kinds(req, key.namespace, key.project)), read_conditional_get(req)
        tag = changes_tag(target, kinds)
        if etag_matches(tag, conditional_get.if_none_match):
            return unchanged_reply(target, tag)
        body = changes_body(await self._cache.get(key, lambda: self._compute(key)), kinds)
        compressed = await self._cache.compress(key, kinds, body) if conditional_get.gzip else None
        return changes_reply(target, tag, body, compressed)

    async def _compute(self, key: ChangesKey) -> VersionChanges:
        """Compare the versions in another process: a large difference takes seconds."""
        return await run_in_queue(f"{CHANGES_QUEUE}{key.namespace}", self._store.releases.changes, *key)
