"""The guard before every responder: authentication, and authorisation by the caller's grants."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from falcon.asgi import Request, Response

from api.errors import ApiError, Unauthenticated, not_found
from api.http.guard.access import EVERYWHERE, Access, Audience, Quota, missing_grant
from api.http.guard.rate_limits import RateLimits
from api.http.request.query_validation import check_parameters, list_allowed_parameters
from api.interfaces import Authenticator, Principal
from api.runtime.background import queue_key, run_in_thread
from content.records.names import is_name

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([\x21-\x7e]{1,4096})")
_MAX_RELOADS = 2
_READS = frozenset({"GET", "HEAD"})


class Guard:
    """The middleware that denies by default: 405, then 401, then 403, then 404 for an invalid name.

    Last it refuses unknown query parameters, and 429 what exceeds a rate limit.

    A caller without the grant gets the same 403 whether or not the project exists, since the check
    comes before the lookup of the project.
    """

    def __init__(
        self, declared: Mapping[str, Mapping[str, Access]], authenticator: Authenticator, limits: RateLimits
    ) -> None:
        self._declared = declared
        self._authenticator = authenticator
        self._limits = limits
        self._known = list_allowed_parameters()
        self._reloading: asyncio.Task[None] | None = None

    async def process_resource(self, req: Request, resp: Response, _resource: object, params: dict[str, Any]) -> None:
        """Refuse the request, or store its principal in its context."""
        methods = self._declared[req.uri_template or ""]
        access = methods.get(req.method)
        if access is None:
            raise _method_not_allowed(methods)
        namespace, project = params.get("namespace", EVERYWHERE), params.get("project", EVERYWHERE)
        principal = None
        if access.audience is not Audience.PUBLIC:
            principal = await self._authenticate(req, resp)
            if not access.is_satisfied(principal, namespace, project):
                raise missing_grant(access.accepted, namespace, project)
            req.context.principal = principal
        _check_names(params)
        check_parameters(req, self._known)
        self._limits.charge(req, resp, access.quota or _quota(req.method), principal)
        queue_key.set(params.get("namespace", ""))

    async def _authenticate(self, req: Request, resp: Response) -> Principal:
        try:
            return await self._find_principal(req)
        except Unauthenticated:
            self._limits.charge(req, resp, Quota.FAILURES, None)
            raise

    async def _find_principal(self, req: Request) -> Principal:
        bearer = read_bearer(req)
        for _ in range(_MAX_RELOADS):
            if self._authenticator.is_fresh():
                break
            # A reload that is already running may have begun before the latest change, so reload twice.
            await self._reload()
        return self._authenticator.authenticate(bearer)

    async def _reload(self) -> None:
        """Reload the directory once for all requests that wait for it."""
        if self._reloading is None or self._reloading.done():
            # The attribute keeps the task alive: the event loop holds only a weak reference.
            # https://docs.python.org/3/library/asyncio-task.html#asyncio.create_task
            self._reloading = asyncio.create_task(run_in_thread(self._authenticator.reload))
        await asyncio.shield(self._reloading)  # a request that is cancelled must not cancel the reload of the others


def _quota(method: str) -> Quota:
    return Quota.READS if method in _READS else Quota.WRITES


def read_bearer(req: Request) -> str:
    """Read the token of the Authorization header; raises Unauthenticated."""
    header = req.get_header("Authorization")
    if not header:
        raise Unauthenticated("This needs a token: send the header Authorization: Bearer <token>.", "unauthenticated")
    found = _BEARER.fullmatch(header)
    if found is None:
        raise Unauthenticated(
            "The Authorization header is malformed: the token is empty or has characters that no token has. "
            "Send: Bearer <token>."
        )
    return found[1]


def _check_names(params: Mapping[str, Any]) -> None:
    for kind in ("namespace", "project"):
        name = params.get(kind)
        if name is not None and not is_name(name):
            raise not_found(f"There is no such {kind}.")


def _method_not_allowed(methods: Mapping[str, Access]) -> ApiError:
    allowed = ", ".join(sorted(methods))
    message = f"This path does not allow this method; it allows: {allowed}."
    return ApiError(405, "method_not_allowed", message, headers={"Allow": allowed})
