"""The hash chain of the audit trail: every manipulation shows, and writers at once never fork it."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from api.db.audit import Actor, AuditEntry, AuditEvent, has_entry, record
from api.db.audit_chain import Link, dump_body, hash_body, read_head, read_rows
from api.db.audit_check import ChainReport, check_chain
from api.db.audit_checkpoints import CheckpointKeys
from api.db.audit_repeats import Repeat, add_repeats, close_minutes
from api.db.state_store import StateStore, open_state_store
from tests.postgres import running_postgres

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ADA = Actor("user", 1, "ada")
WRITER = """
import sys
from datetime import UTC, datetime
from api.db.audit import Actor, AuditEntry, AuditEvent, has_entry, record
from api.db.database import Database
database = Database(sys.argv[1], 30.0)
number = 0
while number < int(sys.argv[3]):
    with database.writing() as connection:
        record(connection, AuditEntry(datetime.now(UTC), AuditEvent.LOGIN, Actor("user", 1, sys.argv[2]), str(number)))
    number += 1
    print(number, flush=True)
"""


@pytest.fixture
def state(tmp_path: Path) -> StateStore:
    return open_state_store(tmp_path)


def add(state: StateStore, *subjects: str) -> None:
    for subject in subjects:
        with state.database.writing() as connection:
            record(connection, AuditEntry(AT, AuditEvent.LOGIN, ADA, subject, {"a": [1, "\0é\ud800"]}))


def check(state: StateStore, *seen: Link) -> ChainReport:
    with state.database.reading() as connection:
        return check_chain(connection, CheckpointKeys(), seen)


def change(state: StateStore, statement: str) -> None:
    with state.database.writing() as connection:
        connection.execute(text(statement))


def head(state: StateStore) -> Link:
    with state.database.reading() as connection:
        return read_head(connection)


def test_an_untouched_trail_is_intact(state: StateStore) -> None:
    assert check(state).faults == ()
    add(state, "a", "b", "c")
    assert check(state) == ChainReport((), 3, head(state))


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE audit SET subject = 'x' WHERE id = 2", "Row 2 was changed"),
        ("UPDATE audit SET at = '2026-11-20 12:00:00.000001' WHERE id = 2", "Row 2 was changed"),
        ("UPDATE audit SET count = 2 WHERE id = 1", "Row 1 was changed"),
        ("DELETE FROM audit WHERE id = 2", "Rows are missing or were added before row 3"),
        ("DELETE FROM audit WHERE id = 1", "Rows are missing or were added before row 2"),
        ("DELETE FROM audit WHERE id = 3", "The end is cut off"),
        ("DELETE FROM audit", "The end is cut off"),
        ("UPDATE audit SET id = 9 WHERE id = 2", "Row 9 was changed"),
        ("UPDATE audit SET token_id = 0, token_name = 'x' WHERE id = 2", "Row 2 was changed"),
        ("UPDATE audit SET token_name = 'x' WHERE id = 2", "Row 2 was changed"),
        ("UPDATE audit SET id = -5 WHERE id = 2", "Row -5 was changed"),
        ("UPDATE audit SET id = 0 WHERE id = 1", "Row 0 was changed"),
        ("UPDATE audit SET detail = '{' WHERE id = 2", "A row after row"),
        ("UPDATE audit SET at = 'never' WHERE id = 2", "A row after row"),
        ("UPDATE audit SET subject = x'00' WHERE id = 2", "A row after row"),
        ("DELETE FROM audit_head", "The head of the chain is missing"),
        ("INSERT INTO audit_head (id, number, hash) VALUES (2, 1, 'x')", "or there are two"),
    ],
)
def test_a_manipulation_shows(state: StateStore, statement: str, fault: str) -> None:
    add(state, "a", "b", "c")
    change(state, statement)
    assert fault in " ".join(check(state).faults)


def test_a_trail_that_was_rewritten_differs_from_a_noted_head(state: StateStore, tmp_path: Path) -> None:
    add(state, "a", "b")
    noted = head(state)
    assert check(state, noted).faults == ()
    (tmp_path / "other").mkdir()
    other = open_state_store(tmp_path / "other")
    add(other, "a")
    assert "which was noted, is missing" in check(other, noted).faults[0]
    add(other, "x", "c")
    assert "rewritten" in check(other, noted).faults[0]


def test_a_noted_row_that_was_taken_out_shows_though_all_hashes_were_computed_again(state: StateStore) -> None:
    add(state, "a", "b")
    noted = head(state)
    add(state, "c")
    with state.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM audit WHERE id = 2")
        first, last = read_rows(connection)
        body = dump_body(last) | {"previous": first["hash"]}
        found = hash_body(body)
        connection.exec_driver_sql("UPDATE audit SET previous = ?, hash = ? WHERE id = 3", (first["hash"], found))
        connection.exec_driver_sql("UPDATE audit_head SET hash = ?", (found,))
    assert check(state).faults == ()
    assert check(state, noted).faults == ("Row 2, which was noted, is missing: the chain was rewritten.",)


def test_two_notes_of_one_row_must_be_the_same(state: StateStore) -> None:
    add(state, "a")
    noted = head(state)
    assert "noted with two hashes" in check(state, noted, Link(noted.number, "0" * 64)).faults[0]


def fail_after_record(state: StateStore) -> None:
    with state.database.writing() as connection:
        record(connection, AuditEntry(AT, AuditEvent.LOGIN, ADA, "b"))
        raise RuntimeError


def test_a_failed_transaction_leaves_no_row(state: StateStore) -> None:
    add(state, "a")
    with pytest.raises(RuntimeError):
        fail_after_record(state)
    add(state, "c")
    assert (check(state).faults, check(state).rows) == ((), 2)


def test_like_refusals_of_a_minute_are_one_row_with_a_count(state: StateStore) -> None:
    refusal = Repeat(AuditEvent.LOGIN_FAILED, ADA, "", "192.0.2.1", "POST", "/auth/login", 401, "invalid_credentials")
    for counts in ({refusal: 3}, {refusal: 4, refusal._replace(address="192.0.2.2"): 1}):
        with state.database.writing() as connection:
            add_repeats(connection, AT, counts)
    with state.database.writing() as connection:
        assert close_minutes(connection, AT.replace(minute=1, second=4)) == 0
        assert close_minutes(connection, AT.replace(minute=1, second=5)) == 2
    with state.database.reading() as connection:
        rows = connection.execute(text("SELECT address, count FROM audit ORDER BY address")).all()
    assert [tuple(row) for row in rows] == [("192.0.2.1", 7), ("192.0.2.2", 1)]
    assert check(state).faults == ()


def start(url: str, name: str, rows: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", WRITER, url, name, str(rows)], stdout=subprocess.PIPE, text=True)


def race(state: StateStore, url: str) -> None:
    """Let four processes write, kill one of them amid its work, and check that each reported row is there."""
    writers = [start(url, f"writer{number}", 60) for number in range(3)]
    killed = start(url, "killed", 100_000)
    assert killed.stdout is not None
    reported = [killed.stdout.readline() for _ in range(20)]
    os.kill(killed.pid, signal.SIGKILL)
    reported += killed.stdout.readlines()
    killed.wait()
    killed.stdout.close()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    counts = count_rows(state)
    assert [counts[f"writer{number}"] for number in range(3)] == [60, 60, 60]
    assert counts["killed"] - len([line for line in reported if line.endswith("\n")]) in {0, 1}
    assert (check(state).faults, check(state).rows) == ((), sum(counts.values()))


def count_rows(state: StateStore) -> dict[str, int]:
    with state.database.reading() as connection:
        found = connection.execute(text("SELECT actor_name, count(*) AS number FROM audit GROUP BY actor_name"))
        return {row.actor_name: row.number for row in found}


def test_processes_at_once_neither_fork_the_chain_nor_lose_rows(state: StateStore, tmp_path: Path) -> None:
    race(state, f"sqlite:///{tmp_path / 'waypost.db'}")


@pytest.mark.usefixtures("postgres_programs")
def test_nodes_on_one_postgres_neither_fork_the_chain_nor_lose_rows(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        url = postgres.database()
        state = open_state_store(tmp_path, url)
        race(state, url)
        state.close()


def test_an_entry_is_found_by_its_request_in_a_long_trail_as_in_a_short_one(state: StateStore) -> None:
    """Guard: each push by path or SSH is looked up under the lock of all writers, among all pushes before it."""
    with state.database.writing() as connection:
        for number in range(500):
            record(connection, AuditEntry(AT, AuditEvent.PUSH_REQUESTED, ADA, "acme", request=f"push-{number}"))
    steps = list[int]()
    with state.database.reading() as connection:
        driver = connection.connection.driver_connection
        assert driver
        driver.set_progress_handler(lambda: steps.append(1), 1)
        found = [has_entry(connection, AuditEvent.PUSH_REQUESTED, f"push-{number}") for number in (0, 499, 500)]
        driver.set_progress_handler(None, 1)
    assert found == [True, True, False]
    assert len(steps) < 300
