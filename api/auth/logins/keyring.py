"""The signing keys of tokens: a ring of files, in which every process sees the next key before it is used.

Each key is `<kid>.json`, readable by its owner only, and never changes. A key signs from its `notBefore` until that of
the next key, and verifies for as long as a token that it signed can be valid.
"""

import base64
import json
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from api.db.errors import StateBroken
from api.db.timestamps import Clock, utc_now
from gitstore.file_lock import hold_lock_file

SECRET_BYTES = 32
SIGNING_PERIOD = timedelta(days=90)


class InvalidKey(StateBroken):
    """An invalid key file; the message says how to fix it."""


class KeysLost(InvalidKey):
    """There is no key. A new one would end all sessions, and would hide that a file system is not mounted."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"There are no signing keys in {directory.name}/ of the data directory. Restore them.")


@dataclass(frozen=True, slots=True)
class Key:
    """One signing key; `not_before` is the Unix time in seconds from which it signs."""

    kid: str
    not_before: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ring:
    """The keys, in the order of their `not_before`."""

    keys: tuple[Key, ...]

    def signing(self, now: datetime) -> Key:
        """Return the key to sign with."""
        begun = [key for key in self.keys if key.not_before <= now.timestamp()]
        return begun[-1] if begun else self.keys[0]

    def find(self, kid: str) -> Key | None:
        """Return the key with this id, from memory alone; None if unknown."""
        return next((key for key in self.keys if key.kid == kid), None)

    def without_retired(self, now: datetime, overlap: timedelta) -> "Ring":
        """Return the ring without the keys whose last signature is older than `overlap`."""
        last_signed = {key.kid: later.not_before for key, later in zip(self.keys, self.keys[1:], strict=False)}
        oldest = (now - overlap).timestamp()
        return Ring(tuple(key for key in self.keys if last_signed.get(key.kid, oldest + 1) > oldest))


class Keyring:
    """The ring of one process; `overlap` is the longest lifetime of a token that it signs."""

    def __init__(self, directory: Path, overlap: timedelta, clock: Clock = utc_now) -> None:
        self._directory = directory
        self._overlap = overlap
        self._clock = clock
        self.ring = Ring(())
        with suppress(KeysLost):  # every request that needs them tries again
            self.reload()

    def reload(self) -> None:
        """Read the keys again, and create the next one if it is missing; InvalidKey leaves the ring unchanged."""
        ring = _read_ring(self._directory)
        if not ring.keys:
            raise KeysLost(self._directory)
        if ring.keys[-1].not_before <= self._clock().timestamp():
            ring = self._extend()
        self.ring = ring.without_retired(self._clock(), self._overlap)

    def _extend(self) -> Ring:
        with hold_lock_file(self._directory / ".lock"):
            ring = _read_ring(self._directory)
            now = self._clock()
            if ring.keys and ring.keys[-1].not_before <= now.timestamp():
                _write_key(self._directory, now + SIGNING_PERIOD)
            self._remove_retired(now)
            return _read_ring(self._directory)

    def _remove_retired(self, now: datetime) -> None:
        ring = _read_ring(self._directory)
        kept = ring.without_retired(now, self._overlap).keys
        for key in ring.keys:
            if key not in kept:
                (self._directory / f"{key.kid}.json").unlink(missing_ok=True)


def create_keys(directory: Path, clock: Clock = utc_now) -> None:
    """Create the folder and its first key, if there is none."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_lock_file(directory / ".lock"):
        if not _read_ring(directory).keys:
            _write_key(directory, clock())


def find_key_fault(path: Path) -> str:
    """Return why the key of a file cannot be used, with the fix; empty for a valid key."""
    try:
        _load_key(path)
    except FileNotFoundError:
        return ""
    except (InvalidKey, OSError) as ex:
        return str(ex)
    return ""


def _read_ring(directory: Path) -> Ring:
    found = (_read_key(path) for path in directory.glob("[!.]*.json"))
    keys = [key for key in found if key is not None]
    return Ring(tuple(sorted(keys, key=lambda key: (key.not_before, key.kid))))


def _read_key(path: Path) -> Key | None:
    """Load the key of a file; None if another process has just removed it."""
    try:
        return _load_key(path)
    except FileNotFoundError:
        return None


def _load_key(path: Path) -> Key:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InvalidKey(f"The key {path} is readable by other users. Fix it with: chmod 600 {path}")
    try:
        found = json.loads(path.read_bytes())
        key = Key(found["kid"], int(found["notBefore"]), base64.b64decode(found["secret"], validate=True))
    except (ValueError, KeyError, TypeError) as ex:
        raise InvalidKey(f"The key {path} cannot be read. Remove it, or restore it from a backup.") from ex
    if len(key.secret) < SECRET_BYTES or key.kid != path.stem:
        raise InvalidKey(f"The key {path} is shorter than {SECRET_BYTES} bytes, or not named after its kid. Remove it.")
    return key


def _write_key(directory: Path, not_before: datetime) -> Key:
    key = Key(secrets.token_hex(8), int(not_before.timestamp()), secrets.token_bytes(SECRET_BYTES))
    shape = {"kid": key.kid, "notBefore": key.not_before, "secret": base64.b64encode(key.secret).decode()}
    draft, path = directory / f".{key.kid}.json", directory / f"{key.kid}.json"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w", encoding="ascii") as stream:
        json.dump(shape, stream)
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(path)
    _sync(directory)  # a file's fsync does not cover its name: https://man7.org/linux/man-pages/man2/fsync.2.html
    return key


def _sync(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
