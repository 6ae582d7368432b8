"""The removal of old rows of the audit trail: the rest verifies from a checkpoint on, which no one without the key can make."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, select, text

from api.app.audit_keys import load_checkpoint_keys
from api.db.audit import Actor, AuditEntry, AuditEvent, find_token_owners, record
from api.db.audit_chain import Link, read_head
from api.db.audit_check import ChainReport, check_chain
from api.db.audit_checkpoints import Checkpoint, CheckpointKeys, add_checkpoint, list_checkpoints
from api.db.audit_export import export_lines
from api.db.state_store import StateStore, open_state_store
from api.db.tables import audit
from api.runtime.upkeep.audit_pruner import AuditPruner
from api.settings import Settings
from tests.api.signing import make_key, public_key
from tests.postgres import running_postgres

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAYS = 30
ADA = Actor("user", 1, "ada")
PRUNER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from api.app.audit_keys import load_checkpoint_keys
from api.db import audit_pruning
from api.db.database import Database
from api.runtime.upkeep.audit_pruner import AuditPruner
from api.settings import Settings
audit_pruning._BATCH = 7
settings = Settings(signing_key=Path(sys.argv[2]))
pruner = AuditPruner(Database(sys.argv[1], 30.0), lambda: load_checkpoint_keys(settings), lambda: datetime.now(UTC), 30)
print("ready", flush=True)
while pruner.remove() or "wait" in sys.argv:
    print("round", flush=True)
"""
WRITER = """
import sys
from datetime import UTC, datetime
from api.db.audit import Actor, AuditEntry, AuditEvent, record
from api.db.database import Database
database = Database(sys.argv[1], 30.0)
for number in range(40):
    with database.writing() as connection:
        record(connection, AuditEntry(datetime.now(UTC), AuditEvent.LOGIN, Actor("user", 1, "new"), str(number)))
"""


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateStore]:
    found = open_state_store(tmp_path)
    yield found
    found.close()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path / "signing_key")


def add(state: StateStore, *ages: float, now: datetime = NOW) -> None:
    """Add a row for each age in days, in one transaction."""
    with state.database.writing() as connection:
        for age in ages:
            record(connection, AuditEntry(now - timedelta(days=age), AuditEvent.LOGIN, ADA, f"{age}"))


def keys(key: Path | None, *others: Path) -> CheckpointKeys:
    return load_checkpoint_keys(Settings(signing_key=key, public_keys=others))


def prune(state: StateStore, key: Path | None, *others: Path, now: datetime = NOW) -> int:
    """Remove what is due, and return the number of batches."""
    pruner = AuditPruner(state.database, lambda: keys(key, *others), lambda: now, DAYS)
    batches = 0
    while pruner.remove():
        batches += 1
    return batches


def check(state: StateStore, key: Path | None, *seen: Link, others: tuple[Path, ...] = ()) -> ChainReport:
    with state.database.snapshot() as connection:
        return check_chain(connection, keys(key, *others), seen)


def subjects(state: StateStore) -> list[str]:
    with state.database.reading() as connection:
        return [row.subject for row in connection.execute(text("SELECT subject FROM audit ORDER BY id"))]


def change(state: StateStore, statement: str) -> None:
    with state.database.writing() as connection:
        assert connection.execute(text(statement)).rowcount > 0


def head(state: StateStore) -> Link:
    with state.database.reading() as connection:
        return read_head(connection)


def test_rows_of_whole_days_before_the_lifetime_go_and_a_signed_checkpoint_stays(state: StateStore, key: Path) -> None:
    add(state, 90, 31, 30.6, 30.4, 30, 1)  # a day of UTC began 30.5 days ago
    before = head(state)
    assert prune(state, key) == 1
    assert subjects(state) == ["30.4", "30", "1"]
    found = check(state, key, before)
    [checkpoint] = found.checkpoints
    assert (found.faults, found.notes, found.rows, found.head) == ((), (), 3, before)
    assert (checkpoint.number, checkpoint.count, checkpoint.at) == (3, 3, NOW)
    assert prune(state, key) == 0  # until the next day
    assert prune(state, key, now=NOW + timedelta(hours=12)) == 1
    add(state, 0)
    found = check(state, key)
    assert (found.faults, found.rows, len(found.checkpoints)) == ((), 2, 2)


def test_an_old_row_after_a_later_one_stays_until_that_one_goes(state: StateStore, key: Path) -> None:
    """Guard: the time of some rows comes from elsewhere; one that is far in the past takes no others with it."""
    add(state, 40, 1, 9_000, 40)
    prune(state, key)
    assert subjects(state) == ["1", "9000", "40"]


def test_a_trail_may_be_removed_as_a_whole_and_goes_on(state: StateStore, key: Path) -> None:
    add(state, 40, 40)
    prune(state, key)
    assert (check(state, key).faults, check(state, key).rows) == ((), 0)
    add(state, 0)
    assert (check(state, key).faults, check(state, key).rows) == ((), 1)


def test_more_than_a_batch_goes_in_several(state: StateStore, key: Path) -> None:
    add(state, *[40] * 2500, 1)
    assert prune(state, key) == 3
    found = check(state, key)
    assert (found.faults, [each.count for each in found.checkpoints]) == ((), [1000, 1000, 500])


MANIPULATIONS = {
    "removed": ("DELETE FROM audit_checkpoints WHERE number = 4", "Rows are missing or were added before row 5"),
    "all removed": ("DELETE FROM audit_checkpoints", "Rows are missing or were added before row 5"),
    "earlier one removed": ("DELETE FROM audit_checkpoints WHERE number = 2", "one was removed or changed"),
    "earlier one changed": ("UPDATE audit_checkpoints SET count = 3 WHERE number = 2", "one was removed or changed"),
    "moved": ("UPDATE audit_checkpoints SET number = 5 WHERE number = 4", "no valid signature"),
    "another hash": (
        "UPDATE audit_checkpoints SET hash = substr(hash, 2) || '0' WHERE number = 4",
        "no valid signature",
    ),
    "another time": ("UPDATE audit_checkpoints SET at = '2020-01-01 00:00:00.000000' WHERE number = 4", "no valid sig"),
    "no signature": (
        "UPDATE audit_checkpoints SET signature = '' WHERE number = 4",
        "is not signed, and an earlier one is",
    ),
    "another signature": ("UPDATE audit_checkpoints SET signature = 'AAAA' WHERE number = 4", "no valid signature"),
    "another key": ("UPDATE audit_checkpoints SET \"key\" = 'x' WHERE number = 4", "no valid signature"),
}


@pytest.mark.parametrize("statement", MANIPULATIONS.values(), ids=MANIPULATIONS)
def test_a_manipulated_checkpoint_shows(state: StateStore, key: Path, statement: tuple[str, str]) -> None:
    add(state, 40, 40, 30, 30, 29, 0)
    prune(state, key)
    prune(state, key, now=NOW + timedelta(days=1))
    assert check(state, key).faults == ()
    change(state, statement[0])
    assert statement[1] in " ".join(check(state, key).faults)


def forge(state: StateStore, number: int, key: CheckpointKeys) -> None:
    """Remove rows and make a checkpoint, as someone with write access to the database can."""
    with state.database.writing() as connection:
        digest = connection.execute(select(audit.c.hash).where(audit.c.id == number)).scalar_one()
        connection.execute(delete(audit).where(audit.c.id <= number))
        add_checkpoint(connection, key.sign(Checkpoint(number, digest, number, NOW)))


def test_a_forged_checkpoint_shows_where_there_is_a_key(state: StateStore, key: Path, tmp_path: Path) -> None:
    add(state, 3, 2, 1, 0)
    forge(state, 2, keys(None))
    assert "is not signed, and there is a key" in " ".join(check(state, key).faults)
    assert "does not prove" in " ".join(check(state, None).notes)
    change(state, "DELETE FROM audit_checkpoints")
    forge(state, 3, keys(make_key(tmp_path / "other")))
    assert "has no valid signature by a key" in " ".join(check(state, key).faults)
    add(state, 0)
    assert prune(state, key, now=NOW + timedelta(days=60)) == 0  # the evidence stays


def test_without_a_key_the_checkpoint_says_what_it_does_not_prove(state: StateStore, key: Path) -> None:
    add(state, 40, 30, 0)
    prune(state, None)
    found = check(state, None)
    assert (found.faults, found.checkpoints[0].signature) == ((), "")
    assert "it does not prove that the service removed the rows" in found.notes[0]
    prune(state, key, now=NOW + timedelta(days=1))  # a key that came later
    found = check(state, key)
    assert (found.faults, len(found.notes)) == ((), 1)
    change(state, "UPDATE audit_checkpoints SET count = 2 WHERE number = 1")
    assert "one was removed or changed" in check(state, key).faults[0]


def test_a_former_key_verifies_while_it_is_in_public_keys(state: StateStore, key: Path, tmp_path: Path) -> None:
    add(state, 40, 30, 0)
    prune(state, key)
    new, former = make_key(tmp_path / "new"), public_key(key)
    assert prune(state, new, now=NOW + timedelta(days=1)) == 0
    assert prune(state, new, former, now=NOW + timedelta(days=1)) == 1
    assert "no valid signature" in check(state, new).faults[0]
    assert check(state, new, others=(former,)).faults == ()
    assert check(state, None, others=(former, public_key(new))).faults == ()


def test_rows_that_were_changed_are_not_removed(state: StateStore, key: Path) -> None:
    add(state, 40, 40, 40, 0)
    change(state, "UPDATE audit SET subject = 'x' WHERE id = 2")
    assert prune(state, key) == 0
    assert len(subjects(state)) == 4


def test_a_noted_row_that_was_removed_is_no_fault(state: StateStore, key: Path) -> None:
    add(state, 40)
    noted = head(state)
    add(state, 40)
    last = head(state)
    add(state, 0)
    prune(state, key)
    found = check(state, key, noted, last)
    assert found.faults == ()
    assert found.notes == ("Row 1, which was noted, was removed with age: it cannot be compared.",)
    assert "rewritten" in check(state, key, last._replace(hash="0" * 64)).faults[0]


def test_the_export_continues_from_its_checkpoints(state: StateStore, key: Path) -> None:
    add(state, 40, 30, 1, 0)
    prune(state, key)
    prune(state, key, now=NOW + timedelta(days=1))
    with state.database.snapshot() as connection:
        first, second, third, fourth, last = map(json.loads, export_lines(connection))
    assert [first["checkpoint"]["number"], second["checkpoint"]["number"]] == [1, 2]
    assert third["previous"] == second["checkpoint"]["hash"]
    assert (third["id"], fourth["id"], last["head"]["number"]) == (3, 4, 4)


def test_who_saw_a_token_is_known_after_its_entry_is_gone(state: StateStore, key: Path) -> None:
    """Guard: no one approves a change that a token made whose value they have seen, however long ago."""
    at = NOW - timedelta(days=40)
    with state.database.writing() as connection:
        record(connection, AuditEntry(at, AuditEvent.TOKEN_CREATED, ADA, "ci", {"id": 7, "grants": []}))
    prune(state, key)
    assert subjects(state) == []
    with state.database.reading() as connection:
        assert find_token_owners(connection, [7]) == {7: {1}}


def start(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def race(state: StateStore, url: str, key: Path) -> None:
    """Let two nodes remove rows while another writes, kill one amid its work, and check the trail meanwhile."""
    now, old, batch = datetime.now(UTC), 210, 7
    add(state, *[40] * old, 1, now=now)
    killed = start(PRUNER, url, str(key), "wait")
    assert killed.stdout is not None
    for _ in range(4):
        killed.stdout.readline()
    others = [start(PRUNER, url, str(key)), start(PRUNER, url, str(key)), start(WRITER, url)]
    for _ in range(5):
        assert check(state, key).faults == ()
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    for other in others:
        other.communicate(timeout=300)
        assert other.returncode == 0
    prune(state, key, now=now)
    found = check(state, key)
    assert (found.faults, found.rows, sum(each.count for each in found.checkpoints)) == ((), 41, old)
    assert {each.count for each in found.checkpoints[:3]} == {batch}


def test_processes_at_once_remove_each_row_once(state: StateStore, tmp_path: Path, key: Path) -> None:
    race(state, f"sqlite:///{tmp_path / 'waypost.db'}", key)


@pytest.mark.usefixtures("postgres_programs")
def test_nodes_on_one_postgres_remove_each_row_once(tmp_path: Path, key: Path) -> None:
    with running_postgres() as postgres:
        url = postgres.database()
        state = open_state_store(tmp_path, url)
        race(state, url, key)
        with state.database.reading() as connection:
            assert list_checkpoints(connection) == list(check(state, key).checkpoints)
        state.close()


@pytest.mark.usefixtures("postgres_programs")
def test_the_removal_waits_for_no_writer_of_the_trail(tmp_path: Path, key: Path) -> None:
    """A transaction that holds the head of the chain does not hold up the removal, nor the other way round."""
    with running_postgres() as postgres:
        state = open_state_store(tmp_path, postgres.database())
        add(state, 40, 40, 0)
        with state.database.writing() as connection:
            connection.execute(text("SELECT * FROM audit_head FOR UPDATE"))
            assert prune(state, key) == 1
        assert check(state, key).faults == ()
        state.close()
