"""Liveness and readiness."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from falcon.asgi import Request, Response

from api import logs
from api.errors import Unauthenticated
from api.http.guard.access import EVERYWHERE, public
from api.http.guard.guard import read_bearer
from api.http.response import json_views
from api.interfaces import Authenticator, Principal
from api.readiness import Fault, ReadyCheck, Status, worst
from api.runtime.background import run_in_thread
from gitstore.errors import StoreError

VALID_SECONDS = 0.5  # results are shared for so long, since the path is public and the checks cost work
_BROKEN_CHECK = Fault(
    Status.DEGRADED,
    "check_failed",
    "The check itself failed, so its part may not work.",
    "Read the log of the service.",
)

_log = logs.logger("health")


class Ping:
    """Liveness of the worker."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Respond 204, without any I/O."""
        resp.status = 204


class Ready:
    """Readiness of this node, with the reasons if it is degraded or unavailable."""

    def __init__(self, checks: Sequence[ReadyCheck], authenticator: Authenticator) -> None:
        self._checks = checks
        self._authenticator = authenticator
        self._found: Mapping[str, Sequence[Fault]] = {}
        self._until = 0.0
        self._lock = asyncio.Lock()

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Respond 503 if this node cannot serve, else 200; either way with the result of each check.

        A caller without a token gets the faults of content without names, as one reason for each kind of fault.
        """
        async with self._lock:
            await self._refresh()
        principal = await self._identify(req)
        status = worst(fault.status for faults in self._found.values() for fault in faults)
        resp.status = 503 if status is Status.UNAVAILABLE else 200
        resp.media = {
            "status": status.value,
            "checks": [_show(name, faults, principal) for name, faults in self._found.items()],
        }

    async def _refresh(self) -> None:
        if time.monotonic() >= self._until:
            self._found = await run_in_thread(run_checks, self._checks)
            self._until = time.monotonic() + VALID_SECONDS

    async def _identify(self, req: Request) -> Principal | None:
        """Return the caller, or None: readiness has a response for everyone, also while no token can be checked."""
        with suppress(Unauthenticated, StoreError, OSError):
            bearer = read_bearer(req)
            if not self._authenticator.is_fresh():
                await run_in_thread(self._authenticator.reload)
            return self._authenticator.authenticate(bearer)
        return None


def run_checks(checks: Sequence[ReadyCheck]) -> dict[str, Sequence[Fault]]:
    """Run the checks; returns the faults by name of check."""
    return {check.name: _find(check) for check in checks}


def _find(check: ReadyCheck) -> Sequence[Fault]:
    try:
        return check.find()
    except Exception:  # noqa: BLE001 - readiness is unknown after any exception of a check
        _log.exception("ready_check_failed", check=check.name)
        return [_BROKEN_CHECK]


def _show(name: str, faults: Sequence[Fault], principal: Principal | None) -> dict[str, object]:
    status = worst(fault.status for fault in faults)
    reasons = [json_views.fault(fault) for fault in faults if _may_read(principal, fault)]
    hidden = Counter(_summary(fault) for fault in faults if not _may_read(principal, fault))
    reasons += [dict([*summary, ("count", count)]) for summary, count in hidden.items()]
    return {"name": name, "status": status.value, **({"reasons": reasons} if reasons else {})}


def _may_read(principal: Principal | None, fault: Fault) -> bool:
    """Tell whether a caller may read the names in a fault; a fault without a namespace has none."""
    if not fault.namespace:
        return True
    return principal is not None and (
        principal.can("project", "read", fault.namespace, fault.project or EVERYWHERE)
        or principal.can("namespace", "read", fault.namespace)
    )


def _summary(fault: Fault) -> tuple[tuple[str, object], ...]:
    """Return the public fields of a fault."""
    return tuple(json_views.fault(replace(fault, namespace="", project="", detail="", served=None)).items())
