"""Every role there is: those of the program, and those that an installation has made for itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.identity.grants import BUILT_IN_ROLES, Grant
from api.state.database import Connection
from api.state.roles import list_roles
from content.problem import Problem


@dataclass(frozen=True, slots=True)
class Role:
    """A named list of grants."""

    name: str
    description: str
    grants: tuple[Grant, ...]
    built_in: bool

    def wire(self) -> dict[str, object]:
        """The JSON shape."""
        return {
            "name": self.name,
            "description": self.description,
            "builtIn": self.built_in,
            "grants": [grant.wire() for grant in self.grants],
        }


def all_roles(connection: Connection) -> list[Role]:
    """The built-in roles, then the others by name; a built-in one cannot be replaced."""
    built_in = [Role(name, text, grants, built_in=True) for name, (text, grants) in BUILT_IN_ROLES.items()]
    made = [
        Role(row.name, row.description, load_grants(row.grants), built_in=False)
        for row in list_roles(connection)
        if row.name not in BUILT_IN_ROLES
    ]
    return built_in + made


def grants_by_role(connection: Connection) -> Mapping[str, tuple[Grant, ...]]:
    """The grants of every role by its name."""
    return {role.name: role.grants for role in all_roles(connection)}


def grants_of(held: Mapping[str, tuple[Grant, ...]], names: Iterable[str]) -> tuple[Grant, ...]:
    """The grants of roles together, each once; a role that is gone has none."""
    return tuple(dict.fromkeys(grant for name in names for grant in held.get(name, ())))


def role_problems(held: Mapping[str, tuple[Grant, ...]], names: Sequence[str]) -> list[Problem]:
    """The roles that do not exist, each with its place in `/roles`."""
    message = "There is no role '{}'; there are: " + ", ".join(held) + "."
    return [
        Problem("unknown_role", message.format(name), pointer=f"/roles/{place}")
        for place, name in enumerate(names)
        if name not in held
    ]


def load_grants(rows: Iterable[tuple[str, str, str, str]]) -> tuple[Grant, ...]:
    """Grants from the columns that keep them."""
    return tuple(Grant(*row) for row in rows)
