"""`store.namespaces`: creation, import, description and removal of namespaces."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from content.records.problem import Problem
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.compiled.segments.snapshot import File, FileSource, Snapshot
from gitstore.errors import SigningKeyUnusable, StoreError
from gitstore.git.repository import Author, open_repository
from gitstore.git.signed_release import require_unsigned_release
from gitstore.layout import CommitId
from gitstore.namespaces import archive, folder_import, folder_publish, namespaces
from gitstore.namespaces.checkout import ProgressCallback
from gitstore.namespaces.creation import NamespaceCreation
from gitstore.namespaces.folder_publish import FolderPublish
from gitstore.namespaces.namespaces import Namespace
from gitstore.namespaces.records import NO_RECORDS, Archived, NamespaceRecords
from gitstore.namespaces.working_directory import WorkingDirectory, WorkingState
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

    def create(self, name: str, description: str, author: Author, records: NamespaceRecords = NO_RECORDS) -> Namespace:
        """Create a namespace. Publish numbers continue after those of earlier namespaces of the name."""
        return namespaces.create_namespace(self._access.directory, self._creation(name, description, author), records)

    def _creation(self, name: str, description: str, author: Author) -> NamespaceCreation:
        if self._access.signing_key is None:
            self._require_unsigned_releases()
        return NamespaceCreation(name, description, author, self._access.hook, self._access.signing_key)

    def _require_unsigned_releases(self) -> None:
        """Raise SigningKeyUnusable where the service signs any other namespace: a new one has no release that tells.

        All are asked: some are never signed, such as those of a folder of an upstream. It takes less than a millisecond for each.
        """
        for name in self.names():
            try:
                with open_repository(self._access.directory.namespace(name).repository) as repository:
                    require_unsigned_release(repository)
            except SigningKeyUnusable:
                raise
            except StoreError:  # one that cannot be read
                continue

    def import_folder(
        self,
        name: str,
        description: str,
        folder: Path,
        author: Author,
        progress: ProgressCallback = str,
        records: NamespaceRecords = NO_RECORDS,
    ) -> Sequence[PublishResult]:
        """Create a namespace from a folder of projects; Invalid, with nothing created, where it cannot be published."""
        return folder_import.adopt_folder(
            self._access.directory,
            self._creation(name, description, author),
            folder,
            progress,
            self._access.limits,
            records,
        )

    def publish_folder(self, name: str, folder: WorkingDirectory, state: WorkingState, author: Author) -> FolderPublish:
        """Publish what changed in a folder that a namespace follows, as one commit; nothing where it has errors."""
        return self._access.write(
            name,
            lambda compiler, transaction: folder_publish.publish_folder(compiler, transaction, folder, state, author),
        )

    def lint_published(self, name: str, state: WorkingState) -> Sequence[Problem]:
        """Return the problems of what is published from a folder, and of the files beside its projects."""
        with self._access.reading(name) as compiler:
            return folder_publish.lint_published(compiler, state)

    def compare_published(self, name: str, baseline: Mapping[str, Snapshot]) -> dict[str, ChangesByKind]:
        """Return the changes of each published project since a baseline."""
        with self._access.reading(name) as compiler:
            return folder_publish.compare_published(compiler, baseline)

    def read_published(self, name: str) -> dict[str, Snapshot]:
        """Return the published state of each project, as a baseline."""
        with self._access.reading(name) as compiler:
            return folder_publish.read_published(compiler)

    def read_elsewhere(
        self, name: str, projects: Mapping[str, Sequence[File]], source: FileSource
    ) -> dict[str, Snapshot]:
        """Return the state of projects whose files are elsewhere, as a baseline; nothing is added to the namespace."""
        with self._access.reading(name) as compiler:
            return folder_publish.read_elsewhere(compiler, projects, source)

    def describe(self, name: str, description: str) -> Namespace:
        """Change a namespace's description."""
        self._access.namespace(name)
        return namespaces.describe_namespace(self._access.directory.namespace(name), description)

    def accept_rewind(self, name: str, author: Author) -> CommitId:
        """Accept the present history of a release that was moved back; returns the commit that goes on from it."""
        with self._access.writing(name) as (compiler, transaction):
            return accept_rewind(compiler, transaction, author)

    def delete(self, name: str, records: NamespaceRecords = NO_RECORDS) -> Path:
        """Archive a namespace; return the folder that it is in now."""
        self._access.namespace(name)
        directory = self._access.directory
        return archive.archive_namespace(directory, directory.namespace(name), records)

    def archived(self, name: str | None = None) -> Sequence[Archived]:
        """Return the archived namespaces, of one name or all; by name, the last archived first."""
        return archive.list_archived(self._access.directory, name)

    def restore(
        self, name: str, archived: str | None, author: Author, records: NamespaceRecords = NO_RECORDS
    ) -> Archived:
        """Restore an archived namespace, the one with an id or the last; AlreadyExists where its name is taken."""
        access = self._access
        return archive.restore_namespace(
            access.directory, name, archived, author, records, access.hook, access.signing_key
        )

    def put_away_records(self, name: str, records: NamespaceRecords) -> None:
        """Put away the records of an archived namespace; nothing where its name is taken."""
        archive.put_away_records(self._access.directory, name, records)
