"""`store.pushes`: the reception of pushes by Git."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from gitstore.git.quarantine import Quarantine, open_quarantine, sweep_quarantines
from gitstore.history.reached import list_reached
from gitstore.layout import CommitId
from gitstore.pushes.receiving import ReceivedPush, Reception, receive_push
from gitstore.store.access import Component, QuarantinedNamespace


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

    def find_ended(self, namespace: str, commits: Collection[CommitId], old: Collection[CommitId]) -> set[CommitId]:
        """Return those of some pushed commits that release has, and those of the `old` that the repository has no more."""
        paths = self._access.directory.namespace(namespace)
        reached = list_reached(paths.repository)
        with self._access.reading(namespace) as compiler:
            gone = {commit for commit in old if not compiler.repository.has(commit)}
        return gone.union(commit for commit in commits if commit in reached)

    def receive(self, namespace: str, push: ReceivedPush) -> Reception:
        """Receive a push whose body is in its quarantine."""
        return receive_push(QuarantinedNamespace(self._access, namespace, push.quarantine), push)
