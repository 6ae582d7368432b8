"""The documents of the provider, its configuration and its keys: fetched once for all workers, and seldom again.

What was fetched is in the database, so a restart while the provider is away changes nothing. Requests cannot make the
service fetch more often: all workers and nodes together may ask for one document twice at once, then once a minute.
A document that its check refuses is none: whatever is sent, it replaces no good one.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson

from api.db.accounts import attempts, openid
from api.db.accounts.attempts import Rate
from api.db.accounts.openid import Document
from api.db.state_store import StateStore
from api.db.timestamps import Clock
from api.errors import ApiError
from api.openid.errors import provider_away
from api.openid.provider_client import ProviderClient
from api.runtime.jobs.background import run_in_thread

MAX_AGE = timedelta(hours=1)
_FETCHES = Rate(2, 120.0)
_PAUSE = timedelta(seconds=1)
_OK = 200


Check = Callable[[Mapping[str, Any]], object]
"""A check of a document, which raises ApiError for an invalid one."""


class Fetched(NamedTuple):
    """A document with the time of its fetch."""

    body: Mapping[str, Any]
    fetched_at: datetime


class Documents:
    """The documents as one worker knows them."""

    def __init__(self, state: StateStore, client: ProviderClient, clock: Clock) -> None:
        self._state = state
        self._client = client
        self._clock = clock
        self._known: dict[str, Fetched] = {}
        self._looked_at: dict[str, datetime] = {}
        self._lock = asyncio.Lock()

    def recall(self, url: str, check: Check) -> Fetched | None:
        """Return a document of whatever age that this or another worker fetched, None without one. Blocks."""
        return self._known.get(url) or self._read(url, check)

    async def find(self, url: str, check: Check) -> Fetched:
        """Return a document at most an hour old; an older one while the provider is away, and 503 without one."""
        known = self._known.get(url)
        if known is not None and self._clock() - known.fetched_at < MAX_AGE:
            return known
        return await self.renew(url, self._clock() - MAX_AGE, check)

    async def renew(self, url: str, than: datetime, check: Check) -> Fetched:
        """Return a document that was fetched later than this, if it may be fetched now; else the one that is known."""
        async with self._lock:
            known = self._known.get(url)
            if known is not None and (known.fetched_at > than or self._is_pausing(url)):
                return known
            self._looked_at[url] = self._clock()
            stored = await run_in_thread(self._read, url, check)
            if stored is not None:
                self._known[url] = known = stored
            if known is None or known.fetched_at <= than:
                known = await self._fetch(url, known, check)
            return known

    def _is_pausing(self, url: str) -> bool:
        looked_at = self._looked_at.get(url)
        return looked_at is not None and self._clock() - looked_at < _PAUSE

    async def _fetch(self, url: str, known: Fetched | None, check: Check) -> Fetched:
        try:
            if not await run_in_thread(self._take, url):
                raise provider_away("asked too often")
            answer = await self._client.get(url)
            if answer.status != _OK or not answer.body:
                raise provider_away(f"status {answer.status} without JSON")
            check(answer.body)
        except ApiError:
            if known is None:
                raise
            return known
        self._known[url] = found = Fetched(answer.body, self._clock())
        await run_in_thread(self._store, url, found)
        return found

    def _take(self, url: str) -> bool:
        key, now = openid.document_key(url), self._clock().timestamp()
        with self._state.database.reading() as connection:
            if attempts.seconds_until_free(connection, {key: _FETCHES}, now) > 0.001:  # noqa: PLR2004 - rounding
                return False
        with self._state.database.writing() as connection:
            return attempts.take(connection, {key: _FETCHES}, now)

    def _read(self, url: str, check: Check) -> Fetched | None:
        with self._state.database.reading() as connection:
            row = openid.find_document(connection, url)
        if row is not None:
            found = Fetched(orjson.loads(row.body), row.fetched_at)
            with suppress(ApiError):
                check(found.body)
                return found
        return None

    def _store(self, url: str, found: Fetched) -> None:
        with self._state.database.writing() as connection:
            openid.store_document(connection, url, Document(orjson.dumps(found.body).decode(), found.fetched_at))
