"""The guard before every responder: who is calling, and whether their grants cover what is asked."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from falcon.asgi import Request, Response

from api.access import Access, Audience
from api.asked import check_parameters, known_parameters
from api.background import in_thread, lane
from api.collaborators import Directory, Principal
from api.errors import ApiError, Unauthenticated, not_found
from api.refusal import EVERYWHERE, lacking
from content.names import is_name

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([\x21-\x7e]{1,4096})")
_ROUNDS = 2


class Guard:
    """Middleware that denies by default: 405, then 401, then 403, then 404 for what cannot be a name.

    Last of all it refuses query parameters that there are none of.

    A caller without the grant gets the same 403 whether or not the project exists, since nothing has
    looked for the project yet.
    """

    def __init__(self, declared: Mapping[str, Mapping[str, Access]], directory: Directory) -> None:
        self._declared = declared
        self._directory = directory
        self._known = known_parameters()
        self._reloading: asyncio.Task[None] | None = None

    async def process_resource(self, req: Request, _resp: Response, _resource: object, params: dict[str, Any]) -> None:
        """Refuse the request, or note its principal in its context."""
        methods = self._declared[req.uri_template or ""]
        access = methods.get(req.method)
        if access is None:
            raise _method_not_allowed(methods)
        namespace, project = params.get("namespace", EVERYWHERE), params.get("project", EVERYWHERE)
        if access.audience is not Audience.PUBLIC:
            principal = await self._authenticate(req)
            if not access.holds(principal, namespace, project):
                raise lacking(access.accepted, namespace, project)
            req.context.principal = principal
        _check_names(params)
        check_parameters(req, self._known)
        lane.set(params.get("namespace", ""))

    async def _authenticate(self, req: Request) -> Principal:
        bearer = read_bearer(req)
        for _ in range(_ROUNDS):
            if self._directory.fresh():
                break
            # A reload that was already under way may have begun before the latest change: so look twice.
            await self._reload()
        return self._directory.authenticate(bearer)

    async def _reload(self) -> None:
        """Reload the directory once for all requests that wait for it."""
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.create_task(in_thread(self._directory.reload))
        await asyncio.shield(self._reloading)


def read_bearer(req: Request) -> str:
    """The token of the Authorization header; raises Unauthenticated."""
    header = req.get_header("Authorization")
    if not header:
        raise Unauthenticated("This needs a token: send the header Authorization: Bearer <token>.", "unauthenticated")
    found = _BEARER.fullmatch(header)
    if found is None:
        raise Unauthenticated("The Authorization header is not of the form: Bearer <token>.")
    return found[1]


def _check_names(params: Mapping[str, Any]) -> None:
    for kind in ("namespace", "project"):
        name = params.get(kind)
        if name is not None and not is_name(name):
            raise not_found(f"There is no such {kind}.")


def _method_not_allowed(methods: Mapping[str, Access]) -> ApiError:
    allowed = ", ".join(sorted(methods))
    message = f"This path does not take this method; it takes: {allowed}."
    return ApiError(405, "method_not_allowed", message, headers={"Allow": allowed})
