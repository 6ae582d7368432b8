"""Passwords: hashing and verifying with argon2id, in the same time whether or not there is an account."""

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from content.problem import Problem

SHORTEST = 8
LONGEST = 1024
"""Characters that a password has at least, and bytes that it has at most."""

# OWASP's minimum for argon2id: about 31 ms here, where the library's own default takes 183 ms.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$YFWFPwIIEsdpHQ1v3MgFqA$KKP3cLdRtxAUTAsZpjKv3l1UUInAaiTsiIWObxvPHSk"


def hash_password(password: str) -> str:
    """The hash to store; takes about 31 ms, so call it in a thread."""
    return _HASHER.hash(password)


def verify_password(password: str, stored: str) -> bool:
    """Tell whether this is the password of a stored hash; takes about 31 ms."""
    if len(password.encode(errors="surrogatepass")) > LONGEST:
        return False
    try:
        return _HASHER.verify(stored, password)
    except (Argon2Error, InvalidHashError, UnicodeEncodeError):
        return False


def verify_nobody(password: str) -> None:
    """Spend the time of a verification where there is no account, so that the clock does not tell."""
    verify_password(password, _NOBODY)


def is_outdated(stored: str) -> bool:
    """Tell whether a hash was made with other parameters than today's."""
    return _HASHER.check_needs_rehash(stored)


def password_problems(password: str, pointer: str = "/password") -> list[Problem]:
    """Why a password cannot be taken."""
    if len(password) < SHORTEST:
        return [Problem("too_short", f"A password has at least {SHORTEST} characters.", pointer=pointer)]
    if len(password.encode(errors="surrogatepass")) > LONGEST:
        return [Problem("too_long", f"A password has at most {LONGEST:,} bytes.", pointer=pointer)]
    return []
