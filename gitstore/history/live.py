"""The releases that a process serves now: mapped from each release ref, which is checked once per request.

`peek` is the hot path: one `stat` call, or two, shows whether anything moved. All other work follows a move.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.manifest import Manifest, ProjectEntry, load_manifest
from gitstore.compiled.release import Release, release_path
from gitstore.compiled.segment_store import SegmentStore
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import Broken, NotFound, StoreError
from gitstore.git import refs
from gitstore.git.lock import hold
from gitstore.git.refs import Signature
from gitstore.git.repository import open_repository
from gitstore.history.numbering import ensure_manifest
from gitstore.layout import RELEASE_REF, TreeId

_RETRY_SECONDS = 1.0  # seconds between a failure and the next read of the repository
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
class LiveNamespace:
    """A namespace as served; `failure` is the reason if it is not the state on disk."""

    folder: str
    signature: Signature
    manifest: Manifest
    projects: Mapping[str, LiveProject]
    failure: str = ""
    until: float = field(default=float("inf"))

    def project(self, name: str) -> LiveProject:
        """Return a project by name. Raises NotFound if it does not exist, Broken if it cannot be served."""
        found = self.projects.get(name)
        if found:
            return found
        entry = self.manifest.projects.get(name)
        if entry is None or entry.deleted:
            if self.failure:  # the last state read may be older than the project
                raise Broken(self.failure)
            raise NotFound(f"There is no project {name[:60]!r} in this namespace.")
        raise Broken(f"The project {name} has no version that can be served: {entry.failed}")

    @property
    def failures(self) -> list[str]:
        """All present failures, as sentences."""
        own = [self.failure] if self.failure else []
        return own + [entry.failed for entry in self.manifest.projects.values() if entry.failed]


class Live:
    """The served state of all namespaces in this process. Safe to use from several threads."""

    def __init__(self, directory: DataDirectory, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        self._directory = directory
        self._limits = limits
        self._namespaces: dict[str, LiveNamespace] = {}

    def peek(self, namespace: str) -> LiveNamespace | None:
        """Return the served state if nothing moved since it was read; None if `refresh` is due."""
        found = self._namespaces.get(namespace)
        if found is None or found.signature != refs.signature(found.folder, RELEASE_REF):
            return None
        return found if time.monotonic() < found.until else None

    def last(self, namespace: str) -> LiveNamespace | None:
        """Return the state that was served last, even if release has moved since."""
        return self._namespaces.get(namespace)

    def refresh_compiled(self, namespace: str) -> LiveNamespace | None:
        """Refresh like `refresh`, or return None if something has to be compiled first, which takes longer."""
        with suppress(StoreError, OSError):  # the refresh meets the same error, and reports it
            if not self._is_compiled(namespace):
                return None
        return self.refresh(namespace)

    def _is_compiled(self, namespace: str) -> bool:
        """Tell whether a refresh would only read, since another process has compiled everything."""
        paths = self._directory.namespace(namespace)
        commit = refs.read_ref(paths.repository, RELEASE_REF)
        manifest = load_manifest(paths.manifests, commit) if commit else None
        trees = (entry.tree for entry in manifest.projects.values() if entry.tree) if manifest else ()
        return manifest is not None and all(release_path(paths.releases, tree).exists() for tree in trees)

    def refresh(self, namespace: str) -> LiveNamespace:
        """Read the current state of release. On a failure the last good state is still served, with the reason."""
        paths = self._directory.namespace(namespace)
        now = refs.signature(paths.repository, RELEASE_REF)
        until = _trusted_until(now)
        try:
            found = self._read(paths, now, until)
        except NotFound:
            self._namespaces.pop(namespace, None)
            raise
        except (StoreError, OSError) as ex:
            found = self._last_good(namespace, now, ex)
        except Exception as ex:  # noqa: BLE001 - no pushed content may stop the served state
            reason = f"The repository {paths.repository.name} cannot be read ({type(ex).__name__})."
            found = self._last_good(namespace, now, Broken(reason))
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

    def _read(self, paths: NamespacePaths, signature: Signature, until: float) -> LiveNamespace:
        self.require_namespace(paths.name)
        if not paths.marker.exists():
            with suppress(StoreError, OSError), hold(paths.repository, wait=0):
                paths.write_marker()
        with open_repository(paths.repository) as repository:
            segments = SegmentStore(paths.segments, paths.archive)
            compiler = Compiler(paths, repository, segments, read_only=True, limits=self._limits)
            manifest = ensure_manifest(compiler, repository.release())
            projects = {
                name: self._project(compiler, name, entry, entry.tree)
                for name, entry in manifest.projects.items()
                if entry.tree
            }
        return LiveNamespace(str(paths.repository), signature, manifest, projects, until=until)

    def _project(self, compiler: Compiler, name: str, entry: ProjectEntry, tree: TreeId) -> LiveProject:
        """Return the project, with the release that is already mapped if its tree is still the same."""
        known = self._namespaces.get(compiler.paths.name)
        before = known.projects.get(name) if known else None
        same = before is not None and before.entry.tree == tree
        release = before.release if before is not None and same else compiler.release(name, tree)
        return LiveProject(compiler.paths.name, name, entry, release)

    def _last_good(self, namespace: str, signature: Signature, ex: Exception) -> LiveNamespace:
        before = self._namespaces.get(namespace)
        if before is None:
            raise ex
        until = time.monotonic() + _RETRY_SECONDS
        return LiveNamespace(before.folder, signature, before.manifest, before.projects, str(ex), until)


def _trusted_until(signature: Signature) -> float:
    """Return the time until which a signature proves that nothing moved.

    That is forever, but not at all for one that is younger than a tick of the clock: the next move could have the same.
    """
    changed = [stat[1] for stat in signature if stat]
    is_young = 0 <= time.time_ns() - max(changed, default=0) < _CLOCK_STEP
    return time.monotonic() if is_young else float("inf")
