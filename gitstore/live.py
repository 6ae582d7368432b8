"""What a process serves now: the mapped releases behind each release ref, looked at once per request.

`peek` is the hot path: two `stat` calls say whether anything moved. Everything else happens only when it did.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from gitstore import refs
from gitstore.compiler import Compiler
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import Broken, NotFound, StoreError
from gitstore.layout import RELEASE_REF, TreeId
from gitstore.lock import hold
from gitstore.manifest import Manifest, ProjectEntry, load_manifest
from gitstore.numbering import ensure_manifest
from gitstore.part_store import PartStore
from gitstore.refs import Signature
from gitstore.release import Release, release_path
from gitstore.repository import view

_RETRY_SECONDS = 1.0
"""How long a failure is remembered before the repository is looked at again."""
_CLOCK_STEP = 20_000_000
"""Nanoseconds within which two moves of a ref may bear the same time: the kernel's clock ticks every 1 to 10 ms."""


@dataclass(frozen=True, slots=True)
class LiveProject:
    """A project as it is served: where it stands in its history, and its lists."""

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
        """When it was published, in seconds since 1970."""
        return self.entry.time


@dataclass(frozen=True, slots=True)
class LiveNamespace:
    """A namespace as it is served; `failure` says why what is on disk is not what is served."""

    folder: str
    signature: Signature
    manifest: Manifest
    projects: Mapping[str, LiveProject]
    failure: str = ""
    until: float = field(default=float("inf"))

    def project(self, name: str) -> LiveProject:
        """A project by name; NotFound where there is none, Broken where it cannot be served."""
        found = self.projects.get(name)
        if found:
            return found
        entry = self.manifest.projects.get(name)
        if entry is None or entry.deleted:
            if self.failure:  # what was last read may be older than the project
                raise Broken(self.failure)
            raise NotFound(f"There is no project {name[:60]!r} in this namespace.")
        raise Broken(f"The project {name} has no version that can be served: {entry.failed}")

    @property
    def failures(self) -> list[str]:
        """Everything that is not as it should be, as sentences."""
        own = [self.failure] if self.failure else []
        return own + [entry.failed for entry in self.manifest.projects.values() if entry.failed]


class Live:
    """The served state of all namespaces in this process. Safe to use from several threads."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._namespaces: dict[str, LiveNamespace] = {}

    def peek(self, namespace: str) -> LiveNamespace | None:
        """The served state if nothing moved since it was read; otherwise None, and `refresh` is due."""
        found = self._namespaces.get(namespace)
        if found is None or found.signature != refs.signature(found.folder, RELEASE_REF):
            return None
        return found if time.monotonic() < found.until else None

    def last(self, namespace: str) -> LiveNamespace | None:
        """What was served last, whether or not it is still what release names."""
        return self._namespaces.get(namespace)

    def is_compiled(self, namespace: str) -> bool:
        """Tell whether a refresh would only read, since everything was compiled by somebody."""
        paths = self._directory.namespace(namespace)
        commit = refs.read_ref(paths.repository, RELEASE_REF)
        manifest = load_manifest(paths.manifests, commit) if commit else None
        trees = (entry.tree for entry in manifest.projects.values() if entry.tree) if manifest else ()
        return manifest is not None and all(release_path(paths.releases, tree).exists() for tree in trees)

    def refresh(self, namespace: str) -> LiveNamespace:
        """Read what release names now. Where that fails, the last good state goes on being served, and says why."""
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
        except Exception as ex:  # noqa: BLE001 - whatever somebody pushed, what was served goes on being served
            reason = f"The repository {paths.repository.name} cannot be read ({type(ex).__name__})."
            found = self._last_good(namespace, now, Broken(reason))
        self._namespaces[namespace] = found
        return found

    def must_exist(self, namespace: str) -> None:
        """Raise NotFound where there is no such namespace, Broken where its repository is gone without a deletion."""
        paths = self._directory.namespace(namespace)
        if paths.repository.is_dir():
            return
        if paths.witness.exists():
            raise Broken(f"The repository of {namespace} is gone from disk, though the namespace was not deleted.")
        raise NotFound(f"There is no namespace {namespace!r}.")

    def _read(self, paths: NamespacePaths, signature: Signature, until: float) -> LiveNamespace:
        self.must_exist(paths.name)
        if not paths.witness.exists():
            with suppress(StoreError, OSError), hold(paths.repository, wait=0):
                paths.bear_witness()
        with view(paths.repository) as repository:
            compiler = Compiler(paths, repository, PartStore(paths.parts, paths.kept), only_reads=True)
            manifest = ensure_manifest(compiler, repository.release())
            projects = {
                name: self._project(compiler, name, entry, entry.tree)
                for name, entry in manifest.projects.items()
                if entry.tree
            }
        return LiveNamespace(str(paths.repository), signature, manifest, projects, until=until)

    def _project(self, compiler: Compiler, name: str, entry: ProjectEntry, tree: TreeId) -> LiveProject:
        """The project, with the release already mapped where its tree is still the same."""
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
    """For ever; but a signature as young as a tick of the clock could be that of the next move too: not at all then."""
    changed = [stat[1] for stat in signature if stat]
    is_young = 0 <= time.time_ns() - max(changed, default=0) < _CLOCK_STEP
    return time.monotonic() if is_young else float("inf")
