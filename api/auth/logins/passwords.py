"""Password hashing and verification with argon2id, in the same time whether or not the account exists.

A hash is computed where it is asked for, as on the command line. A worker has its own process for that, which yields to
all other work: see `hash_elsewhere`.
"""

from typing import Protocol

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from content.records.problem import Problem

MIN_PASSWORD_LENGTH = 8  # characters
MAX_PASSWORD_BYTES = 1024

# OWASP's minimum for argon2id: about 31 ms here; the library's own default takes 183 ms.
# https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id
_HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$YFWFPwIIEsdpHQ1v3MgFqA$KKP3cLdRtxAUTAsZpjKv3l1UUInAaiTsiIWObxvPHSk"


class Hashing(Protocol):
    """The place where hashes are computed. Both calls block, and may be made from several threads."""

    def hash(self, password: str) -> str:
        """Return the hash of a password; UnicodeEncodeError for one that UTF-8 cannot encode."""

    def verify(self, stored: str, password: str) -> bool:
        """Return whether a password matches a stored hash; false for an invalid hash."""


class HashingHere:
    """Hashing in the thread of the caller."""

    def hash(self, password: str) -> str:
        """Return the hash of a password."""
        return _HASHER.hash(password)

    def verify(self, stored: str, password: str) -> bool:
        """Return whether a password matches a stored hash."""
        try:
            return _HASHER.verify(stored, password)
        except (Argon2Error, InvalidHashError, UnicodeEncodeError):
            return False


_HERE = HashingHere()
_places: list[Hashing] = []


def hash_elsewhere(place: Hashing) -> None:
    """Let this process compute its hashes in another place, until `hash_here`."""
    _places[:] = [place]


def hash_here() -> None:
    """Let this process compute its hashes itself again."""
    _places.clear()


def _hashing() -> Hashing:
    return _places[0] if _places else _HERE


def hash_password(password: str) -> str:
    """Return the hash to store; takes about 31 ms, so call it in a thread."""
    return _hashing().hash(password)


def verify_password(password: str, stored: str) -> bool:
    """Return whether a password matches a stored hash; takes about 31 ms."""
    # JSON can contain lone surrogates, which UTF-8 cannot encode: https://www.rfc-editor.org/rfc/rfc8259#section-8.2
    if len(password.encode(errors="surrogatepass")) > MAX_PASSWORD_BYTES:
        return False
    return _hashing().verify(stored, password)


def verify_dummy(password: str) -> None:
    """Spend the time of a verification, so that the response time does not reveal that an account does not exist."""
    verify_password(password, _DUMMY_HASH)


def is_outdated(stored: str) -> bool:
    """Return whether a hash has other parameters than the current ones."""
    return _HASHER.check_needs_rehash(stored)


def password_problems(password: str, pointer: str = "/password") -> list[Problem]:
    """Return the problems of a new password."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return [Problem("too_short", f"Too short. Use at least {MIN_PASSWORD_LENGTH} characters.", pointer=pointer)]
    if len(password.encode(errors="surrogatepass")) > MAX_PASSWORD_BYTES:
        return [Problem("too_long", f"Too long. Use at most {MAX_PASSWORD_BYTES:,} bytes.", pointer=pointer)]
    return []
