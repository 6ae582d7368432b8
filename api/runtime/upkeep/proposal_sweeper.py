"""The sweeper of proposals: removes branches that release has merged, where a merge was interrupted or done by plain Git."""

import time
from collections.abc import Hashable, Mapping

from api import logs
from api.data.served_data import ServedData
from api.runtime.upkeep.namespace_sweeper import NamespaceSweeper
from gitstore.git.refs import list_refs
from gitstore.store.store import Store

_ROUND_SECONDS = 60.0
_DAY = 86_400

_log = logs.logger("proposals")


class ProposalSweeper(NamespaceSweeper):
    """Looks at each namespace once its refs have changed, and once a day."""

    subject = "proposals"

    def __init__(self, store: Store, data: ServedData, seconds: float = _ROUND_SECONDS) -> None:
        super().__init__(data, seconds)
        self._store = store

    def _list(self) -> Mapping[str, Hashable]:
        return dict.fromkeys(self._store.directory.namespaces())

    def _read_state(self, namespace: str) -> Hashable:
        repository = self._store.directory.namespace(namespace).repository
        return hash((frozenset(list_refs(repository, is_lenient=True).items()), int(time.time() // _DAY)))

    def _sweep(self, namespace: str) -> None:
        for branch in self._store.proposals.sweep(namespace):
            _log.info("merged_branch_removed", namespace=namespace, branch=branch)
