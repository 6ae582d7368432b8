"""The sweeper of proposals: removes branches that release has merged, where a merge was interrupted or done by plain Git."""

import asyncio
import time

from api import logs
from api.data.served_data import ServedData
from api.runtime.background import run_in_thread
from api.runtime.background_task import TaskService
from gitstore.errors import StoreError
from gitstore.git.refs import list_refs
from gitstore.store.store import Store

_ROUND_SECONDS = 60.0
_DAY = 86_400

_log = logs.logger("proposals")


class ProposalSweeper(TaskService):
    """A background service that looks at each namespace once its refs have changed, and once a day.

    While `data` is lost, it waits.
    """

    def __init__(self, store: Store, data: ServedData, seconds: float = _ROUND_SECONDS) -> None:
        super().__init__()
        self._store = store
        self._data = data
        self._seconds = seconds
        self._seen = dict[str, int]()  # the refs and the day of the last look at each namespace, as a hash

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if self._data.fault is None:
                await run_in_thread(self.sweep)

    def sweep(self) -> None:
        """Look at each namespace; a failure is logged, and the next round tries again."""
        try:
            namespaces = self._store.directory.namespaces()
        except OSError as ex:
            _log.warning("proposals_not_read", error=str(ex))
            return
        for namespace in namespaces:
            try:
                self._sweep(namespace)
            except (StoreError, OSError) as ex:
                _log.warning("proposals_not_swept", namespace=namespace, error=str(ex))

    def _sweep(self, namespace: str) -> None:
        repository = self._store.directory.namespace(namespace).repository
        seen = hash((frozenset(list_refs(repository, is_lenient=True).items()), int(time.time() // _DAY)))
        if self._seen.get(namespace) == seen:
            return
        for branch in self._store.proposals.sweep(namespace):
            _log.info("merged_branch_removed", namespace=namespace, branch=branch)
        self._seen[namespace] = seen
