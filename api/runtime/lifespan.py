"""Middleware that starts and stops the background services of a worker."""

from collections.abc import Sequence
from typing import Any

from api import logs
from api.interfaces import BackgroundService
from api.runtime.jobs.background import close_pools
from api.runtime.jobs.fork_server import fork_server

_log = logs.logger("background_services")


class Lifespan:
    """The middleware that starts the background services in order, and stops them in reverse order."""

    def __init__(self, background_services: Sequence[BackgroundService]) -> None:
        self._services = background_services

    async def process_startup(self, _scope: dict[str, Any], _event: dict[str, Any]) -> None:
        """Start all; after an exception the worker does not serve."""
        # Falcon 4.4 reports the exception as lifespan.startup.failed, and the server exits:
        # https://asgi.readthedocs.io/en/stable/specs/lifespan.html#startup-failed-send-event
        for service in self._services:
            await service.start()

    async def process_shutdown(self, _scope: dict[str, Any], _event: dict[str, Any]) -> None:
        """Stop all, even if one of them raises, then the pools."""
        for service in reversed(self._services):
            try:
                await service.stop()
            except Exception:  # noqa: BLE001 - the others must be stopped too, and the log has this one
                _log.exception("background_service_failed_to_stop", service=type(service).__name__)
        close_pools()
        fork_server.close()
