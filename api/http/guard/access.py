"""Access declarations, written as decorators of responders, and their check.

    @grants("redirect", "read")
    async def on_get(self, req, resp, namespace, project): ...

The service does not start with a responder that has no declaration.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any, TypeVar, cast

from falcon.asgi import Request

from api.errors import ApiError, Forbidden, Unauthenticated, not_found
from api.interfaces import Principal
from content.changes.diff import item_kind
from content.records.vocabulary import Kind
from gitstore.git.repository import Author

EVERYWHERE = "*"


def missing_grant(accepted: Sequence[tuple[str, str]], namespace: str, project: str) -> Forbidden:
    """Return a 403 that names the sufficient (resource, action) grants, such as project:publish in this project.

    It depends on the call alone: it is the same for every name, and whether or not the project exists.
    """
    *others, last = (":".join(each) for each in accepted)
    wanted = f"{', '.join(others)} or {last}" if others else last
    return Forbidden(f"This needs {wanted}{_where(namespace, project)}.")


def _where(namespace: str, project: str) -> str:
    if project != EVERYWHERE:
        return " in this project"
    return " in this namespace" if namespace != EVERYWHERE else ""


Responder = TypeVar("Responder", bound=Callable[..., Any])

PROJECT_RESOURCES = ("redirect", "page", "agent", "project")


class Audience(Enum):
    """The callers that a responder admits."""

    PUBLIC = "public"
    ANY_PRINCIPAL = "any"
    GRANT = "grant"


class Scheme(Enum):
    """The ways in which a caller authenticates itself; each responder accepts only one."""

    BEARER = "bearer"
    BASIC = "basic"


class Quota(StrEnum):
    """The quotas that calls are charged to; `rate_limits` says how many calls each allows."""

    WRITES = "writes"
    HEAVY = "heavy"
    READS = "reads"
    FAILURES = "failures"
    REPORTS = "reports"  # unlimited


@dataclass(frozen=True, slots=True)
class Access:
    """An access declaration; the caller's grants must cover one of the (resource, action) pairs of `accepted`.

    Without a quota of its own, a call is charged as a read or a write, by its method.
    """

    audience: Audience
    accepted: tuple[tuple[str, str], ...] = ()
    quota: Quota | None = None
    scheme: Scheme = Scheme.BEARER

    def is_satisfied(self, principal: "Principal", namespace: str, project: str) -> bool:
        """Tell whether the principal may call the responder for this namespace and project."""
        if self.audience is not Audience.GRANT:
            return True
        can = principal.can
        return any(can(resource, action, namespace, project) for resource, action in self.accepted)

    def refusal(self, namespace: str, project: str) -> ApiError:
        """Return the error for a caller without the grants: to Git, a repository that it may not read is none."""
        if self.scheme is Scheme.BASIC:
            error = no_repository()
            error.recorded = 403
            return error
        return missing_grant(self.accepted, namespace, project)


def no_repository() -> ApiError:
    """Return the 404 for a repository that does not exist, or that the caller may not read."""
    return not_found("There is no such repository, or you may not read it.")


_PUBLIC = Access(Audience.PUBLIC)
_ANY_PRINCIPAL = Access(Audience.ANY_PRINCIPAL)
_ATTRIBUTE = "waypost_access"
_QUOTA = "waypost_quota"
_SCHEME = "waypost_scheme"
_ITEM = "{item}"


def _declare(responder: Responder, access: Access) -> Responder:
    setattr(responder, _ATTRIBUTE, access)
    return responder


def grants(resource: str, action: str) -> Callable[[Responder], Responder]:
    """Require this grant in the namespace and project of the path (`*` where the path names none)."""
    return grants_any((resource, action))


def grants_any(*accepted: tuple[str, str]) -> Callable[[Responder], Responder]:
    """Require one of these (resource, action) grants in the namespace and project of the path."""
    access = Access(Audience.GRANT, accepted)
    return lambda responder: _declare(responder, access)


def grants_item(action: str) -> Callable[[Responder], Responder]:
    """Require a grant as `grants` does, on the resource `self.resource_name`: `redirect` or `page`."""
    access = Access(Audience.GRANT, ((_ITEM, action),))
    return lambda responder: _declare(responder, access)


def reads_drafts(responder: Responder) -> Responder:
    """Require access to drafts of `self.resource_name`; the responder checks the read grant by `require_drafts`."""
    return grants_any(("project", "read"), (_ITEM, "write"))(responder)


def reads_project(responder: Responder) -> Responder:
    """Require any read grant in the project of the path."""
    return grants_any(*((resource, "read") for resource in PROJECT_RESOURCES))(responder)


def any_principal(responder: Responder) -> Responder:
    """Admit any caller with a valid token; the responder filters its response, or calls `require`."""
    return _declare(responder, _ANY_PRINCIPAL)


def public(responder: Responder) -> Responder:
    """Admit any caller without a token; ignores a token that is sent."""
    return _declare(responder, _PUBLIC)


def heavy(responder: Responder) -> Responder:
    """Charge the calls to the quota of calls that read a whole project."""
    setattr(responder, _QUOTA, Quota.HEAVY)
    return responder


def light(responder: Responder) -> Responder:
    """Charge the calls to the quota of reads, although their method is one of changes."""
    setattr(responder, _QUOTA, Quota.READS)
    return responder


def by_basic(responder: Responder) -> Responder:
    """Authenticate callers by HTTP Basic, as Git does: a user name and password, or any user name and an API token."""
    setattr(responder, _SCHEME, Scheme.BASIC)
    return responder


def reports(responder: Responder) -> Responder:
    """Charge the calls to no limited quota: they are the reports of agents."""
    setattr(responder, _QUOTA, Quota.REPORTS)
    return responder


def declared(responder: Callable[..., Any]) -> Access | None:
    """Return the declaration of a bound responder, or None if it has none."""
    found: Access | None = getattr(responder, _ATTRIBUTE, None)
    if found is None:
        return None
    access = replace(found, quota=getattr(responder, _QUOTA, None), scheme=getattr(responder, _SCHEME, Scheme.BEARER))
    if access.audience is not Audience.GRANT:
        return access
    item = getattr(getattr(responder, "__self__", None), "resource_name", _ITEM)
    accepted = tuple((item if name == _ITEM else name, action) for name, action in access.accepted)
    return replace(access, accepted=accepted)


def principal_of(req: Request) -> "Principal":
    """Return the authenticated caller; for responders that are not public."""
    principal = getattr(req.context, "principal", None)
    if principal is None:
        raise Unauthenticated("This needs a token: send the header Authorization: Bearer <token>.", "unauthenticated")
    return cast("Principal", principal)


def require(
    req: Request, resource: str, action: str, namespace: str = EVERYWHERE, project: str = EVERYWHERE
) -> "Principal":
    """Return the caller if their grants cover this, else raise Forbidden; for checks that need more than the path."""
    principal = principal_of(req)
    if not principal.can(resource, action, namespace, project):
        raise missing_grant([(resource, action)], namespace, project)
    return principal


def require_drafts(req: Request, resource: str, namespace: str, project: str) -> "Principal":
    """Return the caller if they may see unpublished records of a resource, `redirect` or `page`; else raise Forbidden.

    The read grant alone is not enough: it is the grant of agents, which read only published records.
    """
    principal = require(req, resource, "read", namespace, project)
    if not can_see_drafts(principal, resource, namespace, project):
        raise missing_grant([("project", "read"), (resource, "write")], namespace, project)
    return principal


def can_see_drafts(principal: Principal, resource: str, namespace: str, project: str) -> bool:
    """Tell whether a principal who may read a resource may also see its drafts: by project:read or its write grant."""
    return principal.can("project", "read", namespace, project) or principal.can(resource, "write", namespace, project)


def readable_kinds(req: Request, namespace: str, project: str) -> list[Kind]:
    """Return the kinds of records that the caller may read in a project; a mixed response shows only these."""
    principal = principal_of(req)
    return [kind for kind in Kind if principal.can(item_kind(kind), "read", namespace, project)]


def author_of(req: Request) -> Author:
    """Return the caller as the author of a commit."""
    principal = principal_of(req)
    return Author(principal.display_name, principal.email)
