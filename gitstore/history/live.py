"""The releases that a process serves now: mapped from each release ref, which is checked once per request.

`peek` is the hot path: one `stat` call, or two, shows whether anything moved. All other work follows a move.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from gitstore.compiled.compiler import Compiler, open_release
from gitstore.compiled.indexes.manifest import PENDING, UNREADABLE, Manifest, ProjectEntry, load_manifest
from gitstore.compiled.indexes.served_record import load_served_manifest, read_served
from gitstore.compiled.releases.release import Release
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import Broken, NotCompiled, NotFound, Rewound, StoreError
from gitstore.git import refs
from gitstore.git.lock import hold
from gitstore.git.refs import Signature
from gitstore.git.repository import open_repository
from gitstore.history.manifests import complete_manifest
from gitstore.history.rewinds import note_served_here, record_served, require_continuous
from gitstore.layout import RELEASE_REF, TreeId

_RETRY_SECONDS = 1.0  # seconds between a failure and the next read of the repository
_REPAIR_SECONDS = 5.0  # seconds between two attempts to compile a project whose objects are missing
REWOUND = "release_rewound"
# Nanoseconds within which two moves of a ref can have the same time: file times advance with the kernel's tick, every 1
# to 10 ms. See https://docs.kernel.org/filesystems/multigrain-ts.html
_CLOCK_STEP = 20_000_000


@dataclass(frozen=True, slots=True)
class LiveProject:
    """A project as served: its position in its history, and its lists."""

    namespace: str
    name: str
    entry: ProjectEntry
    release: Release

    @property
    def version(self) -> str:
        """The SHA of the version."""
        return self.entry.version

    @property
    def number(self) -> int:
        """The publish number."""
        return self.entry.number

    @property
    def time(self) -> int:
        """The time of the publish, in seconds since 1970."""
        return self.entry.time


@dataclass(frozen=True, slots=True)
class ContentFault:
    """A reason why a namespace or one of its projects is not served as it is on disk; `served` is served meanwhile.

    `newest` is the number of the publish that is not served; 0 if it is not known.
    """

    code: str
    reason: str
    project: str = ""
    served: LiveProject | None = None
    newest: int = 0


@dataclass(frozen=True, slots=True)
class LiveNamespace:
    """A namespace as served; `failure` is the reason if it is not the state on disk, and `fault` its kind.

    `unserved` has the reasons of projects that can only be served after a repair. With `is_unfinished`, the state on
    disk is newer, and is being compiled, or may be readable again later.

    The signature proves the state until the time `until`. With `is_young`, release had moved just before it was read, and
    the next move may have the same signature: then a look at the ref proves it until `retry_at`.
    """

    folder: str
    signature: Signature
    manifest: Manifest
    projects: Mapping[str, LiveProject]
    failure: str = ""
    until: float = field(default=float("inf"))
    fault: str = ""
    unserved: Mapping[str, str] = field(default_factory=dict)
    is_unfinished: bool = False
    is_young: bool = False
    retry_at: float = field(default=float("inf"))

    def project(self, name: str) -> LiveProject:
        """Return a project by name. Raises NotFound if it does not exist, Broken if it cannot be served."""
        found = self.projects.get(name)
        if found:
            return found
        entry = self.manifest.projects.get(name)
        if entry is None or entry.deleted:
            if self.failure or self.is_unfinished:  # the last state read may be older than the project
                raise Broken(
                    self.failure or "A newer state of this namespace is being compiled. Try again in a moment."
                )
            raise NotFound(f"There is no project {name[:60]!r} in this namespace.")
        reason = self.unserved.get(name) or entry.failed
        raise Broken(f"The project {name} has no version that can be served: {reason}")

    @property
    def faults(self) -> list[ContentFault]:
        """All present faults: first that of the whole namespace."""
        own = [ContentFault(self.fault or UNREADABLE, self.failure)] if self.failure else []
        faulty = self.manifest.failed | self.unserved.keys()
        names = [name for name in self.manifest.projects if name in faulty] if faulty else []
        return own + [fault for name in names if (fault := self.fault_of(name))]

    def fault_of(self, name: str) -> ContentFault | None:
        """Return the present fault of a project itself; None if it has none, or does not exist."""
        entry = self.manifest.projects.get(name)
        if name in self.unserved:
            return ContentFault(UNREADABLE, self.unserved[name], name, None, entry.newest if entry else 0)
        if entry is None or not entry.failed or entry.fault == PENDING:
            return None
        return ContentFault(entry.fault_code, entry.failed, name, self.projects.get(name), entry.newest)

    @property
    def failures(self) -> list[str]:
        """All present failures, as sentences."""
        return [fault.reason for fault in self.faults]


class Live:
    """The served state of all namespaces in this process. Safe to use from several threads.

    With `defers`, nothing is compiled here as long as a last good state can be served: `is_unfinished` tells that
    another process has to compile the newest one. `listener` is called after each refresh, in the thread that did it, with
    the namespace, the state before and the state after: who reads first is not always who waits for it.
    """

    def __init__(self, directory: DataDirectory, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        self.defers = False
        self.listener: Callable[[str, LiveNamespace | None, LiveNamespace], None] | None = None
        self.opening_listener: Callable[[str], None] | None = None
        self._directory = directory
        self._limits = limits
        self._namespaces: dict[str, LiveNamespace] = {}
        self._opening: dict[str, LiveNamespace] = {}
        self._lock = threading.Lock()  # of the exchange of a served state, never held while one is read

    def peek(self, namespace: str) -> LiveNamespace | None:
        """Return the served state if nothing moved since it was read; None if `refresh` is due."""
        found = self._namespaces.get(namespace)
        if found is None or found.signature != refs.signature(found.folder, RELEASE_REF):
            return None
        return found if time.monotonic() < found.until else self._prove(namespace, found)

    def peek_unchanged(self, namespace: str, project: str) -> LiveNamespace | None:
        """Return the state that `refresh` is reading, if a project is in it as before; None if a reader has to wait.

        So no reader waits until the new release of another project is opened, which takes a millisecond for each 2 MB.
        """
        found = self._opening.get(namespace)
        if found is None or project not in found.projects:
            return None
        return found if found.signature == refs.signature(found.folder, RELEASE_REF) and _is_at(found) else None

    def _prove(self, namespace: str, found: LiveNamespace) -> LiveNamespace | None:
        """Return a state that the signature does not prove yet if release is still at its commit: a small read.

        Once the stamp is older than a tick, the signature proves what is found then.
        """
        is_young = _is_young(found.signature)
        if not found.is_young or time.monotonic() >= found.retry_at or not _is_at(found):
            return None
        if not is_young:
            proved = replace(found, until=found.retry_at, is_young=False)
            with self._lock:
                if self._namespaces.get(namespace) is found:
                    self._namespaces[namespace] = proved
            return proved
        return found

    def last(self, namespace: str) -> LiveNamespace | None:
        """Return the state that was served last, even if release has moved since."""
        return self._namespaces.get(namespace)

    def refresh(self, namespace: str, *, compiles: bool = False) -> LiveNamespace:
        """Read the current state of release. On a failure the last good state is still served, with the reason.

        Raises NotCompiled, in a process that defers, if there is no last good state; with `compiles` it is compiled. A state that
        another thread has served meanwhile stays, and is returned: a slow read would take the version back.
        """
        paths = self._directory.namespace(namespace)
        before = self._namespaces.get(namespace)
        now = refs.signature(paths.repository, RELEASE_REF)
        try:
            found = self._read(paths, now, compiles=compiles or not self.defers)
        except NotFound:
            self._namespaces.pop(namespace, None)
            raise
        except (StoreError, OSError) as ex:
            found = self._last_good(paths, now, ex)
        except Exception as ex:  # noqa: BLE001 - no pushed content may stop the served state
            reason = f"The repository {paths.repository.name} cannot be read ({type(ex).__name__})."
            found = self._last_good(paths, now, Broken(reason))
        finally:
            self._opening.pop(namespace, None)
        served = self._exchange(namespace, before, found)
        if served is found and self.listener:
            self.listener(namespace, before, found)
        return served

    def _exchange(self, namespace: str, before: LiveNamespace | None, found: LiveNamespace) -> LiveNamespace:
        """Serve a state in the place of the one before, and return what is served: another one if that was replaced meanwhile."""
        with self._lock:
            now = self._namespaces.get(namespace)
            if now is not None and now is not before and (before is None or now.manifest != before.manifest):
                return now
            self._namespaces[namespace] = found
            return found

    def require_namespace(self, namespace: str) -> None:
        """Raise NotFound if the namespace does not exist, Broken if its repository is missing without a deletion."""
        paths = self._directory.namespace(namespace)
        if paths.repository.is_dir():
            return
        if paths.marker.exists():
            raise Broken(
                f"The repository of {namespace} is missing on disk, but the namespace was not deleted. Restore it from a backup."
            )
        raise NotFound(f"There is no namespace {namespace!r}.")

    def _read(self, paths: NamespacePaths, signature: Signature, *, compiles: bool) -> LiveNamespace:
        is_young = _is_young(signature)
        self.require_namespace(paths.name)
        if not paths.marker.exists():
            with suppress(StoreError, OSError), hold(paths.repository, wait=0):
                paths.write_marker()
        served = read_served(paths)  # before release, which is never behind it then
        with open_repository(paths.repository) as repository:
            segments = SegmentStore(paths.segments, paths.archive)
            compiler = Compiler(paths, repository, segments, read_only=True, limits=self._limits)
            commit = repository.release()
            require_continuous(repository, commit, served)
            manifest = complete_manifest(compiler, commit) if compiles else load_manifest(paths.manifests, commit)
            if manifest is None:
                raise NotCompiled("This namespace is being compiled. Try again in a moment.")
            unchanged = _unchanged(self._namespaces.get(paths.name), manifest)
            self._note_opening(paths, manifest, signature, unchanged)
            projects, unserved = self._open_projects(compiler, manifest, unchanged, compiles=compiles)
            note_served_here(repository, commit)
            record_served(compiler, commit)
        retry, retry_at = [*unserved, *manifest.unfinished], float("inf")
        if retry:
            is_pending = any(manifest.projects[name].fault == PENDING for name in retry)
            retry_at = time.monotonic() + (_RETRY_SECONDS if is_pending else _REPAIR_SECONDS)
        return LiveNamespace(
            str(paths.repository),
            signature,
            manifest,
            projects,
            "",
            time.monotonic() if is_young else retry_at,
            unserved=unserved,
            is_unfinished=bool(retry),
            is_young=is_young,
            retry_at=retry_at,
        )

    def _note_opening(
        self, paths: NamespacePaths, manifest: Manifest, signature: Signature, unchanged: Mapping[str, LiveProject]
    ) -> None:
        """Let readers of projects in which nothing changed go on while the others are opened."""
        known = self._namespaces.get(paths.name)
        if known is not None:
            others = ((name, known.projects[name]) for name in known.projects.keys() - unchanged.keys())
            equal = {name: served for name, served in others if manifest.projects.get(name) == served.entry}
            same = {**unchanged, **equal} if equal else unchanged
            self._opening[paths.name] = LiveNamespace(str(paths.repository), signature, manifest, same)
            if self.opening_listener:
                self.opening_listener(paths.name)

    def _open_projects(
        self, compiler: Compiler, manifest: Manifest, unchanged: Mapping[str, LiveProject], *, compiles: bool
    ) -> tuple[dict[str, LiveProject], dict[str, str]]:
        """Return the served projects, and the reasons of those that cannot be served, not even by a last good version."""
        known = self._namespaces.get(compiler.paths.name)
        projects, unserved = {**unchanged}, dict[str, str]()
        for name in [name for name in manifest.projects if name not in projects]:
            entry = manifest.projects[name]
            if entry.tree is None:
                continue
            try:
                projects[name] = self._project(compiler, name, entry, entry.tree, compiles=compiles)
            except Broken as ex:
                unserved[name] = str(ex)
            except NotCompiled:
                if known is None or name not in known.unserved:
                    raise
                unserved[name] = known.unserved[name]
        return projects, unserved

    def _project(
        self, compiler: Compiler, name: str, entry: ProjectEntry, tree: TreeId, *, compiles: bool
    ) -> LiveProject:
        """Return the project, with the release that is already mapped if its tree is still the same."""
        known = self._namespaces.get(compiler.paths.name)
        before = known.projects.get(name) if known else None
        if before is not None and before.entry.tree == tree:
            return LiveProject(compiler.paths.name, name, entry, before.release)
        release = compiler.release(name, tree) if compiles else compiler.find_compiled(name, tree)
        if release is None:
            raise NotCompiled(f"The project {name} is being compiled. Try again in a moment.")
        return LiveProject(compiler.paths.name, name, entry, release)

    def _last_good(self, paths: NamespacePaths, signature: Signature, ex: Exception) -> LiveNamespace:
        """Return the state that was served last: that of the record on disk, which all processes share, or of memory."""
        before = self._namespaces.get(paths.name)
        manifest = _served_manifest(paths)
        if manifest and (before is None or before.manifest.commit != manifest.commit):
            before = _open_served(paths, signature, manifest)
        elif before and not manifest and _is_of_another(paths, before):
            self._namespaces.pop(paths.name, None)
            before = None
        if before is None:
            raise Broken(str(ex)) if isinstance(ex, Rewound) else ex  # for a reader it is no conflict
        until = time.monotonic() + _RETRY_SECONDS
        if isinstance(ex, NotCompiled):
            failure, code, is_unfinished = "", "", True
        else:
            failure, code, is_unfinished = str(ex), REWOUND if isinstance(ex, Rewound) else UNREADABLE, False
        return replace(
            before,
            signature=signature,
            failure=failure,
            fault=code,
            until=until,
            is_unfinished=is_unfinished,
            is_young=False,
        )


def _unchanged(known: LiveNamespace | None, manifest: Manifest) -> dict[str, LiveProject]:
    """Return the served projects whose entries a manifest has taken over; their number may be ten thousand."""
    if known is None:
        return {}
    entries = manifest.projects
    return {name: served for name, served in known.projects.items() if served.entry is entries.get(name)}


def _served_manifest(paths: NamespacePaths) -> Manifest | None:
    try:
        return load_served_manifest(paths)
    except (OSError, ValueError, TypeError, LookupError):  # damaged: as good as none
        return None


def _is_of_another(paths: NamespacePaths, found: LiveNamespace) -> bool:
    """Tell whether a state is of an earlier namespace of the name, since the repository can be read and lacks its commit."""
    try:
        with open_repository(paths.repository) as repository:
            return not repository.has(found.manifest.commit)
    except (StoreError, OSError):
        return False


def _open_served(paths: NamespacePaths, signature: Signature, manifest: Manifest) -> LiveNamespace:
    """Return the state in a manifest from compiled files alone."""
    projects, unserved = dict[str, LiveProject](), dict[str, str]()
    for name, entry in manifest.projects.items():
        if entry.tree:
            release = open_release(paths, name, entry.tree)
            if release:
                projects[name] = LiveProject(paths.name, name, entry, release)
            else:
                unserved[name] = f"the compiled release of publish {entry.number} is missing, and cannot be built now."
    return LiveNamespace(str(paths.repository), signature, manifest, projects, unserved=unserved)


def _is_at(found: LiveNamespace) -> bool:
    """Tell whether release names the commit of a state."""
    try:
        return refs.read_ref(Path(found.folder), RELEASE_REF) == found.manifest.commit
    except (StoreError, OSError):
        return False


def _is_young(signature: Signature) -> bool:
    """Tell whether a stamp is younger than a tick of the clock: the next move could have the same."""
    changed = [stat[1] for stat in signature if stat]
    return 0 <= time.time_ns() - max(changed, default=0) < _CLOCK_STEP
