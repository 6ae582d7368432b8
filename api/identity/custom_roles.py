"""Roles that an installation makes for itself: who may make, change and remove which. All of it blocks: call it in threads.

Nobody gives what they do not hold: whoever makes or changes a role holds every grant that it has, before and after.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import schemas
from api.errors import ApiError, Forbidden, invalid
from api.identity.grants import BUILT_IN_ROLES, Grant, covers, everywhere, grant_problems, missing
from api.identity.principal import Principal
from api.identity.roles import Role, all_roles, grants_by_role, grants_of
from api.state import audit, roles, users
from api.state.audit import Entry, Event
from api.state.database import Connection
from api.state.moment import Clock, utc_now
from api.state.state import State
from content.problem import Problem
from gitstore.errors import NotFound

_EVERYTHING = everywhere("*:*")


@dataclass(frozen=True, slots=True)
class CustomRoles:
    """Everything that is done with roles, each time on behalf of a principal."""

    state: State
    clock: Clock = utc_now

    def find(self, name: str) -> Role:
        """One role, built-in or not; NotFound where there is none."""
        with self.state.database.reading() as connection:
            return _find(connection, name)

    def create(self, actor: Principal, name: str, description: str, grants: Sequence[Grant]) -> Role:
        """A new role; 409 where the name is taken, 403 for grants beyond the actor's own, 422 for what cannot be."""
        _refuse(schemas.check("role-create", {"name": name, **_shape(description, grants)}))
        _check(actor, grants)
        with self.state.changing() as connection:
            if any(role.name.casefold() == name.casefold() for role in all_roles(connection)):
                raise ApiError(
                    409, "already_exists", f"There is a role '{name}' already, or one that differs in case only."
                )
            return self._put(connection, Event.ROLE_CREATED, actor, name, description, grants)

    def replace(self, actor: Principal, name: str, description: str, grants: Sequence[Grant]) -> Role:
        """Give a role another description and other grants; whoever has it has these from then on."""
        _refuse(schemas.check("role-update", _shape(description, grants)))
        _check(actor, grants)
        with self.state.changing() as connection:
            before = _find_own(connection, name)
            _check_gift(actor, before.grants)
            was_left = _is_somebody_left(connection)
            done = self._put(connection, Event.ROLE_CHANGED, actor, name, description, grants)
            _check_left(connection, was_left=was_left)
            return done

    def remove(self, actor: Principal, name: str) -> None:
        """Remove a role, also from those who have it."""
        _check_person(actor)
        with self.state.changing() as connection:
            _check_gift(actor, _find_own(connection, name).grants)
            was_left = _is_somebody_left(connection)
            roles.remove_role(connection, name)
            _check_left(connection, was_left=was_left)
            audit.record(connection, Entry(self.clock(), Event.ROLE_DELETED, actor.actor(), name))

    def _put(
        self,
        connection: Connection,
        event: Event,
        actor: Principal,
        name: str,
        description: str,
        grants: Sequence[Grant],
    ) -> Role:
        now, given = self.clock(), tuple(dict.fromkeys(grants))
        roles.put_role(connection, roles.Role(name, description, given, now))
        detail = {"grants": [grant.text() for grant in given]}
        audit.record(connection, Entry(now, event, actor.actor(), name, detail))
        return Role(name, description, given, built_in=False)


def _find(connection: Connection, name: str) -> Role:
    found = next((role for role in all_roles(connection) if role.name == name), None)
    if found is None:
        raise NotFound(f"There is no role '{name[:50]}'.")
    return found


def _find_own(connection: Connection, name: str) -> Role:
    found = _find(connection, name)
    if name in BUILT_IN_ROLES:
        raise ApiError(409, "built_in_role", f"'{name}' is built in; it stays as it is. Make a role of your own.")
    return found


def _shape(description: str, grants: Sequence[Grant]) -> dict[str, object]:
    return {"description": description, "grants": [grant.wire() for grant in grants]}


def _check(actor: Principal, grants: Sequence[Grant]) -> None:
    _check_person(actor)
    _refuse(grant_problems(grants))
    _check_gift(actor, grants)


def _check_person(actor: Principal) -> None:
    if not actor.is_person:
        raise Forbidden("An API token cannot change roles.")


def _check_gift(actor: Principal, grants: Sequence[Grant]) -> None:
    lacking = missing(actor.grants, grants)
    if lacking:
        raise Forbidden(f"You do not hold {lacking[0].text()} yourself.", "grant_not_held")


def _is_somebody_left(connection: Connection) -> bool:
    """Tell whether there is an active account that may do everything."""
    held = grants_by_role(connection)
    return any(covers(grants_of(held, user.roles), _EVERYTHING) for user in users.active_users(connection))


def _check_left(connection: Connection, *, was_left: bool) -> None:
    if was_left and not _is_somebody_left(connection):
        raise ApiError(409, "last_admin", "Nobody would be left who may do everything.")


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise invalid("The role is not as it must be; the problems say why.", problems)
