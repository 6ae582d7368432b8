"""Logins with the provider: begun in a browser, finished by the callback, looked at again at each refresh, and ended."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from api import logs
from api.auth.logins.browser import Client
from api.auth.logins.login import Logins
from api.auth.logins.session_tokens import SessionTokens
from api.db import audit
from api.db.accounts import openid, sessions, users
from api.db.accounts.openid import ProviderSession
from api.db.audit import Actor, AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.generation import lock_generation
from api.db.timestamps import Clock
from api.errors import ApiError, Unauthenticated, Unavailable
from api.openid.errors import (
    KeySetOutdated,
    ProviderRefused,
    ProviderSilent,
    login_failed,
    provider_away,
    state_invalid,
)
from api.openid.login_state import LIFETIME, LoginState, begin_state, read_state
from api.openid.people import People, make_spare_hash
from api.openid.provider import Metadata, Provider
from api.openid.provider_config import ProviderConfig
from api.openid.provider_tokens import Claims, ProviderTokens
from api.openid.sealing import seal, unseal
from api.runtime.jobs.background import run_in_thread, run_to_end

_log = logs.logger("openid")
_CHECK_INTERVAL = timedelta(seconds=60)
_REST = timedelta(seconds=30)  # of a provider that gives no answer
_LOGOUT_KEPT = 3 * LIFETIME
_LIFETIME_OF_ROLES = timedelta(hours=1)  # that are never looked at again
_REFRESH = "openid refresh token"
_REFUSED = "refused by the provider"
_MOST_CODE = 4096
_CODE = re.compile(r"[a-z_]{1,40}")


class CallbackParameters(NamedTuple):
    """The parameters that the provider gives to the browser for the callback; empty ones are missing."""

    state: str
    code: str
    error: str
    iss: str


class ProviderTokensOfLogin(NamedTuple):
    """The answer of the provider to a login: the checked claims, its session, and its refresh token."""

    claims: Claims
    sid: str | None
    refresh_token: str | None


@dataclass(frozen=True, slots=True)
class OpenIdLogins:
    """The logins with one provider."""

    config: ProviderConfig
    provider: Provider
    tokens: ProviderTokens
    logins: Logins
    clock: Clock

    async def begin(self, cookie: str) -> tuple[str, str]:
        """Return the address of the provider's login, and the cookie of the browser that begins it."""
        metadata = await self.provider.metadata()
        login, sealed = begin_state(self.logins.keyring.ring, self.clock(), cookie)
        return self.provider.authorization_url(metadata, login), sealed

    def find_begun(self, state: str, cookie: str) -> LoginState:
        """Return the login that a browser began, by the state of its callback; 400 for one of no login of this browser."""
        login = read_state(self.logins.keyring.ring, self.clock(), cookie, state)
        if login is None:
            raise state_invalid()
        return login

    async def finish(self, login: LoginState, given: CallbackParameters, client: Client) -> SessionTokens:
        """Return the session of a callback; 400 for a login that has had one, 401 and 403 for a failed one."""
        begun_at = self.clock()
        metadata = await self.provider.metadata()
        self._check_issuer(metadata, given.iss)
        taken = await run_in_thread(self.logins.throttle.take_callback, client.address)
        await run_in_thread(self._use_once, login)
        if given.error or not 0 < len(given.code) <= _MOST_CODE:
            raise login_failed(given.error if _CODE.fullmatch(given.error) else "the provider sent no code")
        try:
            found = await self._exchange(metadata, login, given.code)
        except Unavailable:
            await run_in_thread(self._refund, taken)
            raise
        taken = {**taken, **await run_in_thread(self.logins.throttle.take_person, found.claims["sub"], client.address)}
        spare = await run_in_thread(make_spare_hash) if self.config.provisioning else ""
        return await run_in_thread(self._open, found, begun_at, client, spare, taken)

    async def check_again(self, session: str) -> None:
        """Ask the provider again about the person of a session, once a minute; 401 if it refuses them.

        While the provider is away the session goes on as it was, until its greatest age: it is asked again at the next refresh if
        it could not tell, and half a minute later if it gave no answer, which the caller waits for. Once begun, all is done also if
        the client leaves: the provider may have replaced its refresh token already.
        """
        if not await run_to_end(self._check(session)):
            raise Unauthenticated

    async def _check(self, session: str) -> bool:
        """Ask the provider if it is time for that; False if the session has ended by the answer."""
        claimed_at = self.clock()
        found = await run_in_thread(self._claim_check, session, claimed_at)
        if (
            found is None or found.issuer != self.config.issuer
        ):  # one of another provider ends by the refresh that follows
            return True
        token = self._unseal_refresh(found)
        if not token:
            return True
        is_admitted, rest = None, timedelta()
        try:
            is_admitted = await self._ask(found, token)
        except ProviderSilent:
            rest = _REST
            return True
        except ApiError:  # away
            return True
        finally:
            if is_admitted is None:
                await run_in_thread(self._release_check, session, claimed_at, rest)
        return is_admitted

    async def _ask(self, session: ProviderSession, token: str) -> bool:
        """Ask the provider, and apply the answer; False if it refuses the person, and 503 if it cannot tell."""
        number = session.session_id
        try:
            metadata = await self.provider.metadata()
            answer = await self.provider.refresh(metadata, token)
            await run_in_thread(self._keep_refresh, number, answer.get("refresh_token"))
            claims = await self._claims_of_refresh(metadata, answer, session.subject)
        except ProviderRefused as ex:
            if ex.reason != "invalid_grant":
                _log.warning("openid_refresh_failed", reason=ex.reason)
                return True
            await run_in_thread(self._end, number, _REFUSED)
            return False
        except KeySetOutdated as ex:  # as good as away: it cannot be known whether the key is the provider's
            raise provider_away("the key set cannot be fetched now") from ex
        except Unauthenticated:
            await run_in_thread(self._end, number, _REFUSED)
            return False
        if claims is not None:
            await run_in_thread(self._apply, number, claims)
        return True

    async def logout_by_provider(self, token: str, address: str | None) -> None:
        """End the sessions of a logout token; raises 401 for an invalid one, and 503 if its key cannot be fetched now."""
        metadata = await self.provider.metadata()
        try:
            claims = await self.tokens.verify_logout_token(token, metadata["jwks_uri"], self.clock(), address)
        except KeySetOutdated as ex:  # the provider sends it again after a 503, and never after a 400
            raise provider_away("the key set cannot be fetched now") from ex
        await run_in_thread(self._end_of_provider, claims)

    def logout_url(self, session: str) -> str:
        """Return the address at which the person of a session logs out of the provider; empty for none. Blocks."""
        with self.logins.state.database.reading() as connection:
            found = openid.find_provider_session(connection, session)
        return self.provider.logout_url() if found and found.issuer == self.config.issuer else ""

    def _check_issuer(self, metadata: Metadata, given: str) -> None:
        """Refuse a response of another provider: https://www.rfc-editor.org/rfc/rfc9207#section-2.4."""
        is_needed = metadata.get("authorization_response_iss_parameter_supported") is True
        if (given or is_needed) and given != self.config.issuer:
            raise login_failed("the response is of another issuer")

    def _use_once(self, login: LoginState) -> None:
        with self.logins.state.database.writing() as connection:
            if not openid.use_once(connection, f"state {login.state}", self.clock() + LIFETIME + _CHECK_INTERVAL):
                raise state_invalid()

    def _refund(self, taken: Mapping[str, Any]) -> None:
        with self.logins.state.database.writing() as connection:
            self.logins.throttle.refund(connection, taken)

    async def _exchange(self, metadata: Metadata, login: LoginState, code: str) -> ProviderTokensOfLogin:
        try:
            answer = await self.provider.exchange_code(metadata, code, login.verifier)
        except ProviderRefused as ex:
            raise login_failed(f"the provider refuses the code: {ex.reason}") from None
        access = answer.get("access_token")
        claims = await self.tokens.verify_id_token(
            answer.get("id_token"),
            metadata["jwks_uri"],
            self.clock(),
            nonce=login.nonce,
            access_token=access if isinstance(access, str) else None,
        )
        info = await self._user_info(metadata, claims, access)
        refresh = answer.get("refresh_token")
        return ProviderTokensOfLogin(
            {**(info or {}), **claims}, claims.get("sid"), refresh if isinstance(refresh, str) else None
        )

    async def _user_info(self, metadata: Metadata, claims: Claims, access: object) -> Claims | None:
        """Return the claims of the user info, empty where the ID token tells the roles and the name; None if it is refused."""
        if People(self.config).has_roles(claims) and ("preferred_username" in claims or not self.config.provisioning):
            return {}
        return await self.provider.user_info(metadata, access, claims["sub"])

    async def _claims_of_refresh(self, metadata: Metadata, answer: Mapping[str, Any], subject: str) -> Claims | None:
        """Return the claims of a person at a refresh; None if the provider does not say whether there are roles.

        Where it says so, roles that it does not name are withdrawn, as at a login: many leave an empty claim out.
        """
        access = answer.get("access_token")
        if "id_token" not in answer:
            return await self.provider.user_info(metadata, access, subject) or None
        claims = await self.tokens.verify_id_token(answer["id_token"], metadata["jwks_uri"], self.clock(), nonce=None)
        if claims["sub"] != subject:
            raise login_failed("the refreshed ID token is of another person")
        info = await self._user_info(metadata, claims, access)
        return None if info is None else {**info, **claims}

    def _open(
        self,
        found: ProviderTokensOfLogin,
        begun_at: datetime,
        client: Client,
        spare_hash: str,
        taken: Mapping[str, Any],
    ) -> SessionTokens:
        """Open the session of a callback, unless the provider has ended it since `begun_at`.

        A logout that comes later waits for this transaction, and then finds the session.
        """
        now, logins = self.clock(), self.logins
        with logins.state.perhaps_changing() as change:
            connection = change.connection
            lock_generation(connection)
            subject, sid = found.claims["sub"], found.sid or ""
            if openid.has_logout(connection, self.config.issuer, subject, sid, begun_at + _LOGOUT_KEPT):
                raise login_failed("the provider ended its session during the login")
            people = People(self.config)
            number = people.find(change, found.claims, now, spare_hash)
            logins.throttle.refund(connection, taken)
            user = people.admit(change, number, found.claims, now)
            how = {"by": "openid", "issuer": self.config.issuer}
            link = logins.open_session(connection, user, client, self._session_lifetime(found), how)
            session = ProviderSession(
                link.row.session_id,
                self.config.issuer,
                found.claims["sub"],
                found.sid,
                self._seal_refresh(found.refresh_token) if found.refresh_token else None,
                now,
            )
            openid.add_session(connection, session)
        return link.sign(user, logins.lifetimes.access)

    def _session_lifetime(self, found: ProviderTokensOfLogin) -> timedelta:
        """Return the greatest age of a session: a short one where its roles can never be looked at again."""
        lifetime = self.config.session_lifetime
        if not self.config.roles_claim or found.refresh_token:
            return lifetime
        lifetime = min(lifetime, _LIFETIME_OF_ROLES)
        _warn_of_short_sessions(int(lifetime.total_seconds()), self.config.action_for_refresh_tokens())
        return lifetime

    def _seal_refresh(self, token: str) -> str:
        return seal(self.logins.keyring.ring, self.clock(), _REFRESH, {"token": token})

    def _unseal_refresh(self, session: ProviderSession) -> str:
        record = unseal(self.logins.keyring.ring, _REFRESH, session.refresh_token or "")
        return str(record["token"]) if record else ""

    def _claim_check(self, session: str, now: datetime) -> ProviderSession | None:
        with self.logins.state.database.writing() as connection:
            return openid.claim_session_check(connection, session, now - _CHECK_INTERVAL, now)

    def _release_check(self, session: str, claimed_at: datetime, rest: timedelta) -> None:
        """Let the provider be asked again after a rest, which begins now."""
        before = (self.clock() if rest else claimed_at) - _CHECK_INTERVAL + rest
        with self.logins.state.database.writing() as connection:
            openid.release_session_check(connection, session, claimed_at, before)

    def _keep_refresh(self, session: str, refresh_token: object) -> None:
        """Store the provider's next refresh token, before anything else is asked: the one before may be spent."""
        if isinstance(refresh_token, str):
            with self.logins.state.database.writing() as connection:
                openid.set_refresh_token(connection, session, self._seal_refresh(refresh_token))

    def _apply(self, session: str, claims: Claims) -> None:
        """Give the person the roles that the provider names now."""
        with self.logins.state.perhaps_changing() as change:
            People(self.config).look_again(change, session, claims, self.clock())

    def _end(self, session: str, reason: str) -> None:
        with self.logins.state.changing() as connection:
            found = sessions.find_session(connection, session)
            if found and sessions.revoke(connection, session, self.clock(), reason):
                self._record_end(connection, found.user_id, {"sessions": 1, "session": session}, reason)

    def _end_of_provider(self, claims: Claims) -> None:
        now = self.clock()
        with self.logins.state.perhaps_changing() as change:
            connection = change.connection
            if openid.use_once(
                connection, f"logout {claims['jti']}", now + _LOGOUT_KEPT
            ):  # nothing for a token that is sent again
                change.begin()
                sid, subject = claims.get("sid", ""), claims.get("sub", "")
                openid.note_logout(connection, self.config.issuer, subject, sid, now + _LOGOUT_KEPT)
                ended = openid.revoke_of_provider(connection, self.config.issuer, subject, sid, now)
                for user, count in ended.items():
                    self._record_end(connection, user, {"sessions": count}, "logout at the provider")
                _log.info("openid_logout", sessions=ended.total())

    def _record_end(self, connection: Connection, number: int, ended: Mapping[str, object], reason: str) -> None:
        """Record that sessions of an account ended by what the provider said."""
        name = users.find_user(connection, number).username
        detail = {**ended, "by": "openid", "reason": reason}
        entry = AuditEntry(self.clock(), AuditEvent.SESSIONS_ENDED, Actor("user", number, name), name, detail)
        audit.record(connection, entry)


@lru_cache(maxsize=1)
def _warn_of_short_sessions(seconds: int, action: str) -> None:
    """Log once in a process that sessions are short, since the provider does the same at each login."""
    reason = "the provider gave no refresh token, so the roles cannot be looked at again"
    _log.warning("openid_session_is_short", reason=reason, action=action, seconds=seconds)
