"""What a responder asks of its caller, declared beside the responder, and the check of it.

    @grants("redirect", "read")
    async def on_get(self, req, resp, namespace, project): ...

A responder without a declaration stops the start of the service.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, cast

from falcon.asgi import Request

from api.collaborators import Principal
from api.errors import Unauthenticated
from api.refusal import EVERYWHERE, lacking
from content.diff import item_kind
from content.vocabulary import Kind

Responder = TypeVar("Responder", bound=Callable[..., Any])

PROJECT_RESOURCES = ("redirect", "page", "agent", "project")


class Audience(Enum):
    """Who may call a responder at all."""

    PUBLIC = "public"
    ANY_PRINCIPAL = "any"
    GRANT = "grant"


@dataclass(frozen=True, slots=True)
class Access:
    """A declaration; one of the (resource, action) pairs of `accepted` must be covered by the caller's grants."""

    audience: Audience
    accepted: tuple[tuple[str, str], ...] = ()

    def holds(self, principal: "Principal", namespace: str, project: str) -> bool:
        """Tell whether the principal may call the responder for this namespace and project."""
        if self.audience is not Audience.GRANT:
            return True
        may = principal.may
        return any(may(resource, action, namespace, project) for resource, action in self.accepted)


_PUBLIC = Access(Audience.PUBLIC)
_ANY_PRINCIPAL = Access(Audience.ANY_PRINCIPAL)
_ATTRIBUTE = "waypost_access"
_ITEM = "{item}"


def _declare(responder: Responder, access: Access) -> Responder:
    setattr(responder, _ATTRIBUTE, access)
    return responder


def grants(resource: str, action: str) -> Callable[[Responder], Responder]:
    """The caller needs this grant in the namespace and project that the path names (`*` where it names none)."""
    return grants_any((resource, action))


def grants_any(*accepted: tuple[str, str]) -> Callable[[Responder], Responder]:
    """The caller needs one of these (resource, action) grants in the namespace and project that the path names."""
    access = Access(Audience.GRANT, accepted)
    return lambda responder: _declare(responder, access)


def grants_item(action: str) -> Callable[[Responder], Responder]:
    """As `grants`, for a resource that serves one kind of records: what `self.resource_name` says, `redirect` or `page`."""
    access = Access(Audience.GRANT, ((_ITEM, action),))
    return lambda responder: _declare(responder, access)


def reads_drafts(responder: Responder) -> Responder:
    """The caller sees drafts of what `self.resource_name` says; the responder asks for its read grant by `require_drafts`."""
    return grants_any(("project", "read"), (_ITEM, "write"))(responder)


def reads_project(responder: Responder) -> Responder:
    """The caller needs any read grant in the project that the path names."""
    return grants_any(*((resource, "read") for resource in PROJECT_RESOURCES))(responder)


def any_principal(responder: Responder) -> Responder:
    """Any caller with a valid token; the responder narrows what it shows, or calls `require`."""
    return _declare(responder, _ANY_PRINCIPAL)


def public(responder: Responder) -> Responder:
    """Anybody, without a token; a token that is sent is not looked at."""
    return _declare(responder, _PUBLIC)


def declared(responder: Callable[..., Any]) -> Access | None:
    """The declaration of a bound responder, or None if it has none."""
    access: Access | None = getattr(responder, _ATTRIBUTE, None)
    if access is None or access.audience is not Audience.GRANT:
        return access
    item = getattr(getattr(responder, "__self__", None), "resource_name", _ITEM)
    return Access(Audience.GRANT, tuple((item if name == _ITEM else name, action) for name, action in access.accepted))


def principal_of(req: Request) -> "Principal":
    """Who is calling; for responders that are not public."""
    principal = getattr(req.context, "principal", None)
    if principal is None:
        raise Unauthenticated("This needs a token: send the header Authorization: Bearer <token>.", "unauthenticated")
    return cast("Principal", principal)


def require(
    req: Request, resource: str, action: str, namespace: str = EVERYWHERE, project: str = EVERYWHERE
) -> "Principal":
    """The caller, if their grants cover this; else Forbidden. For what a path alone cannot tell."""
    principal = principal_of(req)
    if not principal.may(resource, action, namespace, project):
        raise lacking([(resource, action)], namespace, project)
    return principal


def require_drafts(req: Request, resource: str, namespace: str, project: str) -> "Principal":
    """The caller, if they may see what is not published of a resource, `redirect` or `page`; else Forbidden.

    Its read grant alone is that of agents, which read what is published and nothing else.
    """
    principal = require(req, resource, "read", namespace, project)
    if not sees_drafts(principal, resource, namespace, project):
        raise lacking([("project", "read"), (resource, "write")], namespace, project)
    return principal


def sees_drafts(principal: Principal, resource: str, namespace: str, project: str) -> bool:
    """Tell whether somebody who may read a resource is one of those who see the project's work, or work on it."""
    return principal.may("project", "read", namespace, project) or principal.may(resource, "write", namespace, project)


def readable_kinds(req: Request, namespace: str, project: str) -> list[Kind]:
    """The kinds of records that the caller may read in a project: what is shown of a mixed answer."""
    principal = principal_of(req)
    return [kind for kind in Kind if principal.may(item_kind(kind), "read", namespace, project)]
