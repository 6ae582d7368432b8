"""Password hashing and verification with argon2id, in the same time whether or not the account exists."""

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from content.records.problem import Problem

MIN_PASSWORD_LENGTH = 8  # characters
MAX_PASSWORD_BYTES = 1024

# OWASP's minimum for argon2id: about 31 ms here; the library's own default takes 183 ms.
# https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id
_HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$YFWFPwIIEsdpHQ1v3MgFqA$KKP3cLdRtxAUTAsZpjKv3l1UUInAaiTsiIWObxvPHSk"


def hash_password(password: str) -> str:
    """Return the hash to store; takes about 31 ms, so call it in a thread."""
    return _HASHER.hash(password)


def verify_password(password: str, stored: str) -> bool:
    """Return whether a password matches a stored hash; takes about 31 ms."""
    # JSON can contain lone surrogates, which UTF-8 cannot encode: https://www.rfc-editor.org/rfc/rfc8259#section-8.2
    if len(password.encode(errors="surrogatepass")) > MAX_PASSWORD_BYTES:
        return False
    try:
        return _HASHER.verify(stored, password)
    except (Argon2Error, InvalidHashError, UnicodeEncodeError):
        return False


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
