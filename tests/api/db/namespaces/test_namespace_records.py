"""The records of namespaces in the database, when names are freed and taken."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.db import earlier_namespaces
from api.db.agents.agent_limit import AgentLimit
from api.db.agents.agents import Agent, AgentKey
from api.db.agents.fleet import Fleet
from api.db.agents.heartbeats import Heartbeats
from api.db.errors import TooManyAgents
from api.db.namespaces.namespace_records import StoredRecords
from api.db.state_store import StateStore, open_state_store
from gitstore.errors import NotFound
from gitstore.namespaces.records import NamespaceRecords
from tests.api.world import START, ManualClock

KEY = AgentKey("acme", "shop", "edge-1")
AGENT = Agent(*KEY, "proxy", START, START, 3, "3" * 40, 3, "success")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def state(tmp_path: Path) -> StateStore:
    return open_state_store(tmp_path)


@pytest.fixture
def records(state: StateStore, clock: ManualClock) -> StoredRecords:
    return StoredRecords(state, clock)


def fleet(state: StateStore, clock: ManualClock, most: int = 100) -> Fleet:
    return Fleet(state.database, Heartbeats(state.database, clock, AgentLimit(most)), clock)


def names(found: Fleet) -> list[str]:
    return [agent.name for agent in found.page("acme", "shop", 100, 0)]


def test_a_heartbeat_that_was_received_before_the_name_was_freed_is_dropped(
    state: StateStore, records: StoredRecords, clock: ManualClock
) -> None:
    """Another worker may write it after the next namespace has taken the name."""
    worker = fleet(state, clock)
    worker.heartbeats.note(KEY)
    worker.heartbeats.note(KEY._replace(namespace="other"))
    clock.advance(seconds=1)
    records.put_away("acme", "acme-1")
    clock.advance(seconds=1)
    records.make_room("acme", "acme-1")
    assert worker.heartbeats.flush() == 2
    assert names(worker) == []
    assert worker.count("other", "shop").total == 1
    clock.advance(seconds=1)
    worker.heartbeats.note(KEY)
    worker.heartbeats.flush()
    assert names(worker) == ["edge-1"]


def test_a_report_that_was_received_before_the_name_was_freed_is_refused(
    state: StateStore, records: StoredRecords, clock: ManualClock
) -> None:
    worker = fleet(state, clock)
    clock.advance(seconds=1)
    records.put_away("acme", "acme-1")
    records.make_room("acme", "acme-1")
    with pytest.raises(NotFound):
        worker.register(AGENT)
    clock.advance(seconds=1)
    worker.register(replace(AGENT, last_seen_at=clock()))
    assert names(worker) == ["edge-1"]


def test_numbers_are_the_highest_ever_noted_ignoring_case(records: StoredRecords) -> None:
    records.note_numbers("acme", {"shop": 5, "help": 1})
    records.note_numbers("acme", {"shop": 3})
    records.note_numbers("Acme", {"shop": 4, "docs": 7})
    records.note_numbers("acme2", {"shop": 99})
    assert records.highest_numbers("ACME") == {"shop": 5, "help": 1, "docs": 7}


def test_content_without_a_service_has_no_records() -> None:
    found = NamespaceRecords()
    found.note_numbers("acme", {"shop": 5})
    assert found.highest_numbers("acme") == {}


def test_the_last_archive_of_a_name_is_known(state: StateStore, records: StoredRecords, clock: ManualClock) -> None:
    for archive in ("acme-1", "acme-2"):
        clock.advance(seconds=1)
        records.put_away("acme", archive)
    records.make_room("acme", None)
    with state.database.reading() as connection:
        assert earlier_namespaces.find_earlier(connection, "acme") == ("acme-2", clock())
        assert earlier_namespaces.find_earlier(connection, "other") is None


def test_a_limit_counts_only_now_and_then_and_never_takes_more(state: StateStore, clock: ManualClock) -> None:
    """Most new agents of a large project cost no count; a full one is counted at most once a second."""
    worker = fleet(state, clock, most=200)
    limit = worker.heartbeats.limit
    for number in range(200):
        worker.register(replace(AGENT, name=f"edge-{number}"))
    for _ in range(3):
        with pytest.raises(TooManyAgents):
            worker.register(replace(AGENT, name="edge-200"))
    assert limit.is_full(KEY)
    worker.register(replace(AGENT, status="error"))
    assert worker.is_full(KEY)
    worker.require_known(KEY)
    assert not worker.is_full(KEY)
    with pytest.raises(TooManyAgents):
        worker.require_known(KEY._replace(name="edge-200"))
    assert not worker.is_full(KEY._replace(project="docs"))


@pytest.mark.timeout(600)
def test_processes_that_are_killed_leave_a_namespace_or_its_archive(tmp_path: Path) -> None:
    """After the operation is repeated, numbers continue, and no agent of the archived namespace is there."""
    program = [sys.executable, "-m", "tests.api.namespace_kills", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["operation"] for each in found} == {"delete", "create", "restore"}
    for each in found:
        state = each["found"]
        assert each["killed"], each
        assert (len(state["before"]["live"]) + state["before"]["archives"]) == (
            1 + (each["operation"] == "create" and state["before"]["live"] != [])
        ), each
        assert state["numbers"] == ([3, 2, 1] if each["operation"] == "restore" else [3]), each
        assert (state["agents"], state["noted"], state["left"]) == (0, {"shop": 2}, []), each
        assert state["archives"] == (each["operation"] != "restore"), each
    assert any(each["found"]["before"]["live"] for each in found if each["operation"] == "restore")
    assert any(not each["found"]["before"]["live"] for each in found if each["operation"] == "delete")
