"""Grants: the resources and actions, the comparison of grants, and the built-in roles."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from content.records.problem import Problem

EVERY = "*"

_READ_WRITE = ("read", "write")
# The actions in a project, by resource.
PROJECT_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "redirect": _READ_WRITE,
    "page": _READ_WRITE,
    "agent": _READ_WRITE,
    "project": ("read", "write", "review", "publish", "override"),
}

# Resources that belong to no namespace.
SERVICE_WIDE = frozenset({"user", "role", "token", "audit"})

# The actions on the service as a whole, by resource.
SERVER_ACTIONS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("namespace", *sorted(SERVICE_WIDE)), _READ_WRITE)

ACTIONS: Mapping[str, tuple[str, ...]] = {**PROJECT_ACTIONS, **SERVER_ACTIONS}


class Grant(NamedTuple):
    """A permission; `*` means every namespace, project, resource or action."""

    namespace: str
    project: str
    resource: str
    action: str

    def covers(self, other: "Grant") -> bool:
        """Return whether this grant includes the other; only `*` covers `*`."""
        return (
            self.resource in {EVERY, other.resource}
            and self.action in {EVERY, other.action}
            and self.namespace in {EVERY, other.namespace}
            and self.project in {EVERY, other.project}
        )

    def wire(self) -> dict[str, str]:
        """Return the JSON object."""
        return self._asdict()

    def text(self) -> str:
        """Return a short form for messages and the terminal: `redirect:read@shop/*`."""
        return f"{self.resource}:{self.action}@{self.namespace}/{self.project}"


def everywhere(*permissions: str) -> tuple[Grant, ...]:
    """Return grants for all namespaces and projects from words such as `redirect:read`."""
    return tuple(Grant(EVERY, EVERY, *word.split(":", 1)) for word in permissions)


_READING = ("redirect:read", "page:read", "agent:read", "project:read", "namespace:read")
_EDITING = (*_READING, "redirect:write", "page:write")

# Description and grants of each built-in role, by name.
BUILT_IN_ROLES: Mapping[str, tuple[str, tuple[Grant, ...]]] = {
    "admin": ("May do everything.", everywhere("*:*")),
    "publisher": (
        "Edits, reviews and publishes in every project.",
        everywhere(*_EDITING, "project:review", "project:publish"),
    ),
    "editor": ("Edits drafts in every project.", everywhere(*_EDITING)),
    "viewer": ("Reads every project.", everywhere(*_READING)),
    "agent": (
        "Fetches published rules, and reports its status.",
        everywhere("redirect:read", "page:read", "agent:write"),
    ),
}


def load_grant(fields: Mapping[str, str]) -> Grant:
    """Load a grant from its JSON object; a missing namespace or project means every one."""
    return Grant(fields.get("namespace", EVERY), fields.get("project", EVERY), fields["resource"], fields["action"])


def covers(held: Iterable[Grant], wanted: Iterable[Grant]) -> bool:
    """Return whether each wanted grant is covered by a held one."""
    holding = tuple(held)
    return all(any(one.covers(other) for one in holding) for other in wanted)


def missing(held: Iterable[Grant], wanted: Iterable[Grant]) -> list[Grant]:
    """Return the wanted grants that no held one covers."""
    holding = tuple(held)
    return [other for other in wanted if not any(one.covers(other) for one in holding)]


def common(some: Iterable[Grant], others: Iterable[Grant]) -> tuple[Grant, ...]:
    """Return grants for exactly what both lists of grants cover."""
    holding = tuple(others)
    found = (_common(one, other) for one in some for other in holding)
    return tuple(dict.fromkeys(grant for grant in found if grant))


def _common(one: Grant, other: Grant) -> Grant | None:
    fields = [_narrower(*pair) for pair in zip(one, other, strict=True)]
    return None if None in fields else Grant(*(field or EVERY for field in fields))


def _narrower(one: str, other: str) -> str | None:
    if one in {EVERY, other}:
        return other
    return one if other == EVERY else None


def grant_problems(grants: Iterable[Grant]) -> list[Problem]:
    """Return the problems of grants: unknown resources, unknown actions of a resource, invalid scopes."""
    found = [(place, _complaint(grant)) for place, grant in enumerate(grants)]
    return [Problem("invalid_grant", message, pointer=f"/grants/{place}") for place, message in found if message]


def _complaint(grant: Grant) -> str:
    if grant.resource == EVERY:
        known: Iterable[str] = {action for actions in ACTIONS.values() for action in actions}
    elif grant.resource in ACTIONS:
        known = ACTIONS[grant.resource]
    else:
        return f"Unknown resource '{grant.resource}'. Use one of: {', '.join(ACTIONS)}."
    if grant.action not in {EVERY, *known}:
        return f"Unknown action '{grant.action}' of '{grant.resource}'. Use one of: {', '.join(sorted(known))}."
    return _scope_complaint(grant)


def _scope_complaint(grant: Grant) -> str:
    if grant.namespace == EVERY and grant.project != EVERY:
        return "A grant for one project needs its namespace too."
    if grant.resource == "namespace" and grant.project != EVERY:
        return "A grant on a namespace covers all its projects. Leave the project out."
    if grant.resource in SERVICE_WIDE and grant.namespace != EVERY:
        return f"'{grant.resource}' belongs to the whole service. Leave namespace and project out."
    return ""
