"""The sweeper of noted pushes: each one is in the trail once, by the user who owns the note, and what is no note is dropped."""

import os
import pwd
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pytest

from api.app.data_directory import create_data, open_data
from api.app.services import Services, open_services
from api.db.audit import AuditEntry, AuditEvent, AuditFilter, list_entries
from api.db.errors import StateBusy
from api.runtime.upkeep.hook_note_sweeper import HookNoteSweeper, PushReader
from api.settings import Settings
from gitstore.pushes.hook_notes import NoteFolder
from gitstore.pushes.push_notes import push_notes
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA

NEW = "a" * 40
NOTE = {"refs": [["refs/heads/topic", None, NEW]], "more": 0, "accepted": True, "reason": "", "address": "192.0.2.7"}


class Bed:
    """A namespace with a sweeper for each of two workers."""

    def __init__(self, settings: Settings, services: Services) -> None:
        self.store, self.database = Store(settings.data), services.state.database
        self.store.namespaces.create("acme", "", ADA)
        readers = [PushReader(self.database)]
        self.sweepers = [HookNoteSweeper(self.store, readers, open_data(settings)) for _ in range(2)]

    @property
    def notes(self) -> NoteFolder:
        """The notes."""
        return push_notes(self.store.directory.namespace("acme").repository)

    def entries(self) -> Sequence[AuditEntry]:
        """Return the entries of pushes."""
        with self.database.reading() as connection:
            return list_entries(connection, 10, 0, AuditFilter(AuditEvent.PUSH_REQUESTED))[0]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    services = open_services(settings)
    yield Bed(settings, services)
    services.close()


def test_a_push_is_recorded_once_with_who_and_from_where(bed: Bed) -> None:
    bed.notes.write(orjson.dumps(NOTE))
    [name] = bed.notes.list()
    data = (bed.notes.repository / bed.notes.name / name).read_bytes()
    bed.sweepers[0].sweep()
    assert bed.notes.list() == {}
    (bed.notes.repository / bed.notes.name / name).write_bytes(
        data
    )  # as if the first worker had died before the removal
    bed.sweepers[1].sweep()
    [entry] = bed.entries()
    assert (entry.actor.kind, entry.actor.name) == ("operator", pwd.getpwuid(os.geteuid()).pw_name)
    assert (entry.namespace, entry.address) == ("acme", "192.0.2.7")
    assert entry.detail["refs"] == [{"ref": "refs/heads/topic", "old": None, "new": NEW, "outcome": "accepted"}]
    assert "pushedAt" in entry.detail


@pytest.mark.parametrize(
    "change",
    [
        {"refs": [["refs/heads/topic", None, "x"]]},
        {"refs": [["refs/heads/topic", None]]},
        {"refs": 1},
        {"more": -1},
        {"more": True},
        {"accepted": "yes"},
        {"reason": None},
        {"address": []},
    ],
    ids=str,
)
def test_what_no_hook_wrote_is_dropped(bed: Bed, change: dict[str, object]) -> None:
    bed.notes.write(orjson.dumps({**NOTE, **change}))
    bed.notes.write(b"{")
    bed.sweepers[0].sweep()
    assert (bed.entries(), bed.notes.list()) == ([], {})


def test_a_text_that_is_no_address_or_no_ref_is_withheld(bed: Bed) -> None:
    bed.notes.write(orjson.dumps({**NOTE, "address": "mallory", "refs": [["my password", None, NEW]]}))
    bed.sweepers[0].sweep()
    [entry] = bed.entries()
    assert (entry.address, entry.detail["refs"]) == (
        None,
        [{"ref": "(withheld)", "old": None, "new": NEW, "outcome": "accepted"}],
    )


def test_notes_are_removed_also_before_one_that_cannot_be_read_now(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked at again in the next round, which has fewer."""
    for _ in range(3):
        bed.notes.write(orjson.dumps(NOTE))
    first, *others = bed.notes.list()
    read = PushReader.read

    def fail(reader: PushReader, namespace: str, notes: NoteFolder, name: str) -> None:
        if name != first:
            raise StateBusy("The database is busy.")
        read(reader, namespace, notes, name)

    with monkeypatch.context() as patched:
        patched.setattr(PushReader, "read", fail)
        bed.sweepers[0].sweep()
    assert [*bed.notes.list()] == others
    bed.sweepers[0].sweep()
    assert (len(bed.entries()), bed.notes.list()) == (3, {})
