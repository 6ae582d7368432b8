"""Hashes of passwords that tests compute once: most of their accounts have the same one, and each costs 31 ms."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.auth.logins import passwords


class RememberedHashing(passwords.HashingHere):
    """Hashing that computes the same hash and the same verification once: most accounts of tests have `PASSWORD`."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}
        self._verified: dict[tuple[str, str], bool] = {}

    def hash(self, password: str) -> str:
        """Return the hash of a password, the first one that it had."""
        if password not in self._hashes:
            self._hashes[password] = super().hash(password)
        return self._hashes[password]

    def verify(self, stored: str, password: str) -> bool:
        """Return whether a password matches a stored hash."""
        if (stored, password) not in self._verified:
            self._verified[stored, password] = super().verify(stored, password)
        return self._verified[stored, password]


_REMEMBERED = RememberedHashing()


@contextmanager
def hashing_remembered() -> Iterator[None]:
    """Hash at a remembered cost, unless the test hashes in a place of its own."""
    if passwords._places:
        yield
        return
    passwords.hash_elsewhere(_REMEMBERED)
    try:
        yield
    finally:
        passwords.hash_here()
