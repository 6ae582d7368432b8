"""Accounts of people: who may make, change and remove which. All of it blocks: call it in threads.

Nobody gives what they do not hold: whoever changes an account holds every grant that it has, before and after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import schemas
from api import logs
from api.errors import ApiError, Forbidden, invalid
from api.identity.grants import Grant, covers, everywhere, missing
from api.identity.passwords import hash_password, password_problems, verify_password
from api.identity.principal import Principal, PrincipalKind
from api.identity.roles import Role, all_roles, grants_by_role, grants_of, role_problems
from api.identity.table import user_principal
from api.identity.throttle import Throttle
from api.state import audit, sessions, users
from api.state.attempts import Rate
from api.state.audit import Entry, Event
from api.state.database import Connection
from api.state.moment import Clock, utc_now
from api.state.state import State
from api.state.users import User
from content.problem import Problem
from gitstore.errors import NotFound

_EVERYTHING = everywhere("*:*")
_log = logs.logger("accounts")


@dataclass(frozen=True, slots=True)
class NewUser:
    """An account to be made."""

    username: str
    password: str = field(repr=False)
    roles: Sequence[str] = ()
    firstname: str = ""
    lastname: str = ""

    def problems(self) -> list[Problem]:
        """What is wrong with it, also where it does not come by HTTP."""
        shape = asdict(self) | {"roles": list(self.roles)}
        return schemas.check("user-create", shape) or password_problems(self.password)


@dataclass(frozen=True, slots=True)
class Accounts:
    """Everything that is done with accounts, each time on behalf of a principal."""

    state: State
    throttle: Throttle
    clock: Clock = utc_now

    def create(self, actor: Principal, new: NewUser) -> User:
        """A new account; 409 where the name is taken, 403 for roles beyond the actor's own grants."""
        _refuse(new.problems())
        hashed, now = hash_password(new.password), self.clock()
        user = User(new.username, new.firstname, new.lastname, tuple(sorted(set(new.roles))), now, hashed)
        with self.state.changing() as connection:
            held = grants_by_role(connection)
            _refuse(role_problems(held, new.roles))
            _check_gift(actor, grants_of(held, new.roles))
            number = users.add_user(connection, user)
            detail = {"roles": list(user.roles)}
            audit.record(connection, Entry(now, Event.USER_CREATED, actor.actor(), user.username, detail))
            return users.find_user(connection, number)

    def change(self, actor: Principal, number: int, fields: Mapping[str, Any]) -> User:
        """Change `firstname`, `lastname`, `password`, `active` or `roles`; a new password ends all sessions."""
        values = _columns(fields)
        with self.state.changing() as connection:
            user = users.find_user(connection, number)
            held, wanted = grants_by_role(connection), fields.get("roles", user.roles)
            _refuse(role_problems(held, wanted) if "roles" in fields else [])
            _check_gift(actor, grants_of(held, {*user.roles, *wanted}))
            users.set_roles(connection, number, wanted)
            users.change_user(connection, number, values)
            if "password_hash" in values or not values.get("active", True):
                sessions.revoke_all(connection, number, self.clock(), "password or account was changed")
            _check_somebody_is_left(connection, user)
            self._record_change(connection, actor, user, fields)
            return users.find_user(connection, number)

    def change_own(self, actor: Principal, fields: Mapping[str, Any], address: str | None = None) -> User:
        """Change one's own `firstname`, `lastname`, or password, given the current one; that ends all sessions.

        A wrong current password counts as a login that failed: whoever holds a stolen access token cannot guess faster.
        """
        user = self.own(actor)
        password = {"password": fields["newPassword"]} if "newPassword" in fields else {}
        _refuse(password_problems(password["password"], "/newPassword") if password else [])
        taken = self._prove(user, fields.get("currentPassword", ""), address) if password else {}
        changes = {name: fields[name] for name in ("firstname", "lastname") if name in fields} | password
        values = _columns(changes, "/newPassword")
        with self.state.changing() as connection:
            self.throttle.give_back(connection, taken)
            users.change_user(connection, user.id, values)
            if password:
                sessions.revoke_all(connection, user.id, self.clock(), "password was changed")
            self._record_change(connection, actor, user, changes)
            return users.find_user(connection, user.id)

    def own(self, actor: Principal) -> User:
        """The account of the caller; Forbidden for an API token, which has none."""
        if actor.kind is not PrincipalKind.USER:
            raise Forbidden("An API token has no account.")
        return self.find(actor.id)

    def remove(self, actor: Principal, number: int) -> None:
        """Remove an account and end its sessions; API tokens that it made go on, for they belong to machines."""
        with self.state.changing() as connection:
            user = users.find_user(connection, number)
            _check_gift(actor, grants_of(grants_by_role(connection), user.roles))
            users.remove_user(connection, number)
            _check_somebody_is_left(connection, user)
            audit.record(connection, Entry(self.clock(), Event.USER_DELETED, actor.actor(), user.username))

    def find(self, number: int) -> User:
        """One account; NotFound where there is none."""
        with self.state.database.reading() as connection:
            return users.find_user(connection, number)

    def principal(self, username: str) -> Principal:
        """An active user by name, with the grants of their roles; NotFound where there is none, Forbidden if disabled."""
        with self.state.database.reading() as connection:
            user = users.find_named(connection, username)
            if user is None:
                raise NotFound(f"There is no user {username[:100]!r}.")
            if not user.active:
                raise Forbidden(f"The account of {user.username} is not active.")
            return user_principal(user, grants_by_role(connection))

    def window(self, limit: int, offset: int) -> tuple[list[User], int]:
        """A window of the accounts, and how many there are."""
        with self.state.database.reading() as connection:
            return users.list_users(connection, limit, offset)

    def roles(self) -> list[Role]:
        """Every role, the built-in ones first."""
        with self.state.database.reading() as connection:
            return all_roles(connection)

    def _prove(self, user: User, password: str, address: str | None) -> Mapping[str, Rate]:
        """Take a try at the password, to be given back when the change is made; 403 where it is wrong, 429 after too many."""
        taken = self.throttle.take(user.username, address)
        if not verify_password(password, user.password_hash):
            _log.warning(Event.LOGIN_FAILED.value, reason="wrong current password", username=user.username)
            raise Forbidden("The current password is wrong.", "wrong_password")
        return taken

    def _record_change(self, connection: Connection, actor: Principal, user: User, fields: Mapping[str, Any]) -> None:
        events = {"password": Event.PASSWORD_CHANGED, "roles": Event.PRIVILEGES_CHANGED}
        detail = {"fields": sorted(fields)} | ({"roles": list(fields["roles"])} if "roles" in fields else {})
        for event in {events.get(name, Event.USER_UPDATED) for name in fields}:
            audit.record(connection, Entry(self.clock(), event, actor.actor(), user.username, detail))


def _columns(fields: Mapping[str, Any], pointer: str = "/password") -> dict[str, Any]:
    """The columns that fields stand for; a new password is hashed here, before the database is locked."""
    values = {name: fields[name] for name in ("firstname", "lastname", "active") if name in fields}
    if "password" in fields:
        _refuse(password_problems(fields["password"], pointer))
        values["password_hash"] = hash_password(fields["password"])
    return values


def _check_gift(actor: Principal, grants: Sequence[Grant]) -> None:
    if not actor.is_person:
        raise Forbidden("An API token cannot change accounts.")
    lacking = missing(actor.grants, grants)
    if lacking:
        raise Forbidden(f"You do not hold {lacking[0].text()} yourself.", "grant_not_held")


def _check_somebody_is_left(connection: Connection, before: User) -> None:
    """Refuse to take away the last account that may do everything."""
    held = grants_by_role(connection)
    if not before.active or not covers(grants_of(held, before.roles), _EVERYTHING):
        return
    if not any(covers(grants_of(held, user.roles), _EVERYTHING) for user in users.active_users(connection)):
        raise ApiError(409, "last_admin", "This is the last active account that may do everything.")


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise invalid("The account is not as it must be; the problems say why.", problems)
