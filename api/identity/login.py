"""Signing in, going on and signing out. All three block (SQL, hashing): call them in threads."""

import secrets
from dataclasses import dataclass, field

from api import logs
from api.errors import ApiError, Unauthenticated
from api.identity.keyring import Keyring
from api.identity.passwords import hash_password, is_outdated, verify_nobody, verify_password
from api.identity.principal import Principal
from api.identity.refresh import Rotation
from api.identity.session_tokens import Lifetimes, SignedIn, first_link
from api.identity.throttle import Throttle
from api.state import audit, sessions, users
from api.state.audit import Actor, Entry, Event
from api.state.moment import Clock, utc_now
from api.state.state import State
from api.state.users import User

_log = logs.logger("login")


@dataclass(frozen=True, slots=True)
class Logins:
    """The three calls on sessions; with `hide_unknown` an unknown account is answered as a wrong password is."""

    state: State
    keyring: Keyring
    throttle: Throttle
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    clock: Clock = utc_now
    hide_unknown: bool = False

    def login(self, username: str, password: str, address: str | None = None) -> SignedIn:
        """A new session of an account; 401 `invalid_credentials`, 403 `user_not_exist`, in the same time.

        429 `too_many_attempts` where too many have failed, whatever was sent.
        """
        taken = self.throttle.take(username, address)
        user = self._verified(username, password)
        now, key = self.clock(), self.keyring.ring.signing(self.clock())
        number, expires_at = secrets.token_hex(16), now + self.lifetimes.session
        link = first_link(number, key, now, min(expires_at, now + self.lifetimes.idle))
        session = sessions.Session(number, user.id, now, expires_at, now + self.lifetimes.access)
        with self.state.database.writing() as connection:
            if not _still_holds(users.find_named(connection, user.username), user, password):
                raise Unauthenticated("The account was changed while you signed in; try again.", "invalid_credentials")
            self.throttle.give_back(connection, taken)
            sessions.open_session(connection, session, link.row)
            users.change_user(connection, user.id, {"last_login_at": now, **_renewed(user, password)})
            audit.record(connection, Entry(now, Event.LOGIN, _actor(user), user.username, address=address))
        return link.sign(user, self.lifetimes.access)

    def refresh(self, token: str, address: str | None = None) -> SignedIn:
        """The next tokens of a session; 401 for a token that is not, or no longer, good for it."""
        return Rotation(self.state, self.keyring.ring, self.lifetimes, self.clock()).refresh(token, address)

    def logout(self, principal: Principal, address: str | None = None) -> None:
        """End the caller's session: its refresh token at once, its access tokens with the next look."""
        if not principal.session:
            raise Unauthenticated("Only the access token of a session can end it; an API token has none.")
        now = self.clock()
        with self.state.changing() as connection:
            sessions.revoke(connection, principal.session, now, "logout")
            audit.record(connection, Entry(now, Event.LOGOUT, principal.actor(), principal.name, address=address))

    def sweep(self) -> int:
        """Forget what has expired; gives how many sessions went."""
        with self.state.database.writing() as connection:
            self.throttle.sweep(connection)
            return sessions.sweep(connection, self.clock())

    def _verified(self, username: str, password: str) -> User:
        with self.state.database.reading() as connection:
            user = users.find_named(connection, username)
        if user is None or not user.active:
            verify_nobody(password)
            _log.warning(Event.LOGIN_FAILED.value, reason="no such account")
            raise _wrong() if self.hide_unknown else ApiError(403, "user_not_exist", "There is no such account.")
        if not verify_password(password, user.password_hash):
            _log.warning(Event.LOGIN_FAILED.value, reason="wrong password", username=user.username)
            raise _wrong()
        return user


def _still_holds(found: User | None, user: User, password: str) -> bool:
    """Tell whether the account is as it was when the password was verified; another login may have renewed the hash."""
    if found is None or found.id != user.id or not found.active:
        return False
    return found.password_hash == user.password_hash or verify_password(password, found.password_hash)


def _renewed(user: User, password: str) -> dict[str, str]:
    """A hash with today's parameters, where the stored one has others."""
    return {"password_hash": hash_password(password)} if is_outdated(user.password_hash) else {}


def _actor(user: User) -> Actor:
    return Actor("user", user.id, user.username)


def _wrong() -> Unauthenticated:
    return Unauthenticated("User name or password is wrong.", "invalid_credentials")
