"""`store.releases`: served releases: manifests, compiled lists, and preparation for quick rollbacks."""

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.manifest import Manifest
from gitstore.compiled.release import Release
from gitstore.compiled.segment_store import SegmentStore
from gitstore.compiled.versions import Version
from gitstore.errors import NotFound, StoreError
from gitstore.git.repository import open_repository
from gitstore.history.live import LiveNamespace, LiveProject
from gitstore.history.numbering import ensure_manifest
from gitstore.history.warmup import prepare
from gitstore.store.access import Component


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

    def manifest(self, namespace: str) -> Manifest:
        """Read the manifest of the release branch from disk: never older than any manifest that was read before."""
        with self._access.reading(namespace) as compiler:
            return ensure_manifest(compiler, compiler.repository.release())

    def compile(self, namespace: str) -> None:
        """Compile the releases that are missing to serve a namespace, for every process of the machine."""
        self._access.namespace(namespace)

    def warm_up(self, namespace: str, seconds: float) -> bool:
        """Prepare rollbacks to earlier publishes for up to `seconds`; False where some may be left."""
        paths = self._access.directory.namespace(namespace)
        self._access.live.require_namespace(namespace)
        with open_repository(paths.repository) as repository:
            # A segment store of its own: segments of old states must not stay in memory.
            segments = SegmentStore(paths.segments, paths.archive)
            return prepare(Compiler(paths, repository, segments, read_only=True), seconds)

    def failures(self) -> list[str]:
        """Return the reasons why namespaces are not served as they are on disk; empty when all is well."""
        return [
            f"{name}: {failure}" for name in self._access.directory.namespaces() for failure in self._failures(name)
        ]

    def _failures(self, name: str) -> list[str]:
        try:
            with self._access.reading(name) as compiler:
                compiler.repository.entries(compiler.repository.commit(compiler.repository.release()).tree)
            return self._access.namespace(name).failures
        except (StoreError, OSError) as ex:
            return [str(ex)]
