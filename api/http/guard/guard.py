"""The guard before every responder: authentication, and authorisation by the caller's grants."""

import re
from collections.abc import Mapping
from typing import Any

from falcon.asgi import Request, Response

from api.db.audit_caller import UsedToken
from api.db.audit_caller import caller as audit_caller
from api.errors import ApiError, TooManyAttempts, Unauthenticated, not_found
from api.http.guard.access import EVERYWHERE, Access, Audience, Quota, Scheme, no_repository
from api.http.guard.admission import Admission, AdmittedCaller, Credential
from api.http.guard.basic import add_way_out, challenge_basic, read_basic
from api.http.guard.rate_limits import RateLimits
from api.http.request.caller_access import check_again
from api.http.request.query_validation import check_parameters, list_allowed_parameters
from api.http.request.session_cookies import csrf_failed, read_access_cookie, read_csrf
from api.http.response.redaction import clear_response
from api.interfaces import Authenticator, CsrfCheck, PasswordCheck, Principal
from api.runtime.jobs.background import queue_key
from content.records.names import is_name

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([\x21-\x7e]{1,4096})")
_READS = frozenset({"GET", "HEAD"})


class Guard:
    """The middleware that denies by default: 405, then 401, then 403, then 404 for an invalid name.

    A browser may send the access token of its session in a cookie; its changes then need a token against forged requests.

    Last it refuses unknown query parameters, and 429 what exceeds a rate limit.

    Without `needs_credential` the authenticator gets an empty token of every caller, as in a preview.

    A caller without the grant gets the same 403 whether or not the project exists, since the check
    comes before the lookup of the project.
    """

    def __init__(
        self,
        declared: Mapping[str, Mapping[str, Access]],
        authenticator: Authenticator,
        limits: RateLimits,
        passwords: PasswordCheck | None = None,
        csrf: CsrfCheck | None = None,
        *,
        needs_credential: bool = True,
    ) -> None:
        self._declared = declared
        self._admission = Admission(authenticator, passwords)
        self._limits = limits
        self._csrf = csrf
        self._needs_credential = needs_credential
        self._known = list_allowed_parameters()

    async def process_resource(self, req: Request, resp: Response, _resource: object, params: dict[str, Any]) -> None:
        """Refuse the request, or store its principal in its context."""
        methods = self._declared[req.uri_template or ""]
        access = methods.get(req.method)
        if access is None:
            raise _method_not_allowed(methods)
        namespace, project = params.get("namespace", EVERYWHERE), params.get("project", EVERYWHERE)
        principal = None
        if access.audience is not Audience.PUBLIC:
            principal = await self._admit(req, resp, access, namespace, project)
        _check_names(params, access)
        check_parameters(req, self._known)
        self._limits.charge(req, resp, access.quota or _quota(req.method), principal)
        req.context.route_names = {name: params[name] for name in ("namespace", "project") if name in params}
        req.context.namespace = params.get("namespace")
        queue_key.set(params.get("namespace", ""))

    async def _admit(self, req: Request, resp: Response, access: Access, namespace: str, project: str) -> Principal:
        try:
            cookie = self._read_cookie(req, access)
            credential = cookie or (_read_credential(req, access) if self._needs_credential else "")
            caller = AdmittedCaller(self._admission, credential, access, namespace, project)
            req.context.asking = caller  # the audit trail has whom a grant was missing
            req.context.principal = principal = await caller.check()
            origin, token = audit_caller.get(), principal.used_token
            used = UsedToken(*token) if token else None
            audit_caller.set(origin._replace(session=principal.session or None, token=used))
        except Unauthenticated as ex:
            if access.scheme is not Scheme.BASIC:
                self._limits.charge(req, resp, Quota.FAILURES, None)
                raise
            if req.get_header("Authorization"):  # Git asks without one first
                self._limits.charge(req, resp, Quota.FAILURES, None)
            raise challenge_basic(ex) from ex
        except TooManyAttempts as ex:
            if access.scheme is Scheme.BASIC:
                raise add_way_out(ex) from ex
            raise
        if cookie and req.method not in _READS:
            self._check_csrf(req, principal)
        req.context.caller = caller
        return principal

    def _read_cookie(self, req: Request, access: Access) -> str:
        """Return the access token of a browser's cookie; empty for a caller with a header of its own."""
        if self._csrf is None or access.scheme is Scheme.BASIC or req.get_header("Authorization"):
            return ""
        return read_access_cookie(req)

    def _check_csrf(self, req: Request, principal: Principal) -> None:
        """Refuse a change with cookies alone: another site can make a browser send them."""
        if self._csrf is None or not self._csrf.accepts(principal.session, read_csrf(req)):
            raise csrf_failed()

    async def process_response(self, req: Request, resp: Response, _resource: object, succeeded: bool) -> None:  # noqa: FBT001 - Falcon's call
        """Refuse the response to a read that took long if its caller has lost its access meanwhile.

        A change that was made is reported all the same.
        """
        caller: AdmittedCaller | None = getattr(req.context, "caller", None)
        if caller is None or not succeeded or not _is_read(req, self._declared):
            return
        try:
            await check_again(req, caller.admitted_at)
        except Exception:  # whatever refuses the caller: nothing of the response may go out
            await clear_response(resp)
            raise


def _read_credential(req: Request, access: Access) -> Credential:
    return read_basic(req) if access.scheme is Scheme.BASIC else read_bearer(req)


def _quota(method: str) -> Quota:
    return Quota.READS if method in _READS else Quota.WRITES


def read_admitted(req: Request) -> str:
    """Return the access token of a request that the guard has admitted; empty in a preview, which needs none."""
    return read_bearer(req) if req.get_header("Authorization") else read_access_cookie(req)


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


def _check_names(params: Mapping[str, Any], access: Access) -> None:
    for kind in ("namespace", "project"):
        name = params.get(kind)
        if name is not None and not is_name(name):
            raise no_repository() if access.scheme is Scheme.BASIC else not_found(f"There is no such {kind}.")


def _method_not_allowed(methods: Mapping[str, Access]) -> ApiError:
    allowed = ", ".join(sorted(methods))
    message = f"This path does not allow this method; it allows: {allowed}."
    return ApiError(405, "method_not_allowed", message, headers={"Allow": allowed})


def _is_read(req: Request, declared: Mapping[str, Mapping[str, Access]]) -> bool:
    """Tell whether a request changes nothing: by its method, or because its grants are for reading only."""
    accepted = declared[req.uri_template or ""][req.method].accepted
    return req.method in _READS or (bool(accepted) and all(action == "read" for _, action in accepted))
