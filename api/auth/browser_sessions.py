"""The sessions of people: list them, and end them. All calls block: run them in threads."""

from collections.abc import Mapping
from dataclasses import dataclass

from api.auth.permissions.principal import Principal
from api.auth.permissions.roles import grants_by_role, grants_of
from api.auth.permissions.table import read_again
from api.auth.permissions.writer import check_grants_held, read_writer
from api.db import audit
from api.db.accounts import sessions, users
from api.db.accounts.sessions import Session
from api.db.audit import AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import Forbidden
from gitstore.errors import NotFound


@dataclass(frozen=True, slots=True)
class BrowserSessions:
    """The operations on sessions, each on behalf of a principal."""

    state: StateStore
    clock: Clock = utc_now

    def window(self, user: int, limit: int, offset: int) -> tuple[list[Session], int]:
        """Return a window of a user's sessions, the last used first, and their total number; NotFound for no user."""
        with self.state.database.reading() as connection:
            users.find_user(connection, user)
            return sessions.list_open(connection, user, self.clock(), limit, offset)

    def end(self, actor: Principal, user: int, session: str, address: str | None = None) -> None:
        """End a session of a user; NotFound if they have no such session."""
        now = self.clock()
        with self.state.changing() as connection:
            self._check(connection, actor, user)
            if sessions.find_open(connection, session, user, now) is None:
                raise NotFound("There is no such session.")
            sessions.revoke(connection, session, now, _because(actor, user))
            self._record(connection, actor, user, address, {"sessions": 1, "session": session})

    def end_others(self, actor: Principal, address: str | None = None) -> None:
        """End all sessions of the caller but the one of this call."""
        user = own_account(actor)
        with self.state.changing() as connection:
            read_again(connection, actor, self.clock())
            count = sessions.revoke_others(connection, user, actor.session, self.clock(), _because(actor, user))
            self._record(connection, actor, user, address, {"sessions": count})

    def end_all(self, actor: Principal, user: int, address: str | None = None) -> None:
        """End all sessions of a user."""
        with self.state.changing() as connection:
            self._check(connection, actor, user)
            count = sessions.revoke_all(connection, user, self.clock(), _because(actor, user))
            self._record(connection, actor, user, address, {"sessions": count})

    def _check(self, connection: Connection, actor: Principal, number: int) -> None:
        """Refuse to end the sessions of a user with grants that the actor lacks, and those of no user."""
        if actor.is_account(number):
            read_again(connection, actor, self.clock())
            return
        held = read_writer(connection, actor, self.clock(), "user").grants
        user = users.find_user(connection, number)
        check_grants_held(held, grants_of(grants_by_role(connection), user.roles))

    def _record(
        self, connection: Connection, actor: Principal, user: int, address: str | None, detail: Mapping[str, object]
    ) -> None:
        subject = users.find_user(connection, user).username
        entry = AuditEntry(self.clock(), AuditEvent.SESSIONS_ENDED, actor.actor(), subject, detail, address=address)
        audit.record(connection, entry)


def own_account(actor: Principal) -> int:
    """Return the id of the caller's account; Forbidden for an API token, also a personal one: it is no login."""
    if not actor.is_account(actor.id):
        raise Forbidden("This needs a login; an API token cannot do it.")
    return actor.id


def refuse_personal_token(actor: Principal) -> None:
    """Raise Forbidden for a personal token: its holder may be a script, and sessions are of people."""
    if actor.token is not None:
        raise Forbidden("This needs a login; a personal token cannot do it.")


def _because(actor: Principal, user: int) -> str:
    return "ended by its owner" if actor.is_account(user) else "ended by an administrator"
