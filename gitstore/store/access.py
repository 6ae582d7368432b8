"""Access to the content of a namespace: opened to read, opened to write, and what is served of it.

Every component of the store works through one `StoreAccess`, so that they share served releases and compiled segments.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.versions import Version
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot_cache import SnapshotCache
from gitstore.directory import DataDirectory
from gitstore.errors import LostRace, NotCompiled
from gitstore.git.objects import blob_id
from gitstore.git.push_hook import PushHook
from gitstore.git.quarantine import Quarantine
from gitstore.git.repository import Repository, open_repository
from gitstore.git.transaction import Transaction, update
from gitstore.history import history
from gitstore.history.live import Live, LiveNamespace, LiveProject
from gitstore.layout import BlobId
from gitstore.pushes.pushed_files import TokenFinder, find_no_token
from gitstore.signatures.signing_key import UNSIGNED
from gitstore.upstream.source_push import follow, push_first
from gitstore.upstream.synced_namespace import SyncedNamespace
from gitstore.upstream.upstream_settings import read_settings
from gitstore.wire.client.remote_errors import RemoteAway, RemoteMissing, RemoteMoved
from gitstore.yamlfiles.rewrite import RewrittenFile

T = TypeVar("T")

_LEAST_TRIES = 10
_RACING_SECONDS = 20.0  # of tries: a node that publishes without a pause is mostly first, since it need not fetch
_UPSTREAM_WAIT = 30.0  # seconds for a sync that runs already
_TRIES = 20  # of one change, while others push by plain git without a pause


class StoreAccess:
    """The data directory of one process: its repositories, served releases and compiled segments.

    `hook` is the one that new repositories get, None for none. `signing_key` is the file of the key that signs the commits of
    the service, None for none.
    """

    def __init__(
        self,
        root: Path,
        limits: PatternLimits = DEFAULT_LIMITS,
        hook: PushHook | None = None,
        signing_key: Path | None = None,
    ) -> None:
        self.directory = DataDirectory(root)
        self.signing_key = signing_key
        self.limits = limits
        self.hook = hook
        self.live = Live(self.directory, limits)
        self.starts_children = False
        self.find_token: TokenFinder = find_no_token
        self._segments: dict[str, SegmentStore] = {}
        self._snapshots = SnapshotCache()

    def namespace(self, namespace: str) -> LiveNamespace:
        """Return what a namespace serves now; NotFound where there is no such namespace."""
        found = self.live.peek(namespace)
        if found:
            return found
        try:
            return self.live.refresh(namespace)
        except NotCompiled:  # nothing was ever served: only then a caller waits
            return self.live.refresh(namespace, compiles=True)

    def project(self, namespace: str, project: str) -> LiveProject:
        """Return what a project serves now; NotFound where there is no such project."""
        return self.namespace(namespace).project(project)

    def version(self, namespace: str, project: str, word: str) -> Version:
        """Find a version by publish number or SHA (7 digits or more)."""
        self.project(namespace, project)
        with self.reading(namespace) as compiler:
            return history.version_index(compiler, project).resolve(word)

    @contextmanager
    def reading(self, namespace: str, quarantine: Path | None = None) -> Iterator[Compiler]:
        """Open a namespace to read, without a lock; with a quarantine, also the objects of a push."""
        paths = self.directory.namespace(namespace)
        self.live.require_namespace(namespace)
        with open_repository(paths.repository, quarantine) as repository:
            yield self._compiler(namespace, repository, read_only=True)

    @contextmanager
    def writing(self, namespace: str, quarantine: Path | None = None) -> Iterator[tuple[Compiler, Transaction]]:
        """Open a namespace to write, under its repository's lock; with a quarantine, also to read a push."""
        paths = self.directory.namespace(namespace)
        self.live.require_namespace(namespace)
        with update(paths.repository, quarantine, signing_key=self.signing_key) as transaction:
            paths.write_marker()
            self._prepare_publish(namespace, transaction)
            yield self._compiler(namespace, transaction), transaction

    def _prepare_publish(self, namespace: str, transaction: Transaction) -> None:
        """Have a publish pushed to the upstream before release moves, where that is the truth."""
        synced = self.synced(namespace)
        if synced and synced.settings.is_source:
            transaction.around_release = partial(push_first, synced)
            if synced.settings.path:  # a folder of another repository cannot carry drafts or signatures
                transaction.is_flat, transaction.signing_key = True, UNSIGNED

    def synced(self, namespace: str) -> SyncedNamespace | None:
        """Return a namespace with the settings of its upstream; None without one."""
        paths = self.directory.namespace(namespace)
        settings = read_settings(paths.repository)
        return (
            SyncedNamespace(
                paths.repository,
                partial(QuarantinedNamespace, self, namespace),
                settings,
                self.starts_children,
                self.find_token,
            )
            if settings
            else None
        )

    def _compiler(self, namespace: str, repository: Repository, *, read_only: bool = False) -> Compiler:
        paths, segments = self.directory.namespace(namespace), self._segment_store(namespace)
        if repository.quarantine:
            segments = segments.reading_from(partial(_read_blob, paths.repository, repository.quarantine))
        return Compiler(paths, repository, segments, read_only=read_only, limits=self.limits, cache=self._snapshots)

    def write(self, namespace: str, work: Callable[[Compiler, Transaction], T]) -> T:
        """Run work that changes a namespace, under its repository's lock; again where another writer overtook it.

        A push by plain git does not take the lock, and others push to the upstream. Raises LostRace where one overtook
        every try.
        """
        said, until, tries = "", time.monotonic() + _RACING_SECONDS, 0
        while tries < _LEAST_TRIES or time.monotonic() < until:
            tries += 1
            try:
                return self._write(namespace, work)
            except RemoteMoved as ex:
                said = str(ex)
                self.follow_upstream(namespace)
        raise LostRace(
            f"Others publish to the upstream without a pause. Nothing was published; try again in a moment. {said}"
        )

    def _write(self, namespace: str, work: Callable[[Compiler, Transaction], T]) -> T:
        with self.writing(namespace) as (compiler, transaction):
            for _ in range(_TRIES - 1):
                with suppress(LostRace):
                    return work(compiler, transaction)
            return work(compiler, transaction)

    def follow_upstream(self, namespace: str) -> None:
        """Bring the upstream's commits in. Raises RemoteError where that fails."""
        synced = self.synced(namespace)
        state = follow(synced, _UPSTREAM_WAIT) if synced else None
        if state and state.fault and state.fault.code == RemoteMissing.code:
            raise RemoteMissing(state.fault.message)
        if state and state.fault:
            raise RemoteAway(f"The upstream cannot be taken over, so nothing can be published. {state.fault.message}")

    def add_segments(self, namespace: str, files: Iterable[RewrittenFile]) -> None:
        """Cache the segments of files that are parsed already, so that no later reader has to parse them."""
        segments = self._segment_store(namespace)
        for file in files:
            segments.add(blob_id(file.data), file.rules, file.before)

    def _segment_store(self, namespace: str) -> SegmentStore:
        paths = self.directory.namespace(namespace)
        found = self._segments.get(namespace)
        if found is None:
            read = partial(_read_blob, paths.repository, None)
            found = self._segments.setdefault(
                namespace, SegmentStore(paths.segments, paths.archive, paths.outlines, read)
            )
        return found


def _read_blob(repository: Path, quarantine: Path | None, blob: BlobId) -> bytes:
    with open_repository(repository, quarantine) as opened:
        return opened.blob(blob)


class QuarantinedNamespace(NamedTuple):
    """A namespace, with the objects of a push or fetch in its quarantine."""

    access: StoreAccess
    name: str
    quarantine: Quarantine | None

    def reading(self) -> AbstractContextManager[Compiler]:
        """Open it to read, without a lock."""
        return self.access.reading(self.name, self.quarantine.path if self.quarantine else None)

    def writing(self) -> AbstractContextManager[tuple[Compiler, Transaction]]:
        """Open it to write, under the repository's lock."""
        return self.access.writing(self.name, self.quarantine.path if self.quarantine else None)


class Component:
    """One subject of the store. Pickled, it arrives in another process as that process's own component."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    def __reduce__(self) -> "tuple[Callable[..., Component], tuple[object, ...]]":
        access = self._access
        return _component_at, (type(self), access.directory.root, access.limits, access.hook, access.signing_key)


@lru_cache(maxsize=8)
def access_at(
    root: Path, limits: PatternLimits = DEFAULT_LIMITS, hook: PushHook | None = None, signing_key: Path | None = None
) -> StoreAccess:
    """Return this process's access to a data directory."""
    return StoreAccess(root, limits, hook, signing_key)


_Kind = Callable[[StoreAccess], Component]


def _component_at(
    component: _Kind, root: Path, limits: PatternLimits, hook: PushHook | None, signing_key: Path | None
) -> Component:
    return _components(component, root, limits, hook, signing_key)


@lru_cache(maxsize=64)
def _components(
    component: _Kind, root: Path, limits: PatternLimits, hook: PushHook | None, signing_key: Path | None
) -> Component:
    return component(access_at(root, limits, hook, signing_key))
