"""Login, refresh and logout. All three block (SQL, hashing): call them in threads."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from api import logs
from api.auth.logins.browser import NO_CLIENT, Client
from api.auth.logins.jwt_token import TokenUse, verify
from api.auth.logins.keyring import Keyring
from api.auth.logins.passwords import hash_password, is_outdated, verify_dummy, verify_password
from api.auth.logins.refresh import RefreshRotation, may_log_in
from api.auth.logins.session_tokens import Lifetimes, RefreshLink, SessionTokens, first_link
from api.auth.logins.throttle import Throttle
from api.auth.permissions.principal import Principal
from api.db import audit
from api.db.accounts import openid, sessions, users
from api.db.accounts.users import User
from api.db.audit import Actor, AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import ApiError, Unauthenticated

_log = logs.logger("login")


@dataclass(frozen=True, slots=True)
class Logins:
    """The operations on sessions; with `hide_unknown` an unknown account gives the same error as a wrong password."""

    state: StateStore
    keyring: Keyring
    throttle: Throttle
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    clock: Clock = utc_now
    hide_unknown: bool = False
    only_account: str | None = None
    """The only account that may log in by password, empty for none; None for all."""
    issuer: str = ""
    """The issuer of the OpenID provider; empty for none."""

    def login(self, username: str, password: str, client: Client = NO_CLIENT) -> SessionTokens:
        """Open a session of an account; 401 `invalid_credentials` or 403 `user_not_exist`, in the same time.

        429 `too_many_attempts` after too many failures, even for a correct password.
        """
        taken = self.throttle.take(username, client.address)
        user = self._verify(username, password)
        renewed = _rehash(user, password)  # before the transaction, for which other writers wait
        with self.state.database.writing() as connection:
            self.throttle.refund(connection, taken)
            if not _is_unchanged(users.lock_named(connection, user.username), user, password):
                raise Unauthenticated("The account was changed during the login. Log in again.", "invalid_credentials")
            users.change_user(connection, user.id, renewed)
            link = self.open_session(connection, user, client, self.lifetimes.session, {"by": "password"})
        return link.sign(user, self.lifetimes.access)

    def open_session(
        self, connection: Connection, user: User, client: Client, age: timedelta, how: Mapping[str, str]
    ) -> RefreshLink:
        """Open a session of a user who was authenticated, for at most `age`, and record the login and `how` it was done."""
        now, key = self.clock(), self.keyring.ring.signing(self.clock())
        number, expires_at = secrets.token_hex(16), now + age
        link = first_link(number, key, now, min(expires_at, now + self.lifetimes.idle))
        access_until = min(now + self.lifetimes.access, expires_at)
        session = sessions.Session(number, user.id, now, expires_at, access_until, **client.stored())
        sessions.open_session(connection, session, link.row)
        users.change_user(connection, user.id, {"last_login_at": now})
        actor = Actor("user", user.id, user.username)
        entry = AuditEntry(now, AuditEvent.LOGIN, actor, user.username, how, address=client.address, session=number)
        audit.record(connection, entry)
        return link

    def verify(self, username: str, password: str, address: str | None = None) -> User:
        """Verify a name and password that come without a session; the same errors as a login, and the same limits."""
        taken = self.throttle.take(username, address)
        user = self._verify(username, password)
        if taken:
            with self.state.database.writing() as connection:
                self.throttle.refund(connection, taken)
        return user

    def refresh(self, token: str, client: Client = NO_CLIENT) -> SessionTokens:
        """Return the next tokens of a session; 401 for an invalid, expired or revoked token.

        Also for a session by password of an account that cannot log in by password any more, and for one of a former provider.
        """
        ring, now = self.keyring.ring, self.clock()
        rotation = RefreshRotation(self.state, ring, self.lifetimes, now, self.only_account, self.issuer)
        return rotation.refresh(token, client)

    def session_of(self, token: str, use: TokenUse) -> str:
        """Return the session of a token; Unauthenticated if it is invalid or expired."""
        return verify(token, use, self.keyring.ring, self.clock()).session

    def end(self, session: str, address: str | None = None, reason: str = "") -> None:
        """End a session by its id, if it is active; for the holder of one of its tokens. Without a reason, by a logout."""
        now = self.clock()
        with self.state.database.reading() as connection:
            found = sessions.find_session(connection, session)
        if found is None or found.revoked_at is not None:
            return
        with self.state.changing() as connection:
            if not sessions.revoke(connection, session, now, reason or "logout"):
                return
            user = users.find_user(connection, found.user_id)
            actor, detail = Actor("user", user.id, user.username), {"reason": reason} if reason else {}
            entry = AuditEntry(now, AuditEvent.LOGOUT, actor, user.username, detail, address=address, session=session)
            audit.record(connection, entry)

    def logout(self, principal: Principal, address: str | None = None) -> None:
        """End the caller's session: its refresh token at once, its access tokens at the next check of the directory."""
        if not principal.session:
            raise Unauthenticated("An API token has no session. Log out with the access token of a session.")
        self.end(principal.session, address)

    def sweep(self) -> int:
        """Remove expired sessions and failed attempts; return the number of sessions removed."""
        with self.state.database.writing() as connection:
            self.throttle.sweep(connection)
            openid.sweep(connection, self.clock())
            return sessions.sweep(connection, self.clock())

    def _verify(self, username: str, password: str) -> User:
        with self.state.database.reading() as connection:  # also where the account may not: each name costs the same
            user = users.find_named(connection, username)
        if not may_log_in(username, self.only_account):
            verify_dummy(password)
            raise _password_login_disabled()
        if user is None or not user.active:
            verify_dummy(password)
            _log.warning(AuditEvent.LOGIN_FAILED.value, reason="no such account")
            raise self._unknown_account()
        if not verify_password(password, user.password_hash):
            _log.warning(AuditEvent.LOGIN_FAILED.value, reason="wrong password", username=user.username)
            error = _invalid_credentials() if self.only_account is None else _password_login_disabled()
            error.account = user.username
            raise error
        return user

    def _unknown_account(self) -> ApiError:
        if self.only_account is not None:
            return _password_login_disabled()
        if self.hide_unknown:
            return _invalid_credentials()
        return ApiError(403, "user_not_exist", "The account does not exist.")


def _is_unchanged(found: User | None, user: User, password: str) -> bool:
    """Return whether the account is unchanged since the verification; another login may have renewed the hash."""
    if found is None or found.id != user.id or not found.active:
        return False
    return found.password_hash == user.password_hash or verify_password(password, found.password_hash)


def _rehash(user: User, password: str) -> dict[str, str]:
    """Return a hash with the current parameters if the stored one has others."""
    return {"password_hash": hash_password(password)} if is_outdated(user.password_hash) else {}


def _invalid_credentials() -> Unauthenticated:
    return Unauthenticated("Incorrect user name or password.", "invalid_credentials")


def _password_login_disabled() -> ApiError:
    """Return the same error for every name, so that it does not reveal the account that may log in."""
    message = "Login by password is switched off. Log in with the OpenID provider."
    return ApiError(403, "password_login_disabled", message)
