"""The sweeper of proposals: removes branches that release has merged, where a merge was interrupted or done by plain Git."""

import asyncio

from api import logs
from api.data.served_data import ServedData
from api.runtime.background import run_in_thread
from api.runtime.background_task import TaskService
from gitstore.errors import StoreError
from gitstore.store.store import Store

_ROUND_SECONDS = 60.0

_log = logs.logger("proposals")


class ProposalSweeper(TaskService):
    """A background service that looks at each namespace after its release has moved. While `data` is lost, it waits."""

    def __init__(self, store: Store, data: ServedData, seconds: float = _ROUND_SECONDS) -> None:
        super().__init__()
        self._store = store
        self._data = data
        self._seconds = seconds

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if self._data.fault is None:
                for namespace in await run_in_thread(self._store.directory.namespaces):
                    await self._sweep(namespace)

    async def _sweep(self, namespace: str) -> None:
        try:
            removed = await run_in_thread(self._store.proposals.sweep, namespace)
        except (StoreError, OSError) as ex:
            _log.warning("proposals_not_swept", namespace=namespace, error=str(ex))
            return
        for branch in removed:
            _log.info("merged_branch_removed", namespace=namespace, branch=branch)
