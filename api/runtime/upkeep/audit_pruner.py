"""The pruner of the audit trail: removes the entries of days that are longer ago than the settings keep them."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from api import logs
from api.db.audit_checkpoints import CheckpointKeys
from api.db.audit_pruning import find_batch, remove_batch
from api.db.database import Database
from api.db.errors import TrailBroken
from api.db.timestamps import Clock
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError

_ROUND_SECONDS = 60.0
_PAUSE_SECONDS = 0.1  # between two batches, for other writers

_log = logs.logger("audit")


class AuditPruner(TaskService):
    """A background service that removes a batch at a time, each in a short transaction; 0 `days` keep all entries.

    Entries are removed by whole days of UTC, so that there are few checkpoints. What does not fit the chain stays.
    """

    def __init__(self, database: Database, load_keys: Callable[[], CheckpointKeys], clock: Clock, days: int) -> None:
        super().__init__()
        self._database = database
        self._load_keys = load_keys
        self._clock = clock
        self._days = days

    async def _run(self) -> None:
        while self._days:
            has_more = await run_in_thread(self.remove)
            await asyncio.sleep(_PAUSE_SECONDS if has_more else _ROUND_SECONDS)

    def remove(self) -> bool:
        """Remove a batch; true if it did. A failure is logged, and the next round tries again."""
        try:
            return self._remove()
        except TrailBroken as ex:
            _log.error("audit_not_pruned", error=str(ex))
        except (StoreError, OSError) as ex:
            _log.warning("audit_not_pruned", error=str(ex))
        return False

    def _remove(self) -> bool:
        now = self._clock()
        with self._database.snapshot() as connection:
            batch = find_batch(connection, _midnight(now) - timedelta(days=self._days), now)
        if batch is None:
            return False
        keys, before = self._load_keys(), batch.before
        if before and before.signature and not keys.verify(before):
            raise TrailBroken(
                f"The checkpoint at row {before.number} has no valid signature by a key in signing_key or public_keys."
            )
        signed = batch._replace(checkpoint=keys.sign(batch.checkpoint))
        with self._database.writing() as connection:
            is_removed = remove_batch(connection, signed)
        if is_removed:
            _log.info("audit_pruned", rows=signed.checkpoint.count, up_to=signed.checkpoint.number)
        return is_removed


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
