"""Grants: the resources and actions there are, what one grant covers, and the built-in roles."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from content.problem import Problem

EVERY = "*"

_READ_WRITE = ("read", "write")
PROJECT_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "redirect": _READ_WRITE,
    "page": _READ_WRITE,
    "agent": _READ_WRITE,
    "project": ("read", "write", "review", "publish", "override"),
}
"""What can be done in a project, by resource."""

SERVICE_WIDE = frozenset({"user", "role", "token", "audit"})
"""Resources that belong to no namespace."""

SERVER_ACTIONS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("namespace", *sorted(SERVICE_WIDE)), _READ_WRITE)
"""What can be done to the service as a whole, by resource."""

ACTIONS: Mapping[str, tuple[str, ...]] = {**PROJECT_ACTIONS, **SERVER_ACTIONS}


class Grant(NamedTuple):
    """A permission; `*` stands for every namespace, project, resource or action."""

    namespace: str
    project: str
    resource: str
    action: str

    def covers(self, other: "Grant") -> bool:
        """Tell whether whoever holds this may also do what the other says; only `*` covers `*`."""
        return (
            self.resource in {EVERY, other.resource}
            and self.action in {EVERY, other.action}
            and self.namespace in {EVERY, other.namespace}
            and self.project in {EVERY, other.project}
        )

    def wire(self) -> dict[str, str]:
        """The JSON shape."""
        return self._asdict()

    def text(self) -> str:
        """One word for a message or a terminal: `redirect:read@shop/*`."""
        return f"{self.resource}:{self.action}@{self.namespace}/{self.project}"


def everywhere(*permissions: str) -> tuple[Grant, ...]:
    """Grants for all namespaces and projects from words such as `redirect:read`."""
    return tuple(Grant(EVERY, EVERY, *word.split(":", 1)) for word in permissions)


_READING = ("redirect:read", "page:read", "agent:read", "project:read", "namespace:read")
_EDITING = (*_READING, "redirect:write", "page:write")

BUILT_IN_ROLES: Mapping[str, tuple[str, tuple[Grant, ...]]] = {
    "admin": ("May do everything.", everywhere("*:*")),
    "publisher": (
        "Edits, reviews and publishes in every project.",
        everywhere(*_EDITING, "project:review", "project:publish"),
    ),
    "editor": ("Edits drafts in every project.", everywhere(*_EDITING)),
    "viewer": ("Reads every project.", everywhere(*_READING)),
    "agent": (
        "Fetches what is published, and reports on itself.",
        everywhere("redirect:read", "page:read", "agent:write"),
    ),
}
"""The roles that are always there: description and grants by name."""


def load_grant(fields: Mapping[str, str]) -> Grant:
    """A grant from wire names; a namespace or project that is left out is every one."""
    return Grant(fields.get("namespace", EVERY), fields.get("project", EVERY), fields["resource"], fields["action"])


def covers(held: Iterable[Grant], wanted: Iterable[Grant]) -> bool:
    """Tell whether each wanted grant is covered by one that is held."""
    holding = tuple(held)
    return all(any(one.covers(other) for one in holding) for other in wanted)


def missing(held: Iterable[Grant], wanted: Iterable[Grant]) -> list[Grant]:
    """The wanted grants that none of the held ones covers."""
    holding = tuple(held)
    return [other for other in wanted if not any(one.covers(other) for one in holding)]


def grant_problems(grants: Iterable[Grant]) -> list[Problem]:
    """What is wrong with grants: unknown resources, actions that a resource does not have, scopes that cannot be."""
    found = [(place, _complaint(grant)) for place, grant in enumerate(grants)]
    return [Problem("invalid_grant", message, pointer=f"/grants/{place}") for place, message in found if message]


def _complaint(grant: Grant) -> str:
    if grant.resource == EVERY:
        known: Iterable[str] = {action for actions in ACTIONS.values() for action in actions}
    elif grant.resource in ACTIONS:
        known = ACTIONS[grant.resource]
    else:
        return f"There is no resource '{grant.resource}'; there are: {', '.join(ACTIONS)}."
    if grant.action not in {EVERY, *known}:
        return f"'{grant.resource}' has no action '{grant.action}'; it has: {', '.join(sorted(known))}."
    return _scope_complaint(grant)


def _scope_complaint(grant: Grant) -> str:
    if grant.namespace == EVERY and grant.project != EVERY:
        return "A grant for one project names its namespace too."
    if grant.resource == "namespace" and grant.project != EVERY:
        return "A grant on a namespace is for all its projects; leave the project out."
    if grant.resource in SERVICE_WIDE and grant.namespace != EVERY:
        return f"'{grant.resource}' belongs to the whole service; leave namespace and project out."
    return ""
