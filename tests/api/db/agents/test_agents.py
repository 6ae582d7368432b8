"""Agents and their heartbeats in the database."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from api.db.agents import heartbeats
from api.db.agents.agent_limit import AgentLimit
from api.db.agents.agents import (
    Agent,
    AgentKey,
    AgentProgress,
    add_seen,
    count_failing,
    list_agents,
    list_progress,
    load_seconds,
    note_seen,
    register,
)
from api.db.agents.fleet import ONLINE_WITHIN, Fleet
from api.db.agents.heartbeats import Heartbeats
from api.db.agents.inactive_agents import is_due
from api.db.database import Connection, Database, default_url
from api.db.errors import StateBusy, TooManyAgents
from api.db.state_store import StateStore, open_state_store
from api.db.tables import events
from gitstore.errors import NotFound
from tests.api.world import START, ManualClock

KEY = AgentKey("acme", "shop", "edge-1")
AGENT = Agent(*KEY, "proxy", START, START, 3, "3" * 40, 3, "success", 12_000_000, None)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def state(tmp_path: Path) -> StateStore:
    return open_state_store(tmp_path)


@pytest.fixture
def fleet(state: StateStore, clock: ManualClock) -> Fleet:
    return Fleet(state.database, Heartbeats(state.database, clock), clock)


def test_what_an_agent_says_replaces_all_that_it_said_before(fleet: Fleet, clock: ManualClock) -> None:
    fleet.register(AGENT)
    assert fleet.find(KEY) == AGENT
    clock.advance(minutes=5)
    said = Agent(*KEY, "default", clock(), clock(), "main", None, None, "error", None, "no such directive")
    fleet.register(said)
    assert fleet.find(KEY) == replace(said, created_at=START)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.integers(0, 2**63 - 1), st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=100)
    ),
    st.one_of(st.none(), st.integers(0, 2**63 - 1)),
    st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200)),
)
def test_what_an_agent_says_is_kept_as_it_was_sent(
    fleet: Fleet, version: int | str, duration: int | None, error: str | None
) -> None:
    agent = replace(AGENT, version=version, load_duration=duration, error=error)
    fleet.register(agent)
    found = fleet.find(KEY)
    assert found == agent
    assert type(found.version) is type(version)


def test_a_heartbeat_makes_an_agent_that_was_not_known(fleet: Fleet) -> None:
    fleet.heartbeats.note(KEY)
    with pytest.raises(NotFound):
        fleet.find(KEY)
    assert fleet.heartbeats.flush() == 1
    assert fleet.find(KEY) == Agent(*KEY, "default", START, START)
    assert fleet.heartbeats.flush() == 0


def test_a_heartbeat_changes_when_and_nothing_else(fleet: Fleet, clock: ManualClock) -> None:
    fleet.register(AGENT)
    clock.advance(seconds=30)
    fleet.heartbeats.note(KEY)
    clock.advance(seconds=30)
    fleet.heartbeats.note(KEY)
    assert fleet.heartbeats.flush() == 1
    assert fleet.find(KEY) == replace(AGENT, last_seen_at=START + timedelta(minutes=1))


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=5))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_last_time_heard_of_never_goes_back(state: StateStore, fleet: Fleet, offsets: list[int]) -> None:
    """Workers write in any order."""
    with state.database.writing() as connection:
        add_seen(connection, [(KEY, START)])
    before = fleet.find(KEY).last_seen_at
    for offset in offsets:
        with state.database.writing() as connection:
            assert note_seen(connection, [(KEY, START + timedelta(seconds=offset))])
    latest = max(before, *(START + timedelta(seconds=offset) for offset in offsets))
    assert fleet.find(KEY).last_seen_at == latest
    fleet.register(replace(AGENT, last_seen_at=START - timedelta(days=1)))
    assert fleet.find(KEY).last_seen_at == latest


def test_ten_thousand_heartbeats_at_once_are_ten_transactions(state: StateStore, fleet: Fleet) -> None:
    """Frequent reports of agents do not keep a disk busy, and leave room for other writers."""
    begun: list[str] = []
    event.listen(state.database._engine, "commit", lambda _: begun.append("commit"))
    for number in range(10_000):
        fleet.heartbeats.note(AgentKey("acme", "shop", f"edge-{number}"))
    assert flush_all(fleet) == [heartbeats.AT_ONCE] * 10
    assert begun == ["commit"] * 10
    with state.database.reading() as connection:
        assert len(list_progress(connection, "acme", "shop", START)) == 10_000


def flush_all(fleet: Fleet) -> list[int]:
    """Return the number of heartbeats of each transaction until none is pending."""
    return list(iter(fleet.heartbeats.flush, 0))


def many(count: int) -> list[AgentKey]:
    """Return agents in the order of arrival, which is not that of their names."""
    return [AgentKey("acme", "shop", f"edge-{number * 7919 % count:06d}") for number in range(count)]


def test_lap_writes_each_agent_once_in_the_order_of_the_table(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: in the order of arrival, each heartbeat changes another page of the disk."""
    monkeypatch.setattr(heartbeats, "AT_ONCE", 10)
    written = list[list[AgentKey]]()

    def note(_connection: Connection, seen: Sequence[tuple[AgentKey, datetime]]) -> bool:
        written.append([key for key, _ in seen])
        return True

    monkeypatch.setattr(heartbeats, "note_seen", note)
    agents = many(1_000)
    for key in agents:
        fleet.heartbeats.note(key)
    for _ in range(heartbeats.LAP_ROUNDS):
        fleet.heartbeats.flush()
        fleet.heartbeats.note(agents[0])
    assert [key for part in written for key in part] == sorted(agents)
    assert {len(part) for part in written} == {1_000 // heartbeats.LAP_ROUNDS}
    assert flush_all(fleet) == [1]


def test_heartbeat_during_a_lap_is_written_with_its_newest_time(
    fleet: Fleet, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "AT_ONCE", 10)
    agents = many(100)
    for key in agents:
        fleet.heartbeats.note(key)
    fleet.heartbeats.flush()
    clock.advance(seconds=30)
    for key in agents:
        fleet.heartbeats.note(key)
    flush_all(fleet)
    assert {fleet.find(key).last_seen_at for key in agents} == {clock()}


def steps_of(database: Database, work: Callable[[Connection], object]) -> int:
    """Return the number of steps of SQLite's virtual machine."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    with database.reading() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_progress_handler(step, 1)
        try:
            work(connection)
        finally:
            driver.set_progress_handler(None, 0)
    return steps


def test_silent_agents_and_pages_cost_the_same_for_any_number_of_agents(
    state: StateStore, fleet: Fleet, clock: ManualClock
) -> None:
    """Also with many that were reported silent before."""
    cutoff, found = START + timedelta(minutes=5), list[tuple[int, ...]]()
    for count in (100, 10_000):
        with state.database.writing() as connection:
            add_seen(connection, [(AgentKey("acme", "dead", f"edge-{number:06d}"), START) for number in range(count)])
        clock.advance(minutes=10)
        fleet.record_inactive_agents(timedelta(minutes=5))
        with state.database.writing() as connection:
            add_seen(connection, [(key, clock()) for key in many(count)])
        fleet.record_inactive_agents(timedelta(minutes=5))
        found.append(
            (
                steps_of(state.database, lambda connection: is_due(connection, cutoff)),
                steps_of(state.database, lambda connection: list_agents(connection, "acme", "shop", 50, 0)),
            )
        )
    assert found[0] == found[1]


def test_the_last_page_and_the_loads_of_a_new_publish_cost_the_same_for_any_number_of_agents(
    state: StateStore, clock: ManualClock
) -> None:
    """The page after a name, and the times of the agents that run a version, of which there are as many each time."""
    found = list[tuple[int, ...]]()
    for count in (100, 10_000):
        with state.database.writing() as connection:
            add_seen(connection, [(key, clock()) for key in many(count)])
            for number in range(3):
                register(connection, replace(AGENT, name=f"edge-{number:06d}", commit="9" * 40, publish_number=9))
        last = f"edge-{count - 51:06d}"
        page = partial(list_agents, namespace="acme", project="shop", limit=50, offset=0, after=last)
        since = START - timedelta(days=1)
        shop = partial(load_seconds, namespace="acme", project="shop", online_from=since)
        loads = partial(shop, commits=["9" * 40], published=START, shares=[1, 2, 3])
        found.append((steps_of(state.database, page), steps_of(state.database, loads)))
    assert found[0] == found[1]


def test_failing_agents_are_counted_without_a_look_at_the_others(
    state: StateStore, fleet: Fleet, clock: ManualClock
) -> None:
    found = list[int]()
    for count in (100, 10_000):
        with state.database.writing() as connection:
            add_seen(connection, [(key, clock()) for key in many(count)])
            for number in range(3):
                register(connection, replace(AGENT, name=f"edge-{number:06d}", status="error", last_seen_at=clock()))
        assert fleet.count_failing() == [(AgentKey("acme", "shop", "edge-000000"), 3)]
        found.append(steps_of(state.database, partial(count_failing, online_from=clock() - timedelta(days=1))))
    assert found[0] == found[1]


def test_agents_after_a_name_continue_the_page_before(state: StateStore, fleet: Fleet, clock: ManualClock) -> None:
    with state.database.writing() as connection:
        add_seen(connection, [(key, clock()) for key in many(25)])
        add_seen(connection, [(AgentKey("acme", "other", "edge-1"), clock())])
    names, after = list[str](), ""
    while page := fleet.page("acme", "shop", 10, 0, after):
        names += [agent.name for agent in page]
        after = names[-1]
    assert names == sorted(key.name for key in many(25))
    assert [agent.name for agent in fleet.page("acme", "shop", 2, 3, names[4])] == names[8:10]
    assert fleet.page("acme", "shop", 2, 30, "") == []


def test_silent_agent_that_sends_a_heartbeat_recovers_once(fleet: Fleet, clock: ManualClock, state: StateStore) -> None:
    fleet.register(AGENT)
    kinds = list[list[str]]()
    for minutes in (10, 10, 0, 0, 10):
        clock.advance(minutes=minutes)
        if len(kinds) == 2:
            fleet.heartbeats.note(KEY)
            fleet.heartbeats.flush()
        fleet.record_inactive_agents(timedelta(minutes=5))
        with state.database.reading() as connection:
            kinds.append(list(connection.execute(select(events.c.type).order_by(events.c.id)).scalars()))
    assert [len(each) for each in kinds] == [1, 1, 2, 2, 3]
    assert kinds[-1] == ["agent.silent", "agent.recovered", "agent.silent"]


def test_heartbeats_that_cannot_be_written_wait_and_later_ones_win(tmp_path: Path, clock: ManualClock) -> None:
    state = open_state_store(tmp_path)
    hasty = Heartbeats(type(state.database)(f"sqlite:///{tmp_path}/waypost.db", lock_timeout=0.05), clock)
    fleet = Fleet(state.database, hasty, clock)
    other = AgentKey("acme", "shop", "edge-2")
    hasty.note(KEY)
    hasty.note(other)
    lock = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateBusy):
        hasty.flush()
    clock.advance(seconds=5)
    hasty.note(KEY)
    lock.close()
    assert hasty.flush() == 2
    assert fleet.find(KEY).last_seen_at == clock()
    assert fleet.find(other).last_seen_at == START


def test_a_heartbeat_that_comes_while_an_earlier_one_fails_to_be_written_wins(
    tmp_path: Path, clock: ManualClock
) -> None:
    class Failing(Database):
        """A database that receives a further heartbeat of the agent before it fails."""

        @contextmanager
        def writing(self) -> Iterator[Connection]:
            """Fail instead of starting a transaction."""
            clock.advance(seconds=1)
            waiting.note(KEY)
            raise StateBusy
            yield

    waiting = Heartbeats(Failing(default_url(tmp_path)), clock)
    waiting.note(KEY)
    with pytest.raises(StateBusy):
        waiting.flush()
    assert waiting._pending == {KEY: START + timedelta(seconds=1)}


def test_heartbeats_that_wait_are_bounded(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "MOST_PENDING", 2)
    for name in ("a", "b"):
        fleet.heartbeats.note(AgentKey("acme", "shop", name))
    with pytest.raises(StateBusy):
        fleet.heartbeats.note(AgentKey("acme", "shop", "c"))
    fleet.heartbeats.note(AgentKey("acme", "shop", "a"))
    assert fleet.heartbeats.flush() == 2


def test_a_forgotten_agent_does_not_come_back_by_what_it_had_said(fleet: Fleet) -> None:
    fleet.register(AGENT)
    fleet.heartbeats.note(KEY)
    fleet.forget(KEY)
    assert fleet.heartbeats.flush() == 0
    with pytest.raises(NotFound):
        fleet.find(KEY)
    with pytest.raises(NotFound):
        fleet.forget(KEY)


def test_an_agent_that_another_worker_removed_is_refused_once_its_place_is_taken(
    state: StateStore, clock: ManualClock
) -> None:
    """Guard: a worker that had looked it up always took its heartbeats, and dropped each at the write."""
    here, other = (Fleet(state.database, Heartbeats(state.database, clock, AgentLimit(1)), clock) for _ in range(2))
    here.register(AGENT)
    later = replace(AGENT, name="edge-2")
    with pytest.raises(TooManyAgents):
        here.register(later)
    here.require_known(KEY)
    assert here.note(*KEY)
    here.heartbeats.flush()
    assert here.note(*KEY), "it is still known"
    here.heartbeats.flush()
    other.forget(KEY)
    other.register(later)
    assert here.note(*KEY)
    here.heartbeats.flush()
    assert not here.note(*KEY)
    with pytest.raises(TooManyAgents):
        here.require_known(KEY)
    assert [each.name for each in here.page("acme", "shop", 9, 0)] == ["edge-2"]


def test_projects_have_agents_of_their_own(fleet: Fleet) -> None:
    there = replace(AGENT, project="docs")
    fleet.register(AGENT)
    fleet.register(there)
    assert fleet.page("acme", "shop", 100, 0) == [AGENT]
    assert fleet.page("acme", "docs", 100, 0) == [there]
    assert fleet.page("other", "shop", 100, 0) == []


def loaded(fleet: Fleet, clock: ManualClock, number: int | None, status: str = "success") -> timedelta | None:
    """Return when the agent first loaded its version, after this report; counted from the start of the clock."""
    clock.advance(seconds=1)
    commit = None if number is None else str(number) * 40
    moment = clock() if commit and status == "success" else None
    said = replace(AGENT, last_seen_at=clock(), commit=commit, publish_number=number, status=status, loaded_at=moment)
    fleet.register(said)
    found = fleet.find(KEY).loaded_at
    return found - START if found else None


def test_when_a_version_was_loaded_is_when_it_was_first_reported_without_an_error(
    fleet: Fleet, clock: ManualClock
) -> None:
    seconds = [
        None if at is None else at.seconds
        for at in (
            loaded(fleet, clock, 1),
            loaded(fleet, clock, 1),
            loaded(fleet, clock, 1, "error"),
            loaded(fleet, clock, 2, "error"),
            loaded(fleet, clock, 2),
            loaded(fleet, clock, None),
            loaded(fleet, clock, 2),
            loaded(fleet, clock, 1),
        )
    ]
    assert seconds == [1, 1, 1, None, 5, None, 7, 8]
    fleet.heartbeats.note(KEY)
    fleet.heartbeats.flush()
    assert fleet.find(KEY).loaded_at == START + timedelta(seconds=8)


def test_progress_of_agents_is_reported_by_name(fleet: Fleet, clock: ManualClock) -> None:
    fleet.register(replace(AGENT, name="gone"))
    clock.advance(seconds=ONLINE_WITHIN.total_seconds() + 1)
    here = replace(AGENT, last_seen_at=clock())
    fleet.register(replace(here, name="fine", status=None))
    fleet.register(replace(here, name="failing", status="error"))
    fleet.register(replace(here, name="odd", commit=None, publish_number=None, version="?"))
    fleet.register(replace(here, name="elsewhere", project="docs"))
    fleet.heartbeats.note(AgentKey("acme", "shop", "silent"))
    fleet.heartbeats.flush()
    assert fleet.list_progress("acme", "shop") == {
        "gone": AgentProgress(3, online=False, commit=AGENT.commit),
        "fine": AgentProgress(3, online=True, commit=AGENT.commit),
        "failing": AgentProgress(None, online=True, commit=AGENT.commit),
        "odd": AgentProgress(None, online=True),
        "silent": AgentProgress(None, online=True),
    }


def test_what_goes_beside_heartbeats_is_in_their_transaction(state: StateStore, fleet: Fleet) -> None:
    begun: list[str] = []
    event.listen(state.database._engine, "commit", lambda _: begun.append("commit"))

    def register_other(connection: Connection) -> None:
        register(connection, replace(AGENT, name="other"))

    fleet.heartbeats.note(KEY)
    assert fleet.heartbeats.flush(register_other) == 1
    assert begun == ["commit"]
    assert [agent.name for agent in fleet.page("acme", "shop", 100, 0)] == ["edge-1", "other"]
    assert fleet.heartbeats.flush(register_other) == 0
    assert fleet.heartbeats.flush() == 0
    assert begun == ["commit"] * 2


def test_heartbeats_wait_when_what_goes_beside_them_fails(fleet: Fleet) -> None:
    def fail(_connection: Connection) -> None:
        raise StateBusy

    fleet.heartbeats.note(KEY)
    with pytest.raises(StateBusy):
        fleet.heartbeats.flush(fail)
    assert fleet.page("acme", "shop", 100, 0) == []
    assert fleet.heartbeats.flush() == 1
