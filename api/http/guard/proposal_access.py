"""Access to proposals: each shows the projects that the caller may read, and none of the others, by name or by content."""

from collections.abc import Iterable

from falcon.asgi import Request

from api.errors import ApiError, Forbidden, not_found
from api.http.guard.access import EVERYWHERE, principal_of, readable_kinds
from api.http.request.choices import choice_resource
from api.http.response.proposal_views import Reader
from api.interfaces import Principal
from gitstore.merge.choices import Choice
from gitstore.proposals.proposal import Proposal
from gitstore.proposals.publishing import Scopes
from gitstore.pushes.push import Scope

_CHANGE = (("project", "write"),)
WRITE = (("redirect", "write"), ("page", "write"), *_CHANGE)  # a branch may hold any of them


def require_namespace(principal: Principal, namespace: str) -> None:
    """Raise Forbidden for a caller who may read nothing in a namespace."""
    if not principal.can_see(namespace):
        raise Forbidden("This needs any read grant in this namespace.")


def is_visible(principal: Principal, namespace: str, proposal: Proposal) -> bool:
    """Tell whether the caller may read a project that the proposal changes; one that changes none needs every project."""
    return bool(readable_projects(principal, namespace, proposal.projects)) or reads_all(principal, namespace)


def reads_all(principal: Principal, namespace: str) -> bool:
    """Tell whether the caller may read every project of a namespace, and so the files beside them."""
    return principal.can("project", "read", namespace, EVERYWHERE)


def require_visible(principal: Principal, namespace: str, proposal: Proposal) -> Proposal:
    """Return the proposal; raise the 404 of an unknown one if the caller may not read it."""
    if not is_visible(principal, namespace, proposal):
        raise unknown_proposal(proposal.id)
    return proposal


def unknown_proposal(wanted: str) -> ApiError:
    """Return the error for a proposal that does not exist, or that the caller may not read."""
    return not_found(f"There is no proposal {wanted[:40]!r} in this namespace.")


def readable_projects(principal: Principal, namespace: str, projects: Iterable[str]) -> frozenset[str]:
    """Return those of the projects that the caller may read, with drafts and history."""
    return frozenset(name for name in projects if principal.can("project", "read", namespace, name))


def reader_of(req: Request, namespace: str, proposal: Proposal) -> Reader:
    """Return the caller as the reader of a proposal."""
    principal = principal_of(req)
    names = readable_projects(principal, namespace, proposal.projects)
    kinds = {name: readable_kinds(req, namespace, name) for name in names}
    return Reader(kinds, reads_all(principal, namespace), readable_kinds(req, namespace, EVERYWHERE))


def require_covered(principal: Principal, namespace: str, proposal: Proposal, scope: Scope, grant: str) -> None:
    """Raise Forbidden unless a scope covers all projects of a proposal; the message names those that the caller may read."""
    missing = [name for name in proposal.projects if not scope.covers(name)]
    if missing:
        shown = sorted(readable_projects(principal, namespace, missing))
        where = ", ".join(shown) if len(shown) == len(missing) else "every project that the proposal changes"
        raise Forbidden(f"This needs {grant} in {where}; nothing changed.")


def require_choices(principal: Principal, namespace: str, choices: Iterable[Choice]) -> None:
    """Raise Forbidden unless the caller may write what is chosen: each kind in its project, the files beside in all of them."""
    for project, kind in sorted({(choice.project or EVERYWHERE, choice.kind) for choice in choices}):
        resource = choice_resource(kind)
        if not principal.can(resource, "write", namespace, project):
            raise Forbidden(f"This needs {resource}:write in {_named(project)}; nothing changed.")


def _named(project: str) -> str:
    return "every project" if project == EVERYWHERE else project


def write_scope(principal: Principal, namespace: str, projects: Iterable[str]) -> Scope:
    """Return the scope in which the caller may write branches."""
    return _scope(principal, namespace, projects, WRITE)


def merge_scopes(principal: Principal, namespace: str, projects: Iterable[str]) -> Scopes:
    """Return the scopes of the caller for a merge into release."""
    names = tuple(projects)
    grants = ((("project", "publish"),), (("project", "override"),), _CHANGE)
    return Scopes(*(_scope(principal, namespace, names, each) for each in grants))


def _scope(
    principal: Principal, namespace: str, projects: Iterable[str], accepted: tuple[tuple[str, str], ...]
) -> Scope:
    def holds(project: str) -> bool:
        return any(principal.can(*each, namespace, project) for each in accepted)

    return Scope(holds(EVERYWHERE), frozenset(filter(holds, projects)))
