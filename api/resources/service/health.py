"""Liveness and readiness."""

import asyncio
import time
from collections.abc import Sequence

from falcon.asgi import Request, Response

from api import logs
from api.http.guard.access import public
from api.interfaces import ReadyCheck
from api.runtime.background import run_in_thread

VALID_SECONDS = 0.5  # results are shared for so long, since the path is public and the checks cost work

_log = logs.logger("health")


class Ping:
    """Liveness of the worker."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Respond 204, without any I/O."""
        resp.status = 204


class Ready:
    """Readiness of the service, with the reasons if it is not ready."""

    def __init__(self, checks: Sequence[ReadyCheck]) -> None:
        self._checks = checks
        self._found: dict[str, str | None] = {}
        self._until = 0.0
        self._lock = asyncio.Lock()

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Respond 200 if every check passes, else 503; either way with the result of each check."""
        async with self._lock:
            await self._refresh()
        ready = not any(self._found.values())
        resp.status = 200 if ready else 503
        resp.media = {"ready": ready, "checks": [_shown(name, why) for name, why in self._found.items()]}

    async def _refresh(self) -> None:
        if time.monotonic() >= self._until:
            self._found = await run_in_thread(run_checks, self._checks)
            self._until = time.monotonic() + VALID_SECONDS


def run_checks(checks: Sequence[ReadyCheck]) -> dict[str, str | None]:
    """Run the checks; returns the reason of each failed check by name, None for a passed one."""
    return {check.name: _find(check) for check in checks}


def _find(check: ReadyCheck) -> str | None:
    try:
        return check.find()
    except Exception:  # noqa: BLE001 - readiness is unknown after any exception of a check
        _log.exception("ready_check_failed", check=check.name)
        return "The check itself failed; the log has the details."


def _shown(name: str, why: str | None) -> dict[str, object]:
    return {"name": name, "ok": why is None, **({"reason": why} if why is not None else {})}
