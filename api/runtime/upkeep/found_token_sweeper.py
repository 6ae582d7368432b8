"""The sweeper of found tokens: revokes the valid API tokens among what the hooks of pushes by path and SSH found."""

from collections.abc import Hashable, Mapping

from api.auth.tokens.leaked_tokens import LeakedTokens
from api.data.served_data import ServedData
from api.runtime.upkeep.namespace_sweeper import NamespaceSweeper
from gitstore.pushes.found_tokens import found_tokens, read_found
from gitstore.store.store import Store

_ROUND_SECONDS = 5.0


class FoundTokenSweeper(NamespaceSweeper):
    """Looks at each namespace once something was noted; notes that the service may not remove are looked at once."""

    subject = "found_tokens"

    def __init__(self, store: Store, search: LeakedTokens, data: ServedData, seconds: float = _ROUND_SECONDS) -> None:
        super().__init__(data, seconds)
        self._store = store
        self._search = search

    def _list(self) -> Mapping[str, Hashable]:
        return dict.fromkeys(self._store.directory.namespaces())

    def _read_state(self, namespace: str) -> Hashable:
        return frozenset(found_tokens(self._store.directory.namespace(namespace).repository).list().items())

    def _sweep(self, namespace: str) -> None:
        """Revoke what is valid, and forget all that was noted."""
        notes = found_tokens(self._store.directory.namespace(namespace).repository)
        for name in notes.list():
            for digests in read_found(notes, name):
                self._search.revoke_hashes(digests, namespace)
            notes.remove([name])
