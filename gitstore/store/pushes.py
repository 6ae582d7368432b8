"""`store.pushes`: the reception of pushes by Git."""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from gitstore.compiled.compiler import Compiler
from gitstore.git.quarantine import Quarantine, open_quarantine, sweep_quarantines
from gitstore.git.transaction import Transaction
from gitstore.history.reached import list_reached
from gitstore.layout import CommitId
from gitstore.pushes.receiving import ReceivedPush, Reception, receive_push
from gitstore.store.access import Component, StoreAccess


class Pushes(Component):
    """The pushes to namespaces."""

    @contextmanager
    def quarantine(self, namespace: str) -> Iterator[Quarantine]:
        """Make the folder of a push, and remove it at the end; first those that dead processes left."""
        repository = self._access.directory.namespace(namespace).repository
        self._access.live.require_namespace(namespace)
        sweep_quarantines(repository)
        with open_quarantine(repository) as quarantine:
            yield quarantine

    def find_settled(self, namespace: str, commits: Collection[CommitId], old: Collection[CommitId]) -> set[CommitId]:
        """Return those of some pushed commits that release has, and those of the `old` that the repository has no more."""
        paths = self._access.directory.namespace(namespace)
        reached = list_reached(paths.repository)
        with self._access.reading(namespace) as compiler:
            gone = {commit for commit in old if not compiler.repository.has(commit)}
        return gone.union(commit for commit in commits if commit in reached)

    def receive(self, namespace: str, push: ReceivedPush) -> Reception:
        """Receive a push whose body is in its quarantine."""
        return receive_push(PushedNamespace(self._access, namespace, push.quarantine.path), push)


class PushedNamespace(NamedTuple):
    """A namespace with the objects of a push."""

    access: StoreAccess
    name: str
    quarantine: Path

    def reading(self) -> AbstractContextManager[Compiler]:
        """Open it to read, without a lock."""
        return self.access.reading(self.name, self.quarantine)

    def writing(self) -> AbstractContextManager[tuple[Compiler, Transaction]]:
        """Open it to write, under the repository's lock."""
        return self.access.writing(self.name, self.quarantine)
