"""The identity cache of one worker: all tokens, users, grants and sessions in memory, as new as the database.

Requests read it without SQL. One `stat` detects every change made on this machine; once a second the generation number
in the database detects changes made elsewhere. While the database is unavailable, the last good snapshot stays in use:
nothing can be changed meanwhile, and agents still get their rules.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple
from weakref import ReferenceType, ref

from api import logs
from api.auth.logins import jwt_token
from api.auth.logins.jwt_token import TokenUse
from api.auth.logins.keyring import InvalidKey, Keyring
from api.auth.permissions.principal import OPERATOR, Principal, PrincipalKind
from api.auth.permissions.table import IdentitySnapshot, TokenEntry, read_snapshot
from api.auth.tokens import api_token
from api.db.accounts.sessions import live_session_user
from api.db.database import Database
from api.db.errors import StateBroken, StateBusy
from api.db.generation import GenerationFile, Stamp, read_generation
from api.db.timestamps import Clock, dump_time, utc_now
from api.errors import ExpiredToken, Unauthenticated, UnknownSession
from content.cache import LruCache
from gitstore.errors import StoreError

MAX_STALENESS = 1.0  # seconds between two checks of the database for changes made on other machines
_MAX_LEARNED = 10_000
USE_INTERVAL = timedelta(minutes=1)  # shortest time between two records of a token's use

_log = logs.logger("directory")


class AdmittedToken(NamedTuple):
    """An admitted API token; valid only as long as its snapshot, and without keeping the snapshot in memory."""

    table: ReferenceType[IdentitySnapshot]
    entry: TokenEntry


class IdentityCache:
    """A cache that authenticates callers. `authenticate` and `is_fresh` never block; `reload` reads the database."""

    def __init__(
        self,
        reader: Database,
        generation: GenerationFile,
        keyring: Keyring,
        clock: Clock = utc_now,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._generation = generation
        self._keyring = keyring
        self._clock = clock
        self._timer = timer
        self._lock = threading.Lock()
        self._snapshot: IdentitySnapshot | None = None
        self._learned: LruCache[str, int] = LruCache(_MAX_LEARNED)
        """Users of sessions that began after the snapshot was read."""
        self._stamp: Stamp | None = None
        self._checked_at = 0.0
        self._failed_at: float | None = None
        self._is_locked = False
        """True if the last reload failed because another process held the lock of the database."""
        self._uses: dict[int, datetime] = {}
        self._noted: dict[int, datetime] = {}
        self._seen: dict[str, datetime] = {}
        self._noted_sessions: LruCache[str, datetime] = LruCache(_MAX_LEARNED)

    def is_fresh(self) -> bool:
        """Return whether the snapshot is as new as the database; one `stat`."""
        now = self._timer()
        if self._failed_at is not None and now - self._failed_at < MAX_STALENESS:
            return self._snapshot is not None
        return now - self._checked_at < MAX_STALENESS and self._stamp == self._generation.stamp()

    def reload(self) -> None:
        """Reload the snapshot after a change; if that fails, the last good one stays.

        Raises the store error only if there is no snapshot yet.
        """
        with self._lock:
            if not self.is_fresh():
                self._refresh()

    def reload_locked(self) -> None:
        """Reload the snapshot, without a pause, if the database was locked at the last attempt."""
        with self._lock:
            if self._is_locked:
                self._refresh()

    def retry(self) -> None:
        """Let the next request read the database, however short ago a reload failed: its data is back."""
        self._failed_at = None
        self._checked_at = -MAX_STALENESS

    @property
    def edition(self) -> int:
        """The generation number of the snapshot; -1 before the first."""
        return -1 if self._snapshot is None else self._snapshot.number

    @property
    def is_stale(self) -> bool:
        """True if the snapshot may be out of date, since the database could not be read."""
        return self._failed_at is not None

    def authenticate(self, bearer: str) -> Principal:
        """Return the principal of an access token or API token; raises Unauthenticated, without the reason.

        Only the value of an expired API token gets ExpiredToken.
        Raises StateBusy for an unknown one while the database is locked: it may be newer than the snapshot.
        """
        if self._snapshot is None:
            raise StateBroken("Users and tokens have not been read yet.")
        if bearer.startswith(api_token.PREFIX):
            return self._by_api_token(self._snapshot, bearer)
        claims = jwt_token.verify(bearer, TokenUse.ACCESS, self._keyring.ring, self._clock())
        principal = self._snapshot.users.get(claims.user_id)
        user = self._snapshot.sessions.get(claims.session) or self._learned.find(claims.session)
        if principal is None:
            raise self._unknown()
        if user not in {None, claims.user_id}:
            raise Unauthenticated
        if user is None:
            raise UnknownSession(claims.session)
        self._note_session(claims.session)
        return principal.in_session(claims.session)

    def learn(self, session: str) -> None:
        """Look a session up in the database; blocks. Sessions begin all the time, and no snapshot is read for them."""
        while True:
            before = self._snapshot
            with self._reader.reading() as connection:
                user = live_session_user(connection, session, self._clock())
            with self._lock:
                # A session that was revoked in between is not in the new snapshot, and stays unknown.
                if before is self._snapshot:
                    if user is not None:
                        self._learned.put(session, user)
                    return

    def admit(self, value: str) -> AdmittedToken | None:
        """Admit a live API token; None if the value needs the full check, or the snapshot a reload."""
        table = self._snapshot
        if table is None or not self.is_fresh():
            return None
        entry = self._find_live(table, value)
        return None if entry is None else AdmittedToken(ref(table), entry)

    def is_admitted(self, known: AdmittedToken) -> bool:
        """Return whether an admitted token is still valid: the checks of `admit` without the hash."""
        table = self._snapshot
        return table is not None and known.table() is table and self.is_fresh() and self._is_live(known.entry)

    def principal(self, kind: str, number: int | None) -> Principal | None:
        """Return an active user, a live API token, or the operator from the snapshot; None if there is none."""
        if self._snapshot is None:
            raise StateBroken("Users and tokens have not been read yet.")
        if kind == PrincipalKind.OPERATOR:
            return OPERATOR
        if kind == PrincipalKind.USER:
            return self._snapshot.users.get(number or 0)
        entries = (entry for entry in self._snapshot.tokens.values() if entry.id == number)
        return next((entry.principal for entry in entries if not _is_expired(entry, self._clock())), None)

    @property
    def has_uses(self) -> bool:
        """True if a token or session was used since they were last taken."""
        return bool(self._uses or self._seen)

    def take_uses(self) -> dict[int, datetime]:
        """Return the last use of each API token, by id, if it was used since the last call."""
        uses, self._uses = self._uses, {}
        return uses

    def take_seen(self) -> dict[str, datetime]:
        """Return the last use of each session, by its id, if it was used since the last call."""
        seen, self._seen = self._seen, {}
        return seen

    def _note_session(self, session: str) -> None:
        now = self._clock()
        noted = self._noted_sessions.find(session)
        if noted is None or now - noted >= USE_INTERVAL:
            self._seen[session] = now
            self._noted_sessions.put(session, now)

    def _by_api_token(self, table: IdentitySnapshot, value: str) -> Principal:
        if not api_token.is_well_formed(value):
            raise Unauthenticated
        entry = table.tokens.get(api_token.digest(value))
        if entry is None:
            raise self._unknown()
        if not self._is_live(entry) and entry.expires_at:
            raise ExpiredToken(dump_time(entry.expires_at), is_replaced=entry.is_replaced)
        return entry.principal

    def _unknown(self) -> Exception:
        """Return the error for a user or token that is not in the snapshot."""
        if self._is_locked:
            return StateBusy("Users and tokens cannot be read: the database is locked. Try again in a moment.")
        return Unauthenticated()

    def _find_live(self, table: IdentitySnapshot, value: str) -> TokenEntry | None:
        entry = table.tokens.get(api_token.digest(value))
        return entry if entry and self._is_live(entry) else None

    def _is_live(self, entry: TokenEntry) -> bool:
        """Return whether the token has not expired, and record its use."""
        now = self._clock()
        if _is_expired(entry, now):
            return False
        self._note_use(entry.id, now)
        return True

    def _note_use(self, number: int, now: datetime) -> None:
        noted = self._noted.get(number)
        if noted is None or now - noted >= USE_INTERVAL:
            self._noted[number] = self._uses[number] = now

    def _refresh(self) -> None:
        stamp = self._generation.stamp()  # before the database is read, so that no change falls between the two
        begun = self._timer()
        try:
            self._keyring.reload()
            self._replace(self._read())
        except (StoreError, OSError) as ex:
            if self._snapshot is None:
                raise _without_path(ex) from ex
            if self._failed_at is None:
                _log.warning("directory_not_reloaded", exc_info=ex)
            self._failed_at, self._is_locked = self._timer(), isinstance(ex, StateBusy)
            return
        self._stamp, self._checked_at, self._failed_at, self._is_locked = stamp, begun, None, False

    def _replace(self, snapshot: IdentitySnapshot) -> None:
        if snapshot is not self._snapshot:
            self._learned.clear()
            self._snapshot = snapshot

    def _read(self) -> IdentitySnapshot:
        with self._reader.reading() as connection:
            if self._snapshot is not None and self._snapshot.number == read_generation(connection):
                return self._snapshot
            return read_snapshot(connection, self._clock())


def _without_path(ex: Exception) -> Exception:
    """Return the error for a response: the message of an invalid key names its file, which only the log may do."""
    return (
        StateBroken("The signing keys cannot be read; see the log for the reason.")
        if isinstance(ex, InvalidKey)
        else ex
    )


def _is_expired(entry: TokenEntry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now
