"""Refresh-token rotation: each refresh token is valid for one successor.

A token that is used again within ten seconds gives the same successor: two tabs may refresh at once, and a response may
be lost. A later reuse means that the token was copied, so the session ends, for the thief and for the owner:
https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api import logs
from api.auth.logins.browser import NO_CLIENT, Client
from api.auth.logins.jwt_token import Claims, TokenUse, verify
from api.auth.logins.keyring import Ring
from api.auth.logins.session_tokens import Lifetimes, RefreshLink, SessionTokens, jti_hash, next_link, same_link
from api.db.accounts.openid import find_provider_session
from api.db.accounts.sessions import Session, find_refresh_token, find_session, note_client, revoke, spend
from api.db.accounts.users import User, find_user, username_key
from api.db.audit import Actor, AuditEntry, AuditEvent, record
from api.db.database import Connection
from api.db.state_store import StateStore
from api.errors import Unauthenticated

GRACE = timedelta(seconds=10)

_log = logs.logger("refresh")


@dataclass(frozen=True, slots=True)
class RefreshRotation:
    """The refresh of a session at one moment, with its dependencies."""

    state: StateStore
    ring: Ring
    lifetimes: Lifetimes
    now: datetime
    only_account: str | None = None
    """The only account that may log in by password, as in `Logins`."""
    issuer: str = ""
    """The issuer of the OpenID provider, as in `Logins`."""

    def refresh(self, token: str, client: Client = NO_CLIENT) -> SessionTokens:
        """Return the successors of a refresh token; Unauthenticated if it is invalid, expired or revoked.

        Also for a session of another provider than the present one, whose roles and end no one would look at again: it ends.
        """
        claims = verify(token, TokenUse.REFRESH, self.ring, self.now)
        with self.state.database.writing() as connection:
            user, session = _owner(connection, claims)
            provider = find_provider_session(connection, session.id)
            if provider is None and not may_log_in(user.username, self.only_account):
                raise Unauthenticated
            is_former = provider is not None and provider.issuer != self.issuer
            link = None if is_former else self._rotate(connection, claims, session)
            if link is not None and client.address is not None:
                note_client(connection, session.id, {**client.stored(), "last_seen_at": self.now})
        if is_former:
            self._end_former(claims, user)
            raise Unauthenticated
        if link is None:
            self._revoke_session(claims, user, client.address)
            raise Unauthenticated
        return link.sign(user, self.lifetimes.access)

    def _rotate(self, connection: Connection, claims: Claims, session: Session) -> RefreshLink | None:
        """Return the link of this call, or of another one a moment ago; None for a token that was used again later."""
        return self._advance(connection, claims, session) or self._reissue(connection, claims)

    def _advance(self, connection: Connection, claims: Claims, session: Session) -> RefreshLink | None:
        """Return the next link if this call creates it, else None."""
        expires_at = min(session.expires_at, self.now + self.lifetimes.idle)
        link = next_link(claims, self.ring.signing(self.now), self.now, expires_at)
        spent = spend(
            connection, jti_hash(claims.jti), link.row, min(self.now + self.lifetimes.access, session.expires_at)
        )
        return link if spent else None

    def _reissue(self, connection: Connection, claims: Claims) -> RefreshLink | None:
        """Return the link that another call has just created; None if the token was used too long ago."""
        used = find_refresh_token(connection, jti_hash(claims.jti))
        if used is None or used.used_at is None or used.successor is None:
            raise Unauthenticated
        if self.now - used.used_at > GRACE:
            return None
        row = find_refresh_token(connection, used.successor)
        key = self.ring.find(row.kid) if row else None
        if row is None or key is None:
            raise Unauthenticated
        return same_link(claims, key, row)

    def _end_former(self, claims: Claims, user: User) -> None:
        """End a session of a provider that is not that of the service any more."""
        reason = "the provider was replaced" if self.issuer else "there is no provider any more"
        with self.state.changing() as connection:
            if revoke(connection, claims.session, self.now, reason):
                detail = {"sessions": 1, "session": claims.session, "by": "openid", "reason": reason}
                actor = Actor("user", user.id, user.username)
                record(connection, AuditEntry(self.now, AuditEvent.SESSIONS_ENDED, actor, user.username, detail))

    def _revoke_session(self, claims: Claims, user: User, address: str | None) -> None:
        _log.warning(AuditEvent.TOKEN_REUSED.value, username=user.username, session=claims.session)
        with self.state.changing() as connection:
            revoke(connection, claims.session, self.now, "refresh token used again")
            actor = Actor("user", user.id, user.username)
            event, session = AuditEvent.TOKEN_REUSED, claims.session
            record(connection, AuditEntry(self.now, event, actor, user.username, address=address, session=session))


def may_log_in(username: str, only_account: str | None) -> bool:
    """Tell whether an account may log in by password, where only one may, or none, or all."""
    return only_account is None or username_key(username) == username_key(only_account)


def _owner(connection: Connection, claims: Claims) -> tuple[User, Session]:
    session = find_session(connection, claims.session)
    if session is None or session.revoked_at is not None or session.user_id != claims.user_id:
        raise Unauthenticated
    user = find_user(connection, session.user_id)
    if not user.active:
        raise Unauthenticated
    return user, session
