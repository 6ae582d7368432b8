"""The accounts of the provider's people: found by issuer and subject alone, created if allowed, with the roles of a claim."""

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from api import logs
from api.auth.logins.passwords import hash_password
from api.auth.permissions.roles import grants_by_role
from api.db import audit
from api.db.accounts import openid, users
from api.db.accounts.openid import Identity
from api.db.accounts.users import User
from api.db.audit import Actor, AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import PossibleChange
from api.errors import ApiError
from api.openid.errors import login_failed
from api.openid.provider_config import ProviderConfig

_log = logs.logger("openid")
_MOST_NAME = 100
_MOST_ROLES = 1_000
_TRIES = 20


@dataclass(frozen=True, slots=True)
class People:
    """The accounts of the people of one provider."""

    config: ProviderConfig

    def find(self, change: PossibleChange, claims: Mapping[str, Any], now: datetime, spare_hash: str) -> int:
        """Return the id of a person's account, created if allowed; 403 `user_not_exist`.

        A change of accounts begins here, before the locks of the login: every other change takes them in this order.
        """
        identity, connection = Identity(self.config.issuer, claims["sub"]), change.connection
        number = openid.find_identity(connection, identity)
        if number is None or self._has_changed(connection, number, claims):
            change.begin()  # which waits for another login that creates the account
            number = openid.find_identity(connection, identity)
        return self._create(change, identity, claims, now, spare_hash) if number is None else number

    def admit(self, change: PossibleChange, number: int, claims: Mapping[str, Any], now: datetime) -> User:
        """Return the account that was found, with the roles of the claim; 403 `user_not_exist` if it is deactivated.

        It is locked: what ends its sessions waits for the new one, or was committed before and is seen here.
        """
        identity, connection = Identity(self.config.issuer, claims["sub"]), change.connection
        user = users.lock_user(connection, number)
        if user is None or openid.find_identity(connection, identity) != number:
            raise login_failed("the account was changed during the login")
        if not user.active:
            raise _unknown("the account is deactivated", identity)
        return self.apply_roles(change, user, claims, now)

    def look_again(self, change: PossibleChange, session: str, claims: Mapping[str, Any], now: datetime) -> None:
        """Give the person of a session the roles of the claim, unless it has ended or its account is another person's."""
        number = openid.find_person(change.connection, session)
        if number is None or not self._has_changed(change.connection, number, claims):
            return
        change.begin()  # from here on, no session ends and no identity changes
        if openid.find_person(change.connection, session) == number:
            self.apply_roles(change, users.find_user(change.connection, number), claims, now)

    def apply_roles(self, change: PossibleChange, user: User, claims: Mapping[str, Any], now: datetime) -> User:
        """Give a user the roles of the claim, if there is one in the configuration."""
        if not self.config.roles_claim:
            return user
        connection = change.connection
        roles = self._known_roles(connection, claims)
        if roles == tuple(sorted(user.roles)):
            return user
        change.begin()
        users.set_roles(connection, user.id, roles)
        detail = {"fields": ["roles"], "roles": list(roles), "by": "openid"}
        actor = Actor("user", user.id, user.username)
        audit.record(connection, AuditEntry(now, AuditEvent.PRIVILEGES_CHANGED, actor, user.username, detail))
        return users.find_user(connection, user.id)

    def has_roles(self, claims: Mapping[str, Any]) -> bool:
        """Tell whether the claims answer which roles a person has."""
        return not self.config.roles_claim or _find_claim(claims, self.config.roles_claim) is not None

    def _has_changed(self, connection: Connection, number: int, claims: Mapping[str, Any]) -> bool:
        """Tell whether a user who may log in has other roles than the claim."""
        if not self.config.roles_claim:
            return False
        roles = self._known_roles(connection, claims)
        return any(roles != tuple(sorted(user.roles)) for user in users.find_active_users(connection, [number]))

    def _known_roles(self, connection: Connection, claims: Mapping[str, Any]) -> tuple[str, ...]:
        known = grants_by_role(connection)
        return tuple(sorted({role for role in self._roles(claims) if role in known}))

    def _roles(self, claims: Mapping[str, Any]) -> Iterator[str]:
        found = _find_claim(claims, self.config.roles_claim)
        values = found[:_MOST_ROLES] if isinstance(found, list) else [found]
        for value in values:
            if isinstance(value, str):
                yield from self.config.roles.get(value, ()) if self.config.roles else (value,)

    def _create(
        self, change: PossibleChange, identity: Identity, claims: Mapping[str, Any], now: datetime, spare_hash: str
    ) -> int:
        if not self.config.provisioning:
            raise _unknown("no account has this subject", identity)
        if not _is_mail_verified(claims):
            raise _unknown("the address of mail is not verified", identity)
        connection = change.connection
        known = grants_by_role(connection)
        roles = () if self.config.roles_claim else tuple(role for role in self.config.default_roles if role in known)
        name = _free_name(connection, _username(claims))
        first, last = _text(claims, "given_name"), _text(claims, "family_name")
        number = users.add_user(connection, User(name, first, last, roles, now, spare_hash))
        openid.add_identity(connection, identity, number, now)
        detail = {"roles": list(roles), "issuer": identity.issuer, "subject": identity.subject}
        audit.record(connection, AuditEntry(now, AuditEvent.USER_CREATED, Actor("user", number, name), name, detail))
        return number


@cache
def make_spare_hash() -> str:
    """Return the hash of a random password that is not kept, so that such an account takes as long to refuse as any other.

    One for each process is enough, since no one knows the password: logins with the provider need no turn to hash.
    """
    return hash_password(secrets.token_urlsafe(32))


def _find_claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim by its name, or by a path with dots: `realm_access.roles`."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _is_mail_verified(claims: Mapping[str, Any]) -> bool:
    """Tell whether the address of mail stops no account: it is verified, or not said to be unverified and not used."""
    if "email_verified" in claims:
        return claims["email_verified"] is True
    return not _name_of(claims, "email") or bool(_name_of(claims, "preferred_username"))


def _username(claims: Mapping[str, Any]) -> str:
    """Return a name for a new account: a verified address of mail, where the provider sends no name."""
    found = _name_of(claims, "preferred_username") or _name_of(claims, "email")
    return found or f"user-{secrets.token_hex(4)}"


def _name_of(claims: Mapping[str, Any], claim: str) -> str:
    """Return a claim as the name of an account; empty if it cannot be one."""
    return re.sub(r"[^A-Za-z0-9._@-]", "", _text(claims, claim).lower())[:50].lstrip(".@-")


def _free_name(connection: Connection, wanted: str) -> str:
    """Return the name, or with a number behind it if another account has it."""
    for number in range(1, _TRIES):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if users.find_named(connection, name) is None:
            return name
    return f"{wanted}-{secrets.token_hex(4)}"


def _text(claims: Mapping[str, Any], name: str) -> str:
    found = claims.get(name)
    return "".join(each for each in found if each.isprintable())[:_MOST_NAME] if isinstance(found, str) else ""


def _unknown(reason: str, identity: Identity) -> ApiError:
    """Return the 403 of a person without an account; the log has the subject, with which an administrator can name one."""
    _log.warning("openid_login_failed", reason=reason, subject=identity.subject)
    return ApiError(403, "user_not_exist", "The account does not exist. Ask an administrator for one.")
