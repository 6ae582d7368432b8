"""The table of custom roles; the built-in ones are in the program."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from api.db.tables import api_tokens, roles, user_roles
from gitstore.errors import NotFound

GrantRow = tuple[str, str, str, str]  # namespace, project, resource and action


@dataclass(frozen=True, slots=True)
class RoleRow:
    """A named list of grants."""

    name: str
    description: str
    grants: tuple[GrantRow, ...]
    created_at: datetime


def put_role(connection: Connection, role: RoleRow) -> None:
    """Store a role; replace an existing one of the same name."""
    connection.execute(delete(roles).where(roles.c.name == role.name))
    connection.execute(
        insert(roles).values(
            name=role.name,
            description=role.description,
            grants=dump_grants(role.grants),
            created_at=role.created_at,
        )
    )


def list_roles(connection: Connection) -> list[RoleRow]:
    """Return all custom roles, by name."""
    rows = connection.execute(select(roles).order_by(roles.c.name))
    return [RoleRow(row.name, row.description, load_grants(row.grants), row.created_at) for row in rows]


def remove_role(connection: Connection, name: str) -> None:
    """Remove a role, also from its users and API tokens; NotFound if it does not exist."""
    if connection.execute(delete(roles).where(roles.c.name == name)).rowcount == 0:
        raise NotFound(f"Role '{name}' does not exist.")
    connection.execute(delete(user_roles).where(user_roles.c.role == name))
    connection.execute(update(api_tokens).where(api_tokens.c.role == name).values(role=None))


def dump_grants(grants: Iterable[GrantRow]) -> list[list[str]]:
    """Convert grants to the value of a column."""
    return [list(grant) for grant in grants]


def load_grants(column: list[list[str]]) -> tuple[GrantRow, ...]:
    """Load grants from the value of a column."""
    return tuple((namespace, project, resource, action) for namespace, project, resource, action in column)
