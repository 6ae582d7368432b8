"""All roles: the built-in ones, and the custom ones of an installation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson

from api.auth.permissions.grants import BUILT_IN_ROLES, Grant
from api.db.accounts.roles import list_roles
from api.db.database import Connection
from content.records.problem import Problem


@dataclass(frozen=True, slots=True)
class Role:
    """A named list of grants."""

    name: str
    description: str
    grants: tuple[Grant, ...]
    built_in: bool

    @property
    def etag(self) -> str:
        """16 hex digits that change whenever the description or the grants do."""
        return sha256(orjson.dumps([self.description, list(map(list, self.grants))])).hexdigest()[:16]

    def wire(self) -> dict[str, object]:
        """Return the JSON object."""
        return {
            "name": self.name,
            "description": self.description,
            "builtIn": self.built_in,
            "grants": [grant.wire() for grant in self.grants],
            "etag": self.etag,
        }


def all_roles(connection: Connection) -> list[Role]:
    """Return the built-in roles, then the custom ones by name; a built-in one cannot be replaced."""
    built_in = [Role(name, text, grants, built_in=True) for name, (text, grants) in BUILT_IN_ROLES.items()]
    custom = [
        Role(row.name, row.description, load_grants(row.grants), built_in=False)
        for row in list_roles(connection)
        if row.name not in BUILT_IN_ROLES
    ]
    return built_in + custom


def grants_by_role(connection: Connection) -> Mapping[str, tuple[Grant, ...]]:
    """Return the grants of every role, by its name."""
    return {role.name: role.grants for role in all_roles(connection)}


def grants_of(role_grants: Mapping[str, tuple[Grant, ...]], names: Iterable[str]) -> tuple[Grant, ...]:
    """Return the grants of several roles together, each once; a removed role has none."""
    return tuple(dict.fromkeys(grant for name in names for grant in role_grants.get(name, ())))


def role_problems(role_grants: Mapping[str, tuple[Grant, ...]], names: Sequence[str]) -> list[Problem]:
    """Return a problem for each role that does not exist, with its place in `/roles`."""
    message = "Unknown role '{}'. Use one of: " + ", ".join(role_grants) + "."
    return [
        Problem("unknown_role", message.format(name), pointer=f"/roles/{place}")
        for place, name in enumerate(names)
        if name not in role_grants
    ]


def load_grants(rows: Iterable[tuple[str, str, str, str]]) -> tuple[Grant, ...]:
    """Load grants from database rows."""
    return tuple(Grant(*row) for row in rows)
