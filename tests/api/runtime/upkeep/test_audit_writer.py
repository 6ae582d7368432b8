"""The audit writer: changes wait for their entries within bounds, refusals do not fill the trail, and lost entries are reported."""

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from api import logs
from api.db.audit import ANONYMOUS, Actor, AuditEntry, AuditEvent, AuditFilter, list_entries
from api.db.audit_repeats import MOST_KINDS, MOST_OF_ADDRESS, Repeat, add_repeats, minute_of
from api.db.state_store import StateStore, open_state_store
from api.runtime.upkeep import audit_writer
from api.runtime.upkeep.audit_writer import AuditWriter

AT = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
ADA = Actor("user", 1, "ada")
REFUSAL = Repeat(AuditEvent.REFUSED, ANONYMOUS, "", "192.0.2.1", "GET", "/api/audit", 401, "unauthenticated")
ENTRY = AuditEntry(AT, AuditEvent.PUSH_REQUESTED, ADA, "acme")
MINUTE = timedelta(minutes=1, seconds=5)


class Trail:
    """A trail with two writers, as of two workers, and a clock."""

    def __init__(self, state: StateStore) -> None:
        self.state, self.at, self.lost = state, AT, 0
        self.writer, self.other = self.open(), self.open()

    def open(self) -> AuditWriter:
        """Open a writer."""
        writer = AuditWriter(self.state.database, lambda: self.at)
        writer.count_lost = self._lose
        return writer

    def _lose(self, count: int) -> None:
        self.lost += count

    def entries(self, event: str) -> list[AuditEntry]:
        """Return the entries of an event, oldest first, once the minute has passed."""
        self.at += MINUTE
        self.writer.write()
        with self.state.database.reading() as connection:
            return list_entries(connection, 1_000_000, 0, AuditFilter(event))[0][::-1]

    def run(self, statement: str) -> None:
        """Run an SQL statement."""
        with self.state.database.writing() as connection:
            connection.execute(text(statement))


@pytest.fixture
def trail(tmp_path: Path) -> Iterator[Trail]:
    with closing(open_state_store(tmp_path)) as state:
        yield Trail(state)


def kinds(number: int, refusal: Repeat = REFUSAL) -> Iterator[Repeat]:
    """Yield refusals of this many kinds."""
    for at in range(number):
        yield refusal._replace(address=f"192.0.{at // 250}.{at % 250}")


def test_beyond_the_most_kinds_of_a_minute_the_rest_is_one_row(trail: Trail) -> None:
    """Also of several workers, and in rounds of a second; the refusals of others are not among the rest."""
    of_ada = REFUSAL._replace(actor=ADA)
    for _ in range(3):  # seconds
        for refusal in kinds(MOST_KINDS + 50):
            trail.writer.count(refusal)
            trail.other.count(refusal._replace(route="/api/users"))
        trail.writer.count(of_ada)
        trail.writer.write()
        trail.other.write()
    found = trail.entries(AuditEvent.REFUSED)
    anonymous = [each for each in found if each.actor == ANONYMOUS]
    rest = [each for each in anonymous if each.detail == {"error": "too_many_kinds"}]
    assert [each.count for each in anonymous if each not in rest] == [3] * MOST_KINDS
    assert [(each.count, each.address) for each in rest] == [(3 * 2 * (MOST_KINDS + 50) - 3 * MOST_KINDS, None)]
    assert [(each.actor, each.count, each.address) for each in found if each not in anonymous] == [
        (ADA, 3, "192.0.2.1")
    ]


def test_the_row_of_the_rest_takes_the_place_of_no_kind(trail: Trail) -> None:
    """Another worker may have written it first."""
    minute = minute_of(trail.at)
    for counted in ([REFUSAL.overflow()], kinds(MOST_KINDS // 2), [*kinds(MOST_KINDS + 1), REFUSAL.overflow()]):
        with trail.state.database.writing() as connection:
            add_repeats(connection, minute, dict.fromkeys(counted, 1))
    found = trail.entries(AuditEvent.REFUSED)
    rest = [each.count for each in found if each.detail == {"error": "too_many_kinds"}]
    assert (len(found) - len(rest), rest) == (MOST_KINDS, [3])


def test_a_noisy_address_hides_no_other(trail: Trail) -> None:
    """Also of several workers, and in rounds of a second: its rest is a row with its address."""
    noisy = [REFUSAL._replace(address="192.0.2.9", route=f"/{number}") for number in range(2 * MOST_KINDS)]
    for _ in range(2):  # seconds
        for refusal in noisy:
            trail.writer.count(refusal)
            trail.other.count(refusal._replace(method="PUT"))
        trail.other.count(REFUSAL)
        trail.writer.write()
        trail.other.write()
    found = trail.entries(AuditEvent.REFUSED)
    [rest] = [each for each in found if each.detail == {"error": "too_many_kinds"}]
    own = [each.count for each in found if each.address == rest.address and each is not rest]
    assert (rest.address, own) == ("192.0.2.9", [2] * MOST_OF_ADDRESS)
    assert rest.count == 2 * 2 * len(noisy) - sum(own)
    assert [each.count for each in found if each.address == REFUSAL.address] == [2]


def test_refusals_do_not_hide_failed_logins_or_those_of_the_next_minute(trail: Trail) -> None:
    for refusal in kinds(MOST_KINDS + 1):
        trail.writer.count(refusal)
    trail.writer.count(REFUSAL._replace(event=AuditEvent.LOGIN_FAILED, subject="ada"))
    assert [each.subject for each in trail.entries(AuditEvent.LOGIN_FAILED)] == ["ada"]
    trail.writer.count(REFUSAL)
    assert trail.entries(AuditEvent.REFUSED)[-1].detail["route"] == REFUSAL.route


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("2001:db8:0:7:1:2:3:4", "2001:db8:0:7::/64"),
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("::1", "::1"),
        ("unix", "unix"),
        (None, None),
    ],
)
def test_unknown_callers_are_counted_by_their_network(address: str | None, counted: str | None) -> None:
    refusal = REFUSAL._replace(address=address)
    assert refusal.from_network().address == counted
    assert refusal._replace(actor=ADA).from_network().address == address


def test_what_cannot_be_kept_is_counted_logged_and_in_an_entry(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_writer, "MOST_NOTED", most := 20)
    stream = io.StringIO()
    logs.configure("error", stream)
    trail.run("ALTER TABLE audit RENAME TO away")
    for _ in range(most):
        trail.writer.note(ENTRY)
    trail.writer.write()
    assert trail.lost == 0, "the database is away, and all are kept"
    for _ in range(3):
        trail.writer.note(ENTRY)
    trail.writer.count(REFUSAL)
    trail.writer.write()
    assert (trail.lost, stream.getvalue()) == (3, "")
    trail.run("ALTER TABLE away RENAME TO audit")
    assert len(trail.entries(ENTRY.event)) == most
    [lost] = trail.entries(AuditEvent.ENTRIES_LOST)
    assert (lost.detail, lost.actor.kind, trail.lost) == ({"entries": 3}, "operator", 3)
    assert [(each["event"], each["count"]) for each in map(json.loads, stream.getvalue().splitlines())] == [
        ("audit_entries_lost", 3)
    ]
    assert len(trail.entries(AuditEvent.REFUSED)) == 1, "what was counted is kept beside the entries"


def test_kinds_of_a_long_outage_are_bounded(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_writer, "MOST_NOTED", most := 5 * MOST_KINDS)
    trail.run("ALTER TABLE audit_repeats RENAME TO away")
    minutes = most // (MOST_KINDS + 1) + 2
    for _ in range(minutes):
        for refusal in kinds(MOST_KINDS + 1):
            trail.writer.count(refusal)
        trail.writer.write()
        trail.at += timedelta(minutes=1)
    assert trail.lost == minutes * (MOST_KINDS + 1) - most > 0
    trail.run("ALTER TABLE away RENAME TO audit_repeats")
    assert sum(each.count for each in trail.entries(AuditEvent.REFUSED)) == most
    assert [each.detail for each in trail.entries(AuditEvent.ENTRIES_LOST)] == [{"entries": trail.lost}]


def test_an_entry_that_cannot_be_written_takes_no_other_along(trail: Trail) -> None:
    stream = io.StringIO()
    logs.configure("error", stream)
    for entry in (ENTRY, replace(ENTRY, detail={"version": object()}), ENTRY):
        trail.writer.note(entry)
    trail.writer.count(REFUSAL)
    trail.writer.write()
    assert "audit_entry_not_written" in stream.getvalue()
    assert (len(trail.entries(ENTRY.event)), trail.lost) == (2, 1)
    assert [each.detail for each in trail.entries(AuditEvent.ENTRIES_LOST)] == [{"entries": 1}]
    assert len(trail.entries(AuditEvent.REFUSED)) == 1


def test_what_is_left_at_a_stop_is_in_the_log(trail: Trail) -> None:
    stream = io.StringIO()
    logs.configure("error", stream)
    trail.run("ALTER TABLE audit RENAME TO away")
    trail.writer.note(ENTRY)
    asyncio.run(trail.writer.stop())
    assert json.loads(stream.getvalue())["count"] == 1


def test_entries_that_are_stored_at_once_are_in_the_trail(trail: Trail) -> None:
    """An entry that comes while a round runs is in the next one."""
    counts = []

    async def store() -> None:
        await trail.writer.store(ENTRY)
        with trail.state.database.reading() as connection:
            counts.append(list_entries(connection, 1, 0, AuditFilter(ENTRY.event))[1])

    async def run() -> None:
        await trail.writer.start()
        await asyncio.gather(*(store() for _ in range(100)))
        await store()
        await trail.writer.stop()

    asyncio.run(run())
    assert (len(counts), min(counts) > 0, counts[-1]) == (101, True, 101)


def test_a_change_waits_no_longer_than_the_bound_for_its_entry(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_writer, "STORE_TIMEOUT", 0.05)
    locked = trail.other._writing  # held, as by a database that does not answer
    monkeypatch.setattr(trail.writer, "_writing", locked)

    async def run() -> None:
        await trail.writer.start()
        with locked:
            await trail.writer.store(ENTRY)
        await trail.writer.stop()

    asyncio.run(run())
    assert len(trail.entries(ENTRY.event)) == 1


def test_a_failed_round_lets_changes_go_on(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would wait for the bound, each of them, while the database is away."""
    monkeypatch.setattr(audit_writer, "STORE_TIMEOUT", 3_600.0)
    logs.configure("error", io.StringIO())
    trail.run("ALTER TABLE audit RENAME TO away")

    async def run() -> None:
        await trail.writer.start()
        await trail.writer.store(ENTRY)
        trail.run("ALTER TABLE away RENAME TO audit")
        await trail.writer.stop()

    asyncio.run(run())
    assert len(trail.entries(ENTRY.event)) == 1
