"""Roles that an installation has made for itself, as rows; the built-in ones are in the program."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from api.state.tables import roles, user_roles
from gitstore.errors import NotFound

GrantRow = tuple[str, str, str, str]
"""Namespace, project, resource and action."""


@dataclass(frozen=True, slots=True)
class Role:
    """A named list of grants."""

    name: str
    description: str
    grants: tuple[GrantRow, ...]
    created_at: datetime


def put_role(connection: Connection, role: Role) -> None:
    """Store a role in place of the one of its name, if there is one."""
    connection.execute(delete(roles).where(roles.c.name == role.name))
    connection.execute(
        insert(roles).values(
            name=role.name,
            description=role.description,
            grants=dump_grants(role.grants),
            created_at=role.created_at,
        )
    )


def list_roles(connection: Connection) -> list[Role]:
    """All of them, by name."""
    rows = connection.execute(select(roles).order_by(roles.c.name))
    return [Role(row.name, row.description, load_grants(row.grants), row.created_at) for row in rows]


def remove_role(connection: Connection, name: str) -> None:
    """Remove a role, also from those who have it; NotFound where there is none."""
    if connection.execute(delete(roles).where(roles.c.name == name)).rowcount == 0:
        raise NotFound(f"There is no role '{name}'.")
    connection.execute(delete(user_roles).where(user_roles.c.role == name))


def dump_grants(grants: Iterable[GrantRow]) -> list[list[str]]:
    """Grants as a column holds them."""
    return [list(grant) for grant in grants]


def load_grants(column: list[list[str]]) -> tuple[GrantRow, ...]:
    """Grants from a column."""
    return tuple((namespace, project, resource, action) for namespace, project, resource, action in column)
