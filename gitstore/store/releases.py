"""`store.releases`: served releases: manifests, compiled lists, and preparation for quick rollbacks."""

from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import UNREADABLE, Manifest
from gitstore.compiled.indexes.versions import Version
from gitstore.compiled.releases.release import Release
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.directory import make_folder
from gitstore.errors import Broken, NotFound, StoreError, is_disk_full
from gitstore.file_lock import hold_lock_file
from gitstore.git.repository import Repository, open_repository
from gitstore.history.list_changes import VersionChanges, read_changes
from gitstore.history.live import ContentFault, LiveNamespace, LiveProject
from gitstore.history.manifests import ensure_manifest
from gitstore.history.rewinds import current_release
from gitstore.history.upkeep.warmup import prepare
from gitstore.store.access import Component


class NamespaceFaults(NamedTuple):
    """The faults of a namespace, and the numbers of its projects that are served, and that should be."""

    faults: list[ContentFault]
    served: int
    expected: int


class CompileOutcome(Enum):
    """The outcome of compiling a namespace; without room, each process has to keep the result in its own memory."""

    STORED = "stored"
    ELSEWHERE = "elsewhere"
    NO_ROOM = "no room"


class Releases(Component):
    """The releases that agents read, mapped into memory."""

    def namespace(self, namespace: str) -> LiveNamespace:
        """Return what a namespace serves now."""
        return self._access.namespace(namespace)

    def project(self, namespace: str, project: str) -> LiveProject:
        """Return what a project serves now."""
        return self._access.project(namespace, project)

    def read(self, namespace: str, project: str, word: str) -> tuple[Version, Release]:
        """Return a version and its release; NotFound where the version is the removal of the project."""
        version = self._access.version(namespace, project, word)
        if version.tree is None:
            raise NotFound(f"Publish {version.number} removed the project; it has no lists.")
        with self._access.reading(namespace) as compiler:
            return version, compiler.release(project, version.tree)

    def version(self, namespace: str, project: str, word: str) -> Version:
        """Return a version by its publish number or SHA."""
        return self._access.version(namespace, project, word)

    def changes(self, namespace: str, project: str, old: str, new: str) -> VersionChanges:
        """Return the changes of the lists from one version to another; VersionTooOld where they are not known."""
        with self._access.reading(namespace) as compiler:
            return read_changes(compiler, project, old, new)

    def manifest(self, namespace: str) -> Manifest:
        """Read the manifest of the release branch from disk: never older than any manifest that was read before."""
        with self._access.reading(namespace) as compiler:
            return ensure_manifest(compiler, current_release(compiler))

    def compile(self, namespace: str) -> None:
        """Compile the releases that are missing to serve a namespace, for every process of the machine."""
        self._access.live.refresh(namespace)

    def compile_unattended(self, namespace: str) -> CompileOutcome:
        """Compile like `compile`, unless another process already does."""
        paths = self._access.directory.namespace(namespace)
        self._access.live.require_namespace(namespace)
        try:
            make_folder(paths.compiled)
            with hold_lock_file(paths.compiled / "unattended.lock", 0) as is_held:
                if is_held:
                    self._access.live.refresh(namespace)
                return CompileOutcome.STORED if is_held else CompileOutcome.ELSEWHERE
        except OSError as ex:
            if not is_disk_full(ex):
                raise
        return CompileOutcome.NO_ROOM

    def refresh(self, namespace: str, *, compiles: bool = False) -> LiveNamespace:
        """Read what a namespace serves now, like `Live.refresh`."""
        return self._access.live.refresh(namespace, compiles=compiles)

    def warm_up(self, namespace: str, seconds: float) -> bool:
        """Prepare rollbacks to earlier publishes for up to `seconds`; False where some may be left."""
        paths = self._access.directory.namespace(namespace)
        self._access.live.require_namespace(namespace)
        with open_repository(paths.repository) as repository:
            # A segment store of its own: segments of old states must not stay in memory.
            segments = SegmentStore(paths.segments, paths.archive)
            return prepare(Compiler(paths, repository, segments, read_only=True), seconds)

    def faults(self, namespace: str) -> NamespaceFaults:
        """Return the reasons why a namespace is not served as it is on disk; with its number of served projects."""
        try:
            found = self._access.namespace(namespace)
        except NotFound:
            raise
        except (StoreError, OSError) as ex:
            return NamespaceFaults([ContentFault(UNREADABLE, str(ex))], 0, 0)
        expected = sum(1 for entry in found.manifest.projects.values() if entry.tree)
        faults = self._all_faults(found, found.projects.values())
        return NamespaceFaults(faults, len(found.projects), expected)

    def project_faults(self, namespace: str, project: str) -> list[ContentFault]:
        """Return the faults of a project and of its whole namespace."""
        found = self._access.namespace(namespace)
        faults = self._all_faults(found, [found.project(project)])
        return [fault for fault in faults if fault.project in {"", project}]

    def _all_faults(self, found: LiveNamespace, projects: Iterable[LiveProject]) -> list[ContentFault]:
        """Return the faults that are known, and those of a repository, or of some projects in it, that broke since."""
        if found.failure:
            return found.faults
        reported = {fault.project for fault in found.faults}
        return [
            *(fault for fault in self._find_unreadable(found, projects) if fault.project not in reported),
            *found.faults,
        ]

    def _find_unreadable(self, found: LiveNamespace, projects: Iterable[LiveProject]) -> list[ContentFault]:
        """Return the faults since the repository was last read; one `stat` of the ref cannot show them."""
        try:
            self._access.live.require_namespace(Path(found.folder).stem)
            with open_repository(Path(found.folder)) as repository:
                repository.require_head()
                repository.entries(repository.commit(repository.release()).tree)
                return [fault for live in projects if (fault := _lost_folder(repository, found, live))]
        except NotFound:
            return []
        except (StoreError, OSError) as ex:
            return [ContentFault(UNREADABLE, str(ex))]

    def failures(self) -> list[str]:
        """Return the reasons why namespaces are not served as they are on disk, as sentences; empty when all is well."""
        return [
            f"{name}: {fault.reason}"
            for name in self._access.directory.namespaces()
            for fault in self.faults(name).faults
        ]


def _lost_folder(repository: Repository, found: LiveNamespace, live: LiveProject) -> ContentFault | None:
    """Return the fault of a project that is served from its compiled files, but whose folder is lost in Git."""
    tree = live.entry.tree
    if tree is None or repository.has(tree):
        return None
    try:
        repository.entries(tree)  # it may have moved into a new pack
    except Broken as ex:
        return ContentFault(UNREADABLE, str(ex), live.name, live, found.manifest.projects[live.name].newest)
    return None
