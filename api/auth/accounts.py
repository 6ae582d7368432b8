"""User accounts: create, change and remove them, each with its permission check. All calls block: run them in threads.

No one can give grants that they lack: to change an account, the actor needs every grant that it has, before and after.
The actor's account and grants are read again after a password was hashed, since a call may wait for its turn to do so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import schemas
from api import logs
from api.auth.logins.passwords import hash_password, password_problems, verify_password
from api.auth.logins.throttle import Throttle
from api.auth.permissions.grants import covers, everywhere
from api.auth.permissions.principal import Principal, PrincipalKind
from api.auth.permissions.roles import Role, all_roles, grants_by_role, grants_of, role_problems
from api.auth.permissions.table import read_again, user_principal
from api.auth.permissions.writer import check_grants_held, read_writer, require_person
from api.auth.tokens.personal_tokens import remove_all
from api.db import audit
from api.db.accounts import sessions, users
from api.db.accounts.attempts import Rate
from api.db.accounts.users import User
from api.db.audit import AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import ApiError, Forbidden, invalid
from content.records.problem import Problem
from gitstore.errors import NotFound

_EVERYTHING = everywhere("*:*")
_log = logs.logger("accounts")


@dataclass(frozen=True, slots=True)
class NewUser:
    """A new user account."""

    username: str
    password: str = field(repr=False)
    roles: Sequence[str] = ()
    firstname: str = ""
    lastname: str = ""

    def problems(self) -> list[Problem]:
        """Return the problems of the account, also if it does not come over HTTP."""
        shape = asdict(self) | {"roles": list(self.roles)}
        return schemas.check("user-create", shape) or password_problems(self.password)


@dataclass(frozen=True, slots=True)
class Accounts:
    """The operations on user accounts, each on behalf of a principal."""

    state: StateStore
    throttle: Throttle
    clock: Clock = utc_now

    def create(self, actor: Principal, new: NewUser) -> User:
        """Create an account; 409 if the name is taken, 403 for roles beyond the actor's own grants."""
        _raise_problems(new.problems())
        hashed, now = hash_password(new.password), self.clock()
        user = User(new.username, new.firstname, new.lastname, tuple(sorted(set(new.roles))), now, hashed)
        with self.state.changing() as connection:
            actor, role_grants = read_writer(connection, actor, now, "user"), grants_by_role(connection)
            _raise_problems(role_problems(role_grants, new.roles))
            check_grants_held(actor.grants, grants_of(role_grants, new.roles))
            number = users.add_user(connection, user)
            detail = {"roles": list(user.roles)}
            audit.record(connection, AuditEntry(now, AuditEvent.USER_CREATED, actor.actor(), user.username, detail))
            return users.find_user(connection, number)

    def problems(self, fields: Mapping[str, Any]) -> list[Problem]:
        """Return the problems that no schema finds of the fields of a new account, or of a change of one."""
        found = password_problems(fields["password"]) if "password" in fields else []
        if "roles" in fields:
            with self.state.database.reading() as connection:
                found += role_problems(grants_by_role(connection), fields["roles"])
        return found

    def change(self, actor: Principal, number: int, fields: Mapping[str, Any]) -> User:
        """Change `firstname`, `lastname`, `password`, `active` or `roles`; a new password ends all sessions.

        A deactivated account also loses its personal tokens.
        """
        values = _columns(fields)
        with self.state.changing() as connection:
            actor = read_writer(connection, actor, self.clock(), "user")
            user = users.find_user(connection, number)
            role_grants, wanted = grants_by_role(connection), fields.get("roles", user.roles)
            _raise_problems(role_problems(role_grants, wanted) if "roles" in fields else [])
            check_grants_held(actor.grants, grants_of(role_grants, {*user.roles, *wanted}))
            users.set_roles(connection, number, wanted)
            users.change_user(connection, number, values)
            if "password_hash" in values or not values.get("active", True):
                sessions.revoke_all(connection, number, self.clock(), "password or account was changed")
            if not values.get("active", True):
                remove_all(connection, actor, number, self.clock())
            _check_admin_left(connection, user)
            self._record_change(connection, actor, user, fields)
            return users.find_user(connection, number)

    def change_own(self, actor: Principal, fields: Mapping[str, Any], address: str | None = None) -> User:
        """Change the caller's `firstname`, `lastname`, or password, given the current one; that ends all sessions.

        A wrong current password counts as a failed login, so a stolen access token does not allow faster guessing.
        """
        require_person(actor, "change accounts")
        user = self.find_own(actor)
        password = {"password": fields["newPassword"]} if "newPassword" in fields else {}
        _raise_problems(password_problems(password["password"], "/newPassword") if password else [])
        taken = self._verify_current_password(user, fields.get("currentPassword", ""), address) if password else {}
        changes = {name: fields[name] for name in ("firstname", "lastname") if name in fields} | password
        values = _columns(changes, "/newPassword")
        with self.state.changing() as connection:
            read_again(connection, actor, self.clock())
            self.throttle.refund(connection, taken)
            users.change_user(connection, user.id, values)
            if password:
                sessions.revoke_all(connection, user.id, self.clock(), "password was changed")
            self._record_change(connection, actor, user, changes)
            return users.find_user(connection, user.id)

    def find_own(self, actor: Principal) -> User:
        """Return the caller's account; Forbidden for an API token, since it has none."""
        if actor.kind is not PrincipalKind.USER:
            raise Forbidden("An API token has no account.")
        return self.find(actor.id)

    def remove(self, actor: Principal, number: int) -> None:
        """Remove an account, and end its sessions and personal tokens; other tokens stay, since they belong to machines."""
        with self.state.changing() as connection:
            actor = read_writer(connection, actor, self.clock(), "user")
            user = users.find_user(connection, number)
            check_grants_held(actor.grants, grants_of(grants_by_role(connection), user.roles))
            remove_all(connection, actor, number, self.clock())
            users.remove_user(connection, number)
            _check_admin_left(connection, user)
            audit.record(connection, AuditEntry(self.clock(), AuditEvent.USER_DELETED, actor.actor(), user.username))

    def find(self, number: int) -> User:
        """Return an account; NotFound if it does not exist."""
        with self.state.database.reading() as connection:
            return users.find_user(connection, number)

    def principal(self, username: str) -> Principal:
        """Return an active user by name, with the grants of their roles; NotFound if unknown, Forbidden if disabled."""
        with self.state.database.reading() as connection:
            user = users.find_named(connection, username)
            if user is None:
                raise NotFound(f"User {username[:100]!r} does not exist.")
            if not user.active:
                raise Forbidden(f"The account of {user.username} is not active.")
            return user_principal(user, grants_by_role(connection))

    def window(self, limit: int, offset: int, text: str = "") -> tuple[list[User], int]:
        """Return a window of the accounts whose names contain a text, and the number of all those."""
        with self.state.database.reading() as connection:
            return users.list_users(connection, limit, offset, text)

    def roles(self) -> list[Role]:
        """Return all roles, the built-in ones first."""
        with self.state.database.reading() as connection:
            return all_roles(connection)

    def _verify_current_password(self, user: User, password: str, address: str | None) -> Mapping[str, Rate]:
        """Verify the password; return the attempt, to be refunded after the change. 403 if wrong, 429 after too many."""
        taken = self.throttle.take(user.username, address)
        if not verify_password(password, user.password_hash):
            _log.warning(AuditEvent.LOGIN_FAILED.value, reason="wrong current password", username=user.username)
            raise Forbidden("The current password is incorrect.", "wrong_password")
        return taken

    def _record_change(self, connection: Connection, actor: Principal, user: User, fields: Mapping[str, Any]) -> None:
        events = {"password": AuditEvent.PASSWORD_CHANGED, "roles": AuditEvent.PRIVILEGES_CHANGED}
        detail = {"fields": sorted(fields)} | ({"roles": list(fields["roles"])} if "roles" in fields else {})
        for event in {events.get(name, AuditEvent.USER_UPDATED) for name in fields}:
            audit.record(connection, AuditEntry(self.clock(), event, actor.actor(), user.username, detail))


def _columns(fields: Mapping[str, Any], pointer: str = "/password") -> dict[str, Any]:
    """Return the columns of the fields; a new password is hashed here, before the database is locked."""
    values = {name: fields[name] for name in ("firstname", "lastname", "active") if name in fields}
    if "password" in fields:
        _raise_problems(password_problems(fields["password"], pointer))
        values["password_hash"] = hash_password(fields["password"])
    return values


def _check_admin_left(connection: Connection, before: User) -> None:
    """Refuse to remove the last active account with all grants."""
    role_grants = grants_by_role(connection)
    if not before.active or not covers(grants_of(role_grants, before.roles), _EVERYTHING):
        return
    if not any(covers(grants_of(role_grants, user.roles), _EVERYTHING) for user in users.active_users(connection)):
        raise ApiError(
            409, "last_admin", "This is the last active account with all grants. Give them to another account first."
        )


def _raise_problems(problems: Sequence[Problem]) -> None:
    if problems:
        raise invalid("Invalid account; see the problems.", problems)
