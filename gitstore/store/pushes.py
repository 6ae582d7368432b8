"""`store.pushes`: the reception of pushes by Git."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from gitstore.compiled.compiler import Compiler
from gitstore.git.quarantine import Quarantine, open_quarantine, sweep_quarantines
from gitstore.git.transaction import Transaction
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
