"""The admission of callers: while the database is locked, and again after they waited."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from api.db.errors import StateBusy
from api.errors import Unauthenticated
from api.http.guard import admission
from api.http.guard.access import Access, Audience
from api.http.guard.admission import Admission, AdmittedCaller
from api.http.request.caller_access import check_again
from tests.api.fakes import FakeDirectory, FakePrincipal

AGENT = FakePrincipal("agent")


@dataclass
class LockedDirectory(FakeDirectory):
    """A directory whose next reloads meet a locked database."""

    locked: int = 0

    def reload(self) -> None:
        """Fail as the first reload does, as long as there is a lock."""
        if self.locked:
            self.locked -= 1
            raise StateBusy("The database is locked.")
        super().reload()


def test_a_caller_waits_for_the_first_directory() -> None:
    """Guard: just after a start, a lock of 0.2 seconds was 503 for everybody."""
    directory = LockedDirectory({"token": AGENT}, stale=1, locked=3)
    assert asyncio.run(Admission(directory).authenticate("token")) is AGENT
    assert directory.locked == 0


def test_a_lock_that_stays_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_PATIENCE", 0.1)
    directory = LockedDirectory({"token": AGENT}, stale=1, locked=1_000)
    with pytest.raises(StateBusy):
        asyncio.run(Admission(directory).authenticate("token"))


def test_a_caller_is_asked_again_after_a_wait_however_short() -> None:
    """Guard: a poll whose access ended just before a publish was answered with the new version."""
    directory = FakeDirectory({"token": AGENT})
    caller = AdmittedCaller(Admission(directory), "token", Access(Audience.ANY_PRINCIPAL), "acme", "shop")
    req: Any = SimpleNamespace(context=SimpleNamespace(caller=caller))

    async def wait() -> None:
        await caller.check()
        del directory.tokens["token"]
        await check_again(req, caller.admitted_at)  # a request that does not wait is not asked twice
        with caller.watch():
            pass
        await check_again(req, caller.admitted_at)

    with pytest.raises(Unauthenticated):
        asyncio.run(wait())
