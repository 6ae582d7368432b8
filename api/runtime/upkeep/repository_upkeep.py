"""The maintenance of one worker: writes heartbeats and uses of tokens each second, and removes expired data."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from api import logs
from api.auth.directory import IdentityCache
from api.auth.logins.login import Logins
from api.db.accounts import sessions, tokens
from api.db.agents.heartbeats import Heartbeats
from api.db.database import Connection
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError

INTERVAL = 1.0
SWEEP_INTERVAL = 3600.0

_log = logs.logger("upkeep")


class Maintenance(TaskService):
    """A background service for maintenance; failures are retried in the next round."""

    def __init__(self, directory: IdentityCache, heartbeats: Heartbeats, logins: Logins) -> None:
        super().__init__()
        self._directory = directory
        self._heartbeats = heartbeats
        self._logins = logins
        self._swept_at: float | None = None

    async def start(self) -> None:
        """Load the identity cache and start; while the database is unavailable, requests that need it get the error."""
        try:
            await run_in_thread(self._directory.reload)
        except (StoreError, OSError) as ex:
            _log.warning("directory_not_read", error=str(ex))
        await super().start()

    async def stop(self) -> None:
        """Stop after the last rounds, which write all pending heartbeats unless the database fails."""
        await super().stop()
        await run_in_thread(self._finish)

    def round(self) -> None:
        """Run one round; it never raises errors of the database, so that agents are not affected."""
        self._try(self._write)
        self._try(self._sweep)

    def _finish(self) -> None:
        """Run rounds as long as they write heartbeats."""
        pending = self._heartbeats.pending + 1
        while self._heartbeats.pending < pending:
            pending = self._heartbeats.pending
            self.round()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            if self._has_work():
                await run_in_thread(self.round)

    def _has_work(self) -> bool:
        return bool(self._heartbeats.pending) or self._directory.has_uses or self._is_sweep_due()

    def _write(self) -> None:
        """Write heartbeats, and uses of tokens and sessions, in one transaction, since they mostly occur together."""
        uses, seen = self._directory.take_uses(), self._directory.take_seen()
        self._heartbeats.flush(partial(_note_uses, uses=uses, seen=seen) if uses or seen else None)

    def _sweep(self) -> None:
        if self._is_sweep_due():
            self._swept_at = time.monotonic()
            self._logins.sweep()

    def _is_sweep_due(self) -> bool:
        return self._swept_at is None or time.monotonic() - self._swept_at >= SWEEP_INTERVAL

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except (StoreError, OSError) as ex:
            _log.warning("upkeep_failed", work=work.__qualname__, exc_info=ex)


def _note_uses(connection: Connection, uses: Mapping[int, datetime], seen: Mapping[str, datetime]) -> None:
    tokens.note_uses(connection, uses)
    sessions.note_seen(connection, seen)
