"""Passwords that come with every request, as from Git: verified like those of a login, and then known for minutes.

A verification takes 31 ms and two writes to the database, and a clone makes three requests. So the digest of a verified
password stays in memory: until any account, role or token changes, and for `_SECONDS` at most.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from secrets import token_bytes
from typing import NamedTuple

from api.auth.directory import IdentityCache
from api.auth.logins.login import Logins
from api.auth.permissions.principal import Principal, PrincipalKind, as_principal
from api.errors import Unauthenticated
from api.interfaces import Password, PasswordTurns
from content.cache import LruCache

_SECONDS = 300.0
_MOST = 1_000


class _Verified(NamedTuple):
    user: int
    edition: int
    until: float


class PasswordAccess:
    """The passwords of one worker's callers. Whether or not an account exists, a wrong password gets the same error."""

    def __init__(
        self,
        logins: Logins,
        directory: IdentityCache,
        turns: PasswordTurns,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logins = replace(logins, hide_unknown=True)
        self._turns = turns
        self._directory = directory
        self._timer = timer
        self._key = token_bytes(32)
        self._verified: LruCache[bytes, _Verified] = LruCache(_MOST)

    def find(self, password: Password) -> Principal | None:
        """Return the user of a password that was verified a moment ago, if no account has changed since."""
        found = self._verified.find(self._digest(password))
        if found is None or found.edition != self._directory.edition or found.until < self._timer():
            return None
        return self._user(found.user)

    def recall(self, password: Password) -> Principal:
        """Return the user of a password that was verified, from memory alone; raises Unauthenticated."""
        found = self._verified.find(self._digest(password))
        return self._require(None if found is None else self._user(found.user))

    async def verify(self, password: Password) -> Principal:
        """Verify a password in the database when it is its turn; raises Unauthenticated, and 429 after too many failures."""
        return await self._turns.run(password.address, self._verify, password)

    def _verify(self, password: Password) -> Principal:
        edition = self._directory.edition  # before the database is read: a later change has another one
        user = self._logins.verify(*password)
        self._verified.put(self._digest(password), _Verified(user.id, edition, self._timer() + _SECONDS))
        self._directory.reload()  # if it has changed while the password was hashed
        return self._require(self._user(user.id))

    def _user(self, number: int) -> Principal | None:
        found = self._directory.principal(PrincipalKind.USER, number)
        return None if found is None else as_principal(found)

    def _require(self, found: Principal | None) -> Principal:
        if found is None:  # removed or deactivated since
            raise Unauthenticated("Incorrect user name or password.", "invalid_credentials")
        return found

    def _digest(self, password: Password) -> bytes:
        texts = (text.encode(errors="surrogatepass") for text in (password.username, password.password))
        return blake2b(b"".join(b"%d:%b" % (len(text), text) for text in texts), key=self._key).digest()
