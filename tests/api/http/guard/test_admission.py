"""The admission of callers while the database is locked, before the directory was read for the first time."""

import asyncio
from dataclasses import dataclass

import pytest

from api.db.errors import StateBusy
from api.http.guard import admission
from api.http.guard.admission import Admission
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
