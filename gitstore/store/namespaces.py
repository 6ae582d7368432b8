"""`store.namespaces`: creation, import, description and removal of namespaces."""

from collections.abc import Sequence
from pathlib import Path

from gitstore.git.repository import Author
from gitstore.layout import CommitId
from gitstore.namespaces import folder_import, namespaces
from gitstore.namespaces.checkout import ProgressCallback
from gitstore.namespaces.creation import NamespaceCreation
from gitstore.namespaces.namespaces import Namespace
from gitstore.publish.acceptance import accept_rewind
from gitstore.publish.advance import PublishResult
from gitstore.store.access import Component


class Namespaces(Component):
    """The namespaces of the data directory: one bare repository each."""

    def names(self) -> Sequence[str]:
        """Return the names of all namespaces."""
        return self._access.directory.namespaces()

    def read(self, name: str) -> Namespace:
        """Read one namespace."""
        self._access.namespace(name)
        return namespaces.read_namespace(self._access.directory.namespace(name))

    def create(self, name: str, description: str, author: Author) -> Namespace:
        """Create a namespace."""
        return namespaces.create_namespace(self._access.directory, name, description, author)

    def import_folder(
        self, name: str, description: str, folder: Path, author: Author, progress: ProgressCallback = str
    ) -> Sequence[PublishResult]:
        """Create a namespace from a folder of projects; Invalid, with nothing created, where it cannot be published."""
        creation = NamespaceCreation(name, description, author)
        return folder_import.adopt_folder(self._access.directory, creation, folder, progress, self._access.limits)

    def describe(self, name: str, description: str) -> Namespace:
        """Change a namespace's description."""
        self._access.namespace(name)
        return namespaces.describe_namespace(self._access.directory.namespace(name), description)

    def accept_rewind(self, name: str, author: Author) -> CommitId:
        """Accept the present history of a release that was moved back; returns the commit that goes on from it."""
        with self._access.writing(name) as (compiler, transaction):
            return accept_rewind(compiler, transaction, author)

    def delete(self, name: str) -> Path:
        """Archive a namespace; return the folder that it is in now."""
        self._access.namespace(name)
        return namespaces.delete_namespace(self._access.directory, self._access.directory.namespace(name))

    def was_deleted(self, name: str) -> bool:
        """Tell whether a namespace is archived and its name is free; False for a namespace whose repository is lost."""
        directory = self._access.directory
        return name not in directory.namespaces() and any(directory.trash.glob(f"{name}-*/{name}.git"))
