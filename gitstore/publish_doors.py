"""Publishing and going back, and what is known of every publish since."""

from content.vocabulary import Kind
from gitstore import history, publishing
from gitstore.advance import Published
from gitstore.approval import Verdicts, no_verdicts
from gitstore.changes import ChangesByKind
from gitstore.doors import Doors
from gitstore.file_changes import FileChange
from gitstore.history import Publish
from gitstore.lives import Lived, read_life
from gitstore.publishing import PublishOrder
from gitstore.repository import Author
from gitstore.versions import Version


class PublishDoors(Doors):
    """The part of the store that is about publishes."""

    def publish(self, namespace: str, order: PublishOrder, verdicts: Verdicts = no_verdicts) -> Published:
        """Publish a draft under the verdicts on it, which are asked for under the lock."""
        with self._writing(namespace) as (compiler, opened):
            return publishing.publish(compiler, opened, order, verdicts)

    def roll_back(self, namespace: str, project: str, word: str, publisher: Author, message: str = "") -> Published:
        """Publish an earlier version's rules and pages again."""
        version = self.version(namespace, project, word)
        with self._writing(namespace) as (compiler, opened):
            return publishing.roll_back(compiler, opened, project, version, publisher, message)

    def history(self, namespace: str, project: str, offset: int, limit: int) -> tuple[list[Publish], int]:
        """A window of a project's publishes, newest first, and how many there are."""
        self.project(namespace, project)
        with self._reading(namespace) as compiler:
            return history.list_publishes(compiler, project, offset, limit)

    def life(
        self, namespace: str, project: str, kind: Kind, identity: str, window: slice, patience: float = float("inf")
    ) -> tuple[list[Lived], int]:
        """A window of what publishes did to one record, newest first, and how many they are.

        Busy where a history that nobody read yet takes longer than the seconds of `patience`; what was read stays.
        """
        self.project(namespace, project)
        with self._reading(namespace) as compiler:
            return read_life(compiler, project, kind, identity, window, patience)

    def publishes_after(self, namespace: str, project: str, number: int, limit: int) -> list[tuple[Publish, Version]]:
        """What followed a publish, oldest first; also of a project that was deleted. Quick: nothing is counted for it."""
        with self._reading(namespace) as compiler:
            return history.publishes_after(compiler, project, number, limit)

    def publish_detail(
        self, namespace: str, project: str, word: str
    ) -> tuple[Publish, ChangesByKind, list[FileChange]]:
        """One publish with what it changed, rule by rule, and beside the rules file by file."""
        version = self.version(namespace, project, word)
        with self._reading(namespace) as compiler:
            index = history.version_index(compiler, project)
            changes = history.publish_changes(compiler, project, index, version)
            files = history.publish_files(compiler, project, index, version)
            return history.read_publish(compiler, project, index, version), changes, files
