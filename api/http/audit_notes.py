"""The middleware that notes refusals, logins of Git, publishes and changes of projects for the audit trail: of these, only the changes wait for it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from falcon.asgi import Request, Response

from api.auth.permissions.principal import Principal, as_principal
from api.db.audit import ANONYMOUS, Actor, AuditEntry, AuditEvent
from api.db.audit_caller import Caller, caller
from api.db.audit_repeats import Repeat
from api.http.guard.admission import AdmittedCaller
from api.metrics.counters import UNKNOWN_ROUTE, method_label

_LOGINS = frozenset({("POST", "/auth/login"), ("POST", "/auth/session"), ("GET", "/auth/openid/callback")})
_REFUSALS: Mapping[int, AuditEvent] = {
    400: AuditEvent.INPUT_REFUSED,
    401: AuditEvent.REFUSED,
    403: AuditEvent.REFUSED,
    413: AuditEvent.INPUT_REFUSED,
    422: AuditEvent.INPUT_REFUSED,
    429: AuditEvent.RATE_LIMITED,
}
_FAILED_LOGINS = {401: AuditEvent.LOGIN_FAILED, 403: AuditEvent.LOGIN_FAILED, 429: AuditEvent.LOGINS_LIMITED}
_REQUESTS = {
    ("POST", "/publish"): AuditEvent.PUBLISH_REQUESTED,
    ("POST", "/rollback"): AuditEvent.ROLLBACK_REQUESTED,
    ("POST", "/merge"): AuditEvent.MERGE_REQUESTED,
    ("PATCH", "/namespace/{namespace}"): AuditEvent.NAMESPACE_CHANGED,
    ("POST", "/projects"): AuditEvent.PROJECT_CREATED,
    ("PATCH", "/project/{project}"): AuditEvent.PROJECT_CHANGED,
    ("DELETE", "/project/{project}"): AuditEvent.PROJECT_DELETED,
    ("DELETE", "/draft"): AuditEvent.DRAFT_DISCARDED,
    ("DELETE", "/proposal/{id}"): AuditEvent.PROPOSAL_DELETED,
}
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_LEAST_REFUSED = 400
_GIT = "/git/"
_REPOSITORY = "/git/{namespace}.git"


class AuditNotes(Protocol):
    """Notes for the trail."""

    def count(self, repeat: Repeat) -> None:
        """Note an event, which is counted with like ones of the minute, without waiting."""

    async def store(self, entry: AuditEntry) -> None:
        """Note an entry and wait, within bounds, until it is in the trail."""

    def now(self) -> datetime:
        """Return the time for entries."""
        ...


class AuditMiddleware:
    """Notes what was refused to whom, who came by a password with Git, and who asked for a publish or a change of a project, from where.

    No text of the request is noted but names that were checked: people type passwords into any field.
    """

    def __init__(self, notes: AuditNotes) -> None:
        self._notes = notes

    async def process_request(self, req: Request, _resp: Response) -> None:
        """Let the entries of this request have its address and id."""
        caller.set(Caller(req.remote_addr, req.context.request_id))

    async def process_response(self, req: Request, resp: Response, _resource: object, _succeeded: bool) -> None:  # noqa: FBT001 - Falcon's call
        """Note the response, if it is a refusal, or a change of a release or a project."""
        self._note_login(req)
        status = getattr(req.context, "refused", resp.status_code)  # a failed login of a browser is a redirect
        if status >= _LEAST_REFUSED:
            self._note_refusal(req, status)
        elif req.method not in _READS:
            await self._note_request(req, resp)

    def _note_login(self, req: Request) -> None:
        """Note who came by a password, also if the request was refused afterwards: a fetch sends it several times."""
        asking: AdmittedCaller | None = getattr(req.context, "asking", None)
        if asking and asking.principal and asking.has_password:
            actor = _actor(req)
            self._notes.count(Repeat(AuditEvent.LOGIN, actor, actor.name, req.remote_addr, "", _REPOSITORY, 0, ""))

    def _note_refusal(self, req: Request, status: int) -> None:
        route = req.uri_template or UNKNOWN_ROUTE
        is_login = (req.method, route) in _LOGINS or (route.startswith(_GIT) and bool(req.get_header("Authorization")))
        events = {**_REFUSALS, **_FAILED_LOGINS} if is_login and _actor(req) is ANONYMOUS else _REFUSALS
        if status not in events or (status == 401 and _asks_first(req, route)):  # noqa: PLR2004 - unauthenticated
            return
        error, account = getattr(req.context, "error", ""), getattr(req.context, "account", "")
        actor, method = _actor(req), method_label(req.method)
        principal = _principal(req)
        token, session = (principal.used_token, principal.session or None) if principal else (None, None)
        repeat = Repeat(events[status], actor, account, req.remote_addr, method, route, status, error, token, session)
        self._notes.count(repeat.from_network())

    async def _note_request(self, req: Request, resp: Response) -> None:
        route = req.uri_template or ""
        found = (event for (method, end), event in _REQUESTS.items() if req.method == method and route.endswith(end))
        event = next(found, None)
        if event is None:
            return
        names, policy = req.context.route_names, getattr(req.context, "policy", None)
        version = resp.get_header("X-Project-Version")
        detail = ({"version": version} if version else {}) | ({"policy": policy} if policy else {})
        detail |= getattr(req.context, "removed", {})
        project = names.get("project") or getattr(req.context, "created_project", None)
        await note_request(self._notes, req, event, detail, project)


async def note_request(
    notes: AuditNotes, req: Request, event: AuditEvent, detail: Mapping[str, object], project: str | None = None
) -> None:
    """Store an entry on what an authenticated caller asked for in a namespace, or a project of it, before the response."""
    principal, namespace = req.context.principal, req.context.route_names.get("namespace")
    await notes.store(
        AuditEntry(
            notes.now(),
            event,
            _actor(req),
            project or namespace or "",
            detail,
            namespace,
            project,
            req.remote_addr,
            session=principal.session or None,
            request=req.context.request_id,
            token=principal.used_token,
        )
    )


def _actor(req: Request) -> Actor:
    principal = _principal(req)
    return ANONYMOUS if principal is None else principal.actor()


def _principal(req: Request) -> Principal | None:
    """Return who asks, also without a sufficient grant."""
    asking: AdmittedCaller | None = getattr(req.context, "asking", None)
    return as_principal(asking.principal) if asking and asking.principal else None


def _asks_first(req: Request, route: str) -> bool:
    """Tell whether Git asks without a password first, as it always does."""
    return route.startswith(_GIT) and not req.get_header("Authorization")
