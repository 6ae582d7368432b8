"""Middleware that starts and stops what goes on beside the requests of a worker."""

from collections.abc import Sequence
from typing import Any

from api import logs
from api.background import close_pools
from api.collaborators import Companion

_log = logs.logger("companions")


class Companions:
    """Starts each companion in order when the worker starts, and stops them in reverse when it ends."""

    def __init__(self, companions: Sequence[Companion]) -> None:
        self._companions = companions

    async def process_startup(self, _scope: dict[str, Any], _event: dict[str, Any]) -> None:
        """Start all; an exception keeps the worker from serving."""
        for companion in self._companions:
            await companion.start()

    async def process_shutdown(self, _scope: dict[str, Any], _event: dict[str, Any]) -> None:
        """Stop all, whatever one of them does, then the pools."""
        for companion in reversed(self._companions):
            try:
                await companion.stop()
            except Exception:  # noqa: BLE001 - the others must be stopped too, and the log tells of this one
                _log.exception("companion_failed_to_stop", companion=type(companion).__name__)
        close_pools()
