"""The identities of accounts at the OpenID provider, set by administrators. All calls block: run them in threads."""

from dataclasses import dataclass

from api.auth.permissions.principal import Principal
from api.auth.permissions.roles import grants_by_role, grants_of
from api.auth.permissions.writer import check_grants_held, read_writer
from api.db import audit
from api.db.accounts import openid, sessions, users
from api.db.accounts.openid import Identity
from api.db.accounts.users import User
from api.db.audit import AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock
from api.errors import ApiError
from gitstore.errors import AlreadyExists, NotFound


@dataclass(frozen=True, slots=True)
class Identities:
    """The operations on identities at one issuer, empty for none."""

    state: StateStore
    clock: Clock
    issuer: str

    def find(self, number: int) -> Identity:
        """Return the identity of a user; NotFound if they have none."""
        self._require_issuer()
        with self.state.database.reading() as connection:
            users.find_user(connection, number)
            subject = openid.find_subject(connection, self.issuer, number)
        if subject is None:
            raise NotFound("The user has no identity at the provider.")
        return Identity(self.issuer, subject)

    def set(self, actor: Principal, number: int, subject: str) -> Identity:
        """Give a user this identity; in place of an earlier one it ends their sessions. 409 if another user has it."""
        self._require_issuer()
        identity = Identity(self.issuer, subject)
        with self.state.changing() as connection:
            user = self._check(connection, actor, number)
            owner = openid.find_identity(connection, identity)
            if owner not in {None, number}:
                raise AlreadyExists("Another user has this identity.", "/subject")
            if owner is None:
                if openid.remove_identities(connection, self.issuer, number):  # the sessions are of the person before
                    sessions.revoke_all(connection, number, self.clock(), "identity was replaced")
                openid.add_identity(connection, identity, number, self.clock())
            self._record(connection, actor, user, {"issuer": self.issuer, "subject": subject})
        return identity

    def remove(self, actor: Principal, number: int) -> None:
        """Take the identity of a user away, and end their sessions; NotFound if they have none."""
        self._require_issuer()
        with self.state.changing() as connection:
            user = self._check(connection, actor, number)
            if openid.remove_identities(connection, self.issuer, number) == 0:
                raise NotFound("The user has no identity at the provider.")
            sessions.revoke_all(connection, number, self.clock(), "identity was removed")
            self._record(connection, actor, user, {"issuer": self.issuer, "subject": None})

    def _require_issuer(self) -> None:
        if not self.issuer:
            raise ApiError(404, "openid_disabled", "Login with an OpenID provider is not enabled.")

    def _check(self, connection: Connection, actor: Principal, number: int) -> User:
        """Refuse a user with grants that the actor lacks: an actor who sets an identity can log in as the user.

        Logins of the user wait from here on, since no one would end a session that is not committed yet.
        """
        held = read_writer(connection, actor, self.clock(), "user").grants
        user = users.lock_user(connection, number)
        if user is None:
            raise NotFound(f"User {number} does not exist.")
        check_grants_held(held, grants_of(grants_by_role(connection), user.roles))
        return user

    def _record(self, connection: Connection, actor: Principal, user: User, detail: dict[str, object]) -> None:
        entry = AuditEntry(self.clock(), AuditEvent.USER_UPDATED, actor.actor(), user.username, detail)
        audit.record(connection, entry)
