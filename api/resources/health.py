"""Liveness and readiness."""

import asyncio
import time
from collections.abc import Sequence

from falcon.asgi import Request, Response

from api import logs
from api.access import public
from api.background import in_thread
from api.collaborators import ReadyCheck

VALID_SECONDS = 0.5
"""How long one look at the checks answers for all who ask: the path is open to anybody."""

_log = logs.logger("health")


class Ping:
    """Whether the worker answers at all."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """204, from memory alone."""
        resp.status = 204


class Ready:
    """Whether the service can do all of its work, and if not, why."""

    def __init__(self, checks: Sequence[ReadyCheck]) -> None:
        self._checks = checks
        self._found: dict[str, str | None] = {}
        self._until = 0.0
        self._looking = asyncio.Lock()

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """200 if no check finds anything, else 503; either way every check with what it found."""
        async with self._looking:
            await self._look()
        ready = not any(self._found.values())
        resp.status = 200 if ready else 503
        resp.media = {"ready": ready, "checks": [_shown(name, why) for name, why in self._found.items()]}

    async def _look(self) -> None:
        if time.monotonic() >= self._until:
            self._found = await in_thread(run_checks, self._checks)
            self._until = time.monotonic() + VALID_SECONDS


def run_checks(checks: Sequence[ReadyCheck]) -> dict[str, str | None]:
    """By name, what each check finds wrong; a check that fails counts as one that found something."""
    return {check.name: _find(check) for check in checks}


def _find(check: ReadyCheck) -> str | None:
    try:
        return check.find()
    except Exception:  # noqa: BLE001 - whatever breaks a check, the service is not known to be ready
        _log.exception("ready_check_failed", check=check.name)
        return "The check itself failed; the log says why."


def _shown(name: str, why: str | None) -> dict[str, object]:
    return {"name": name, "ok": why is None, **({"reason": why} if why is not None else {})}
