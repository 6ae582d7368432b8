"""What one worker does beside its requests: write heartbeats and last uses each second, forget what has expired."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

from api import logs
from api.background import in_thread
from api.identity.directory import Directory
from api.identity.login import Logins
from api.routine import Routine
from api.state import tokens
from api.state.heartbeats import Heartbeats
from gitstore.errors import StoreError

INTERVAL = 1.0
SWEEP_INTERVAL = 3600.0

_log = logs.logger("upkeep")


class Upkeep:
    """A companion of the service; what fails is tried again with the next round."""

    def __init__(self, directory: Directory, heartbeats: Heartbeats, logins: Logins) -> None:
        self._directory = directory
        self._heartbeats = heartbeats
        self._logins = logins
        self._swept_at: float | None = None
        self._routine = Routine(self._run)

    async def start(self) -> None:
        """Read the directory, and begin; while the database is away, whoever needs it is told so."""
        try:
            await in_thread(self._directory.reload)
        except (StoreError, OSError) as ex:
            _log.warning("directory_not_read", error=str(ex))
        self._routine.begin()

    async def stop(self) -> None:
        """End, with everything written."""
        await self._routine.end()
        await in_thread(self.round)

    def round(self) -> None:
        """One round; it never raises for the state's sake, for agents must not notice."""
        self._try(self._write)
        self._try(self._sweep)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await in_thread(self.round)

    def _write(self) -> None:
        """Heartbeats and last uses, which mostly come together, in one transaction."""
        uses = self._directory.take_uses()
        self._heartbeats.flush(partial(tokens.note_uses, uses=uses) if uses else None)

    def _sweep(self) -> None:
        if self._swept_at is None or time.monotonic() - self._swept_at >= SWEEP_INTERVAL:
            self._swept_at = time.monotonic()
            self._logins.sweep()

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except (StoreError, OSError) as ex:
            _log.warning("upkeep_failed", work=work.__qualname__, exc_info=ex)
