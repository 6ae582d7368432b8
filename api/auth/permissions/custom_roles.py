"""Custom roles: create, change and remove them, each with its permission check. All calls block: run them in threads.

No one can give grants that they lack: to create or change a role, the actor needs every grant that it has, before and
after.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import schemas
from api.auth.permissions.grants import BUILT_IN_ROLES, Grant, covers, everywhere, grant_problems
from api.auth.permissions.principal import Principal
from api.auth.permissions.roles import Role, all_roles, grants_by_role, grants_of
from api.auth.permissions.writer import check_grants_held, read_writer, require_person
from api.db import audit
from api.db.accounts import roles, users
from api.db.audit import AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import ApiError, invalid
from content.records.problem import Problem
from gitstore.errors import AlreadyExists, NotFound

_EVERYTHING = everywhere("*:*")


@dataclass(frozen=True, slots=True)
class CustomRoles:
    """The operations on roles, each on behalf of a principal."""

    state: StateStore
    clock: Clock = utc_now

    def find(self, name: str) -> Role:
        """Return a built-in or custom role; NotFound if it does not exist."""
        with self.state.database.reading() as connection:
            return _find(connection, name)

    def create(self, actor: Principal, name: str, description: str, grants: Sequence[Grant]) -> Role:
        """Create a role; 409 if the name is taken, 403 for grants beyond the actor's own, 422 for invalid fields."""
        _raise_problems(schemas.check("role-create", {"name": name, **_shape(description, grants)}))
        _check(actor, grants)
        with self.state.changing() as connection:
            check_grants_held(read_writer(connection, actor, self.clock(), "role").grants, grants)
            if any(role.name.casefold() == name.casefold() for role in all_roles(connection)):
                raise AlreadyExists(f"Role '{name}' already exists, or one that differs only in case.", "/name")
            return self._put(connection, AuditEvent.ROLE_CREATED, actor, name, description, grants)

    def replace(self, actor: Principal, name: str, description: str, grants: Sequence[Grant], etag: str = "") -> Role:
        """Replace the description and grants of a role; every user with the role has the new grants from then on.

        412 `stale_role` if `etag` is given, and the role has another one.
        """
        _raise_problems(schemas.check("role-update", _shape(description, grants)))
        _check(actor, grants)
        with self.state.changing() as connection:
            held = read_writer(connection, actor, self.clock(), "role").grants
            before = _find_own(connection, name)
            check_grants_held(held, (*before.grants, *grants))
            _require_etag(before, etag)
            had_admin = _has_admin(connection)
            done = self._put(connection, AuditEvent.ROLE_CHANGED, actor, name, description, grants)
            _check_admin_left(connection, had_admin=had_admin)
            return done

    def remove(self, actor: Principal, name: str, etag: str = "") -> None:
        """Remove a role, also from its users.

        412 `stale_role` if `etag` is given, and the role has another one.
        """
        require_person(actor, "change roles")
        with self.state.changing() as connection:
            held = read_writer(connection, actor, self.clock(), "role").grants
            before = _find_own(connection, name)
            check_grants_held(held, before.grants)
            _require_etag(before, etag)
            had_admin = _has_admin(connection)
            roles.remove_role(connection, name)
            _check_admin_left(connection, had_admin=had_admin)
            audit.record(connection, AuditEntry(self.clock(), AuditEvent.ROLE_DELETED, actor.actor(), name))

    def _put(
        self,
        connection: Connection,
        event: AuditEvent,
        actor: Principal,
        name: str,
        description: str,
        grants: Sequence[Grant],
    ) -> Role:
        now, given = self.clock(), tuple(dict.fromkeys(grants))
        roles.put_role(connection, roles.RoleRow(name, description, given, now))
        detail = {"grants": [grant.text() for grant in given]}
        audit.record(connection, AuditEntry(now, event, actor.actor(), name, detail))
        return Role(name, description, given, built_in=False)


def _find(connection: Connection, name: str) -> Role:
    found = next((role for role in all_roles(connection) if role.name == name), None)
    if found is None:
        raise NotFound(f"Role '{name[:50]}' does not exist.")
    return found


def _find_own(connection: Connection, name: str) -> Role:
    found = _find(connection, name)
    if name in BUILT_IN_ROLES:
        raise ApiError(
            409, "built_in_role", f"Role '{name}' is built in and cannot be changed. Create a custom role instead."
        )
    return found


def _require_etag(before: Role, etag: str) -> None:
    if etag and etag != before.etag:
        message = f"Role '{before.name}' has changed since it was read. Read it again, then retry."
        raise ApiError(412, "stale_role", message)


def _shape(description: str, grants: Sequence[Grant]) -> dict[str, object]:
    return {"description": description, "grants": [grant.wire() for grant in grants]}


def _check(actor: Principal, grants: Sequence[Grant]) -> None:
    require_person(actor, "change roles")
    _raise_problems(grant_problems(grants))
    check_grants_held(actor.grants, grants)


def _has_admin(connection: Connection) -> bool:
    """Return whether an active account has all grants."""
    role_grants = grants_by_role(connection)
    return any(covers(grants_of(role_grants, user.roles), _EVERYTHING) for user in users.active_users(connection))


def _check_admin_left(connection: Connection, *, had_admin: bool) -> None:
    if had_admin and not _has_admin(connection):
        raise ApiError(
            409, "last_admin", "No active account with all grants would be left. Give them to another account first."
        )


def _raise_problems(problems: Sequence[Problem]) -> None:
    if problems:
        raise invalid("Invalid role; see the problems.", problems)
