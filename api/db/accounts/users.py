"""The tables of users and of their roles."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    bindparam,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.exc import IntegrityError

from api.db.tables import user_roles, users
from gitstore.errors import AlreadyExists, NotFound


@dataclass(frozen=True, slots=True)
class User:
    """A user account; `id` is 0 until it is stored, and is never used again."""

    username: str
    firstname: str
    lastname: str
    roles: tuple[str, ...]
    created_at: datetime
    password_hash: str = field(repr=False)
    active: bool = True
    last_login_at: datetime | None = None
    id: int = 0


def add_user(connection: Connection, user: User) -> int:
    """Store a new user and return its id; AlreadyExists if the name is taken, ignoring case."""
    row = {
        "username": user.username,
        "username_key": username_key(user.username),
        "firstname": user.firstname,
        "lastname": user.lastname,
        "password_hash": user.password_hash,
        "active": user.active,
        "created_at": user.created_at,
    }
    try:
        number = int(connection.execute(insert(users).values(row).returning(users.c.id)).scalar_one())
    except IntegrityError as ex:
        raise AlreadyExists(f"User '{user.username}' already exists. Choose another name.", "/username") from ex
    set_roles(connection, number, user.roles)
    return number


def find_user(connection: Connection, number: int) -> User:
    """Return the user with an id; NotFound if it does not exist."""
    row = connection.execute(select(users).where(users.c.id == number)).one_or_none()
    if row is None:
        raise NotFound(f"User {number} does not exist.")
    return _with_roles(connection, [row])[0]


def find_named(connection: Connection, username: str) -> User | None:
    """Return the user with a name, ignoring case; None if unknown."""
    row = connection.execute(_NAMED, {"named": username_key(username)}).one_or_none()
    return None if row is None else _with_roles(connection, [row])[0]


def lock_named(connection: Connection, username: str) -> User | None:
    """Return the user with a name as `find_named` does, after the end of every transaction that changes it; later ones wait.

    So no change is missed of which a session that is not committed yet would know nothing. Lock attempts before.
    """
    row = connection.execute(_NAMED_LOCKED, {"named": username_key(username)}).one_or_none()
    return None if row is None else _with_roles(connection, [row])[0]


def lock_user(connection: Connection, number: int) -> User | None:
    """Return the user with an id, locked as by `lock_named`; None if it does not exist."""
    row = connection.execute(_NUMBERED_LOCKED, {"number": number}).one_or_none()
    return None if row is None else _with_roles(connection, [row])[0]


def list_users(connection: Connection, limit: int, offset: int, text: str = "") -> tuple[list[User], int]:
    """Return a window of the users whose names contain a text, oldest first, and the number of all those."""
    wanted = _is_called(text) if text else true()
    total = int(connection.execute(select(func.count()).select_from(users).where(wanted)).scalar_one())
    rows = connection.execute(select(users).where(wanted).order_by(users.c.id).limit(limit).offset(offset)).all()
    return _with_roles(connection, rows), total


def _is_called(text: str) -> ColumnElement[bool]:
    if "\0" in text:  # in no name, and refused by PostgreSQL
        return false()
    names = users.c.username + " " + users.c.firstname + " " + users.c.lastname
    # SQLite's lower() changes ASCII alone: https://sqlite.org/lang_corefunc.html#lower
    return or_(names.contains(text, autoescape=True), func.lower(names).contains(text.lower(), autoescape=True))


def active_users(connection: Connection) -> list[User]:
    """Return all users who may log in."""
    return _with_roles(connection, connection.execute(select(users).where(users.c.active)).all())


def find_active_users(connection: Connection, numbers: Collection[int]) -> list[User]:
    """Return the users with these ids who may log in."""
    query = select(users).where(users.c.active, users.c.id.in_(numbers))
    return _with_roles(connection, connection.execute(query).all()) if numbers else []


def find_active_named(connection: Connection, usernames: Collection[str]) -> list[User]:
    """Return the users with these names, ignoring case, who may log in, by name."""
    keys = set(map(username_key, usernames))
    query = select(users).where(users.c.active, users.c.username_key.in_(keys)).order_by(users.c.username_key)
    return _with_roles(connection, connection.execute(query).all()) if keys else []


def change_user(connection: Connection, number: int, values: Mapping[str, Any]) -> None:
    """Set columns of a user: `firstname`, `lastname`, `password_hash`, `active`, `last_login_at`."""
    if values:
        connection.execute(_CHANGE, {"number": number, **values})


def set_roles(connection: Connection, number: int, names: Iterable[str]) -> None:
    """Give a user exactly these roles."""
    connection.execute(delete(user_roles).where(user_roles.c.user_id == number))
    rows = [{"user_id": number, "role": name} for name in sorted(set(names))]
    if rows:
        connection.execute(insert(user_roles), rows)


def remove_user(connection: Connection, number: int) -> None:
    """Remove a user with their roles and sessions; NotFound if it does not exist."""
    if connection.execute(delete(users).where(users.c.id == number)).rowcount == 0:
        raise NotFound(f"User {number} does not exist.")


def username_key(username: str) -> str:
    """Return the key of a name, the same for names that differ only in case."""
    return username.lower()


# Each login and request of Git runs these statements: they are built once.
_NAMED = select(users).where(users.c.username_key == bindparam("named"))
_NAMED_LOCKED = _NAMED.with_for_update(key_share=True)  # rows that only refer to the user can still be written
_NUMBERED_LOCKED = select(users).where(users.c.id == bindparam("number")).with_for_update(key_share=True)
_CHANGE = update(users).where(users.c.id == bindparam("number"))
_ROLES = select(user_roles).order_by(user_roles.c.role)
_ROLES_OF_ONE = _ROLES.where(user_roles.c.user_id == bindparam("number"))


def _with_roles(connection: Connection, rows: Iterable[Row[Any]]) -> list[User]:
    found = list(rows)
    if len(found) == 1:
        given = connection.execute(_ROLES_OF_ONE, {"number": found[0].id})
    else:
        given = connection.execute(_ROLES)
    roles: dict[int, list[str]] = {}
    for user_id, role in given:
        roles.setdefault(user_id, []).append(role)
    return [_user(row, tuple(roles.get(row.id, ()))) for row in found]


def _user(row: Row[Any], roles: tuple[str, ...]) -> User:
    return User(
        row.username,
        row.firstname,
        row.lastname,
        roles,
        row.created_at,
        row.password_hash,
        row.active,
        row.last_login_at,
        row.id,
    )
