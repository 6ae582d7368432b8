"""Liveness and readiness."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace

from falcon.asgi import Request, Response

from api.errors import Unauthenticated
from api.http.guard.access import EVERYWHERE, public
from api.http.guard.admission import Admission
from api.http.guard.guard import read_bearer
from api.http.response import json_views
from api.interfaces import Authenticator, Principal
from api.readiness import CheckResult, Fault, Status, worst
from api.runtime.health.readiness_checks import ReadinessChecks
from gitstore.errors import StoreError


class Ping:
    """Liveness of the worker."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Respond 204, without any I/O."""
        resp.status = 204


class Ready:
    """Readiness of this node, with the reasons if it is degraded or unavailable."""

    def __init__(self, readiness: ReadinessChecks, authenticator: Authenticator) -> None:
        self._readiness = readiness
        self._admission = Admission(authenticator)

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Respond 503 if this node cannot serve, else 200; either way with the result of each check.

        It costs the same for any number of namespaces: what grows with them is checked in the background, and has its age.
        A caller without a token gets the faults of content without names, as one reason for each kind of fault.
        """
        found = await self._readiness.run()
        principal = await self._identify(req)
        status = worst(fault.status for result in found.values() for fault in result.faults)
        resp.status = 503 if status is Status.UNAVAILABLE else 200
        resp.media = {
            "status": status.value,
            "checks": [_show(name, result, principal) for name, result in found.items()],
        }

    async def _identify(self, req: Request) -> Principal | None:
        """Return the caller, or None: readiness has a response for everyone, also while no token can be checked."""
        with suppress(Unauthenticated, StoreError, OSError):
            return await self._admission.authenticate(read_bearer(req))
        return None


def _show(name: str, result: CheckResult, principal: Principal | None) -> dict[str, object]:
    status = worst(fault.status for fault in result.faults)
    reasons = [json_views.fault(fault) for fault in result.faults if _may_read(principal, fault)]
    hidden = Counter(_summary(fault) for fault in result.faults if not _may_read(principal, fault))
    reasons += [dict([*summary, ("count", count)]) for summary, count in hidden.items()]
    age = {} if result.age is None else {"age": round(result.age, 1)}
    return {"name": name, "status": status.value, **age, **({"reasons": reasons} if reasons else {})}


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
