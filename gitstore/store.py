"""The content store: everything that the service and the command line can ask of the content, one method each.

A store is cheap and holds no open repository; pickled, it arrives in another process as that process's own. Methods
block, and raise `gitstore.errors` only (and OSError where the machine fails).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from gitstore import adoption, namespaces, projects
from gitstore.advance import Published
from gitstore.checkout import Watch
from gitstore.compiler import Compiler
from gitstore.draft_doors import DraftDoors
from gitstore.errors import BadRequest, NotFound, StoreError
from gitstore.founding import Founding
from gitstore.layout import TreeId
from gitstore.live import LiveProject
from gitstore.manifest import Manifest
from gitstore.namespaces import Namespace
from gitstore.numbering import ensure_manifest
from gitstore.part_store import PartStore
from gitstore.preparing import prepare
from gitstore.project_file import ProjectFile
from gitstore.publish_doors import PublishDoors
from gitstore.refs import list_drafts
from gitstore.release import Release
from gitstore.repository import Author, view
from gitstore.state_doors import StateDoors
from gitstore.versions import Version


@lru_cache(maxsize=8)
def store_at(root: Path) -> "Store":
    """This process's store of a data directory."""
    return Store(root)


class Store(DraftDoors, PublishDoors, StateDoors):
    """See the module; here stand namespaces, the served state and projects, and each base is about one thing more."""

    def __reduce__(self) -> tuple[Callable[[Path], "Store"], tuple[Path]]:
        return store_at, (self.directory.root,)

    # Namespaces

    def namespaces(self) -> list[str]:
        """The names of all namespaces."""
        return self.directory.namespaces()

    def namespace(self, name: str) -> Namespace:
        """One namespace."""
        self.served(name)
        return namespaces.read_namespace(self.directory.namespace(name))

    def create_namespace(self, name: str, description: str, author: Author) -> Namespace:
        """Make a namespace."""
        return namespaces.create_namespace(self.directory, name, description, author)

    def adopt_folder(
        self, name: str, description: str, folder: Path, author: Author, watch: Watch = str
    ) -> list[Published]:
        """Make a namespace of a folder of projects; Invalid, with nothing made, where that could not be published."""
        return adoption.adopt_folder(self.directory, Founding(name, description, author), folder, watch)

    def describe_namespace(self, name: str, description: str) -> Namespace:
        """Change a namespace's description."""
        self.served(name)
        namespaces.describe_namespace(self.directory.namespace(name), description)
        return self.namespace(name)

    def delete_namespace(self, name: str) -> Path:
        """Move a namespace aside; gives the folder that it is in now."""
        self.served(name)
        return namespaces.delete_namespace(self.directory, self.directory.namespace(name))

    def was_deleted(self, name: str) -> bool:
        """Tell whether a namespace was set aside, and none has its name now; not so one whose repository was lost."""
        return name not in self.namespaces() and any(self.directory.trash.glob(f"{name}-*/{name}.git"))

    # What is served

    def manifest(self, namespace: str) -> Manifest:
        """What release names now, read from disk: never older than anything that was read before."""
        with self._reading(namespace) as compiler:
            return ensure_manifest(compiler, compiler.repository.release())

    def warm(self, namespace: str) -> None:
        """Compile whatever is missing to serve a namespace, for every process of the machine."""
        self.served(namespace)

    def prepare(self, namespace: str, seconds: float) -> bool:
        """Make going back quick to publishes that nobody prepared, for so long; False where some may be left."""
        paths = self.directory.namespace(namespace)
        self.live.must_exist(namespace)
        with view(paths.repository) as repository:  # with parts of its own: none of an old state shall stay in memory
            return prepare(Compiler(paths, repository, PartStore(paths.parts, paths.kept), only_reads=True), seconds)

    def drafts(self, namespace: str, project: str) -> list[str]:
        """The names of a project's drafts."""
        return list_drafts(self.directory.namespace(namespace).repository, project)

    def release(self, namespace: str, project: str, word: str) -> tuple[Version, Release]:
        """The release of any version; NotFound where it is the removal of the project."""
        version = self.version(namespace, project, word)
        with self._reading(namespace) as compiler:
            return version, compiler.release(project, _tree(version))

    # Projects

    def create_project(self, namespace: str, name: str, settings: ProjectFile, author: Author) -> Published:
        """Make and publish a project with empty lists."""
        with self._writing(namespace) as (compiler, opened):
            return projects.create_project(compiler, opened, name, settings, author)

    def change_project(self, namespace: str, name: str, changes: Mapping[str, str], author: Author) -> Published:
        """Publish new settings."""
        with self._writing(namespace) as (compiler, opened):
            return projects.change_project(compiler, opened, name, author, dict(changes))

    def delete_project(
        self, namespace: str, name: str, author: Author, *, may_change_policy: bool = False
    ) -> Published:
        """Publish the removal of a project."""
        with self._writing(namespace) as (compiler, opened):
            return projects.delete_project(compiler, opened, name, author, may_change_policy=may_change_policy)

    # For the parts of the service that are not about content

    def project_version(self, namespace: str, project: str) -> LiveProject:
        """The version that a project serves now."""
        return self.project(namespace, project)

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """SHA and publish number of what an agent reported, where it is known."""
        try:
            found = self.version(namespace, project, str(reported).strip())
        except (NotFound, BadRequest):
            return None
        return found.commit, found.number

    def failures(self) -> list[str]:
        """What keeps a namespace from being served as it is on disk; empty when all is well."""
        return [f"{name}: {failure}" for name in self.namespaces() for failure in self._failures(name)]

    def _failures(self, name: str) -> list[str]:
        try:
            with self._reading(name) as compiler:
                compiler.repository.entries(compiler.repository.commit(compiler.repository.release()).tree)
            return self.served(name).failures
        except (StoreError, OSError) as ex:
            return [str(ex)]


def _tree(version: Version) -> TreeId:
    if version.tree is None:
        raise NotFound(f"Publish {version.number} removed the project; it has no lists.")
    return version.tree
