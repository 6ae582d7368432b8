"""The directory of one worker: every token, user and grant in memory, as new as the state behind it.

A request asks it without SQL. One `stat` tells of every change on this machine; once a second the number
in the database tells of changes elsewhere. While the database is away the last good table goes on
serving: nothing can be changed then either, and agents keep getting their rules.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple
from weakref import ReferenceType, ref

from api import logs
from api.errors import Unauthenticated
from api.identity import api_token, jwt_token
from api.identity.jwt_token import TokenUse
from api.identity.keyring import KeyRefused, Keyring
from api.identity.principal import OPERATOR, Principal, PrincipalKind
from api.identity.table import Entry, Table, read_table
from api.state.database import Database
from api.state.errors import StateBroken
from api.state.generation import GenerationFile, Stamp, read_generation
from api.state.moment import Clock, utc_now
from gitstore.errors import StoreError

FLOOR = 1.0
"""Seconds after which the database is asked whether there was a change that the file does not tell of."""

USE_INTERVAL = timedelta(minutes=1)
"""How often the last use of a token is noted."""

_log = logs.logger("directory")


class Pass(NamedTuple):
    """An API token that was admitted; it holds no longer than the table in which it was found, and does not keep that."""

    table: ReferenceType[Table]
    entry: Entry


class Directory:
    """Tells who is calling. `authenticate` and `fresh` never block; `reload` asks the database."""

    def __init__(
        self,
        reader: Database,
        generation: GenerationFile,
        keyring: Keyring,
        clock: Clock = utc_now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._generation = generation
        self._keyring = keyring
        self._clock = clock
        self._steady = steady
        self._lock = threading.Lock()
        self._table: Table | None = None
        self._stamp: Stamp | None = None
        self._looked_at = 0.0
        self._failed_at: float | None = None
        self._uses: dict[int, datetime] = {}
        self._noted: dict[int, datetime] = {}

    def fresh(self) -> bool:
        """Tell whether the table is as new as the state behind it; one `stat`."""
        now = self._steady()
        if self._failed_at is not None and now - self._failed_at < FLOOR:
            return self._table is not None
        return now - self._looked_at < FLOOR and self._stamp == self._generation.stamp()

    def reload(self) -> None:
        """Take over what has changed; while that fails the last good table stays.

        Raises the store error only where there was never a table.
        """
        with self._lock:
            if not self.fresh():
                self._look()

    @property
    def trouble(self) -> str | None:
        """Why the table may be out of date, for a readiness check; None where it is not."""
        return None if self._failed_at is None else "The database of users and tokens cannot be read."

    def authenticate(self, bearer: str) -> Principal:
        """The principal of an access token or API token; raises Unauthenticated, without telling why."""
        if self._table is None:
            raise StateBroken("Users and tokens have not been read yet.")
        if bearer.startswith(api_token.PREFIX):
            return self._by_api_token(self._table, bearer)
        claims = jwt_token.verify(bearer, TokenUse.ACCESS, self._keyring.ring, self._clock())
        principal = self._table.users.get(claims.user_id)
        if principal is None or claims.session in self._table.revoked:
            raise Unauthenticated
        return principal.in_session(claims.session)

    def admit(self, value: str) -> Pass | None:
        """A pass for a live API token; None for anything that needs a second look, or a reload first."""
        table = self._table
        if table is None or not self.fresh():
            return None
        entry = self._live(table, value)
        return None if entry is None else Pass(ref(table), entry)

    def admits(self, known: Pass) -> bool:
        """Tell whether a token that was admitted before still is: all that `admit` looks at, without its hash."""
        table = self._table
        return table is not None and known.table() is table and self.fresh() and self._lives(known.entry)

    def principal(self, kind: str, number: int | None) -> Principal | None:
        """An active user, a live API token, or the operator, as the table has them; None for whoever is none of these."""
        if self._table is None:
            raise StateBroken("Users and tokens have not been read yet.")
        if kind == PrincipalKind.OPERATOR:
            return OPERATOR
        if kind == PrincipalKind.USER:
            return self._table.users.get(number or 0)
        entries = (entry for entry in self._table.tokens.values() if entry.principal.id == number)
        return next((entry.principal for entry in entries if not _is_over(entry, self._clock())), None)

    def take_uses(self) -> dict[int, datetime]:
        """When API tokens were last used, by id, of those that were used since the last call."""
        uses, self._uses = self._uses, {}
        return uses

    def _by_api_token(self, table: Table, value: str) -> Principal:
        entry = self._live(table, value) if api_token.is_well_formed(value) else None
        if entry is None:
            raise Unauthenticated
        return entry.principal

    def _live(self, table: Table, value: str) -> Entry | None:
        entry = table.tokens.get(api_token.digest(value))
        return entry if entry and self._lives(entry) else None

    def _lives(self, entry: Entry) -> bool:
        """Tell whether the token has not expired, and note that it is used."""
        now = self._clock()
        if _is_over(entry, now):
            return False
        self._note_use(entry.principal.id, now)
        return True

    def _note_use(self, number: int, now: datetime) -> None:
        noted = self._noted.get(number)
        if noted is None or now - noted >= USE_INTERVAL:
            self._noted[number] = self._uses[number] = now

    def _look(self) -> None:
        stamp = self._generation.stamp()  # before the database is read, so that no change falls between the two
        begun = self._steady()
        try:
            self._keyring.reload()
            self._table = self._read()
        except (StoreError, KeyRefused, OSError) as ex:
            if self._table is None:
                raise
            if self._failed_at is None:
                _log.warning("directory_not_reloaded", exc_info=ex)
            self._failed_at = self._steady()
            return
        self._stamp, self._looked_at, self._failed_at = stamp, begun, None

    def _read(self) -> Table:
        with self._reader.reading() as connection:
            if self._table is not None and self._table.number == read_generation(connection):
                return self._table
            return read_table(connection, self._clock())


def _is_over(entry: Entry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now
