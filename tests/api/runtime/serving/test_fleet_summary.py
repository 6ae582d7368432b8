"""The counts of a fleet: fresh for a small one, shared for a large one, and measured again for a new publish."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from api.db.agents.agents import Agent, AgentKey
from api.db.agents.fleet import Fleet
from api.db.agents.heartbeats import Heartbeats
from api.db.state_store import open_state_store
from api.runtime.serving import fleet_summary
from api.runtime.serving.fleet_summary import FleetSummaries
from tests.api.world import START, ManualClock


@dataclass(frozen=True)
class Served:
    """A served version."""

    version: str = "3" * 40
    number: int = 3
    time: int = 0


@dataclass
class Versions:
    """A history in which every version is known; it counts the look-ups."""

    asked: list[set[tuple[str, int]]] = field(default_factory=list)

    def same_history(self, _namespace: str, _project: str, reported: Iterable[tuple[str, int]]) -> set[str]:
        """Return the reported commits."""
        self.asked.append(set(reported))
        return {commit for commit, _ in reported}


SHOP = ("acme", "shop")
OLD = replace(Agent(*SHOP, "edge-1", "proxy", START, START, 2, "2" * 40, 2, "success"), loaded_at=START)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def fleet(tmp_path: Path, clock: ManualClock) -> Fleet:
    database = open_state_store(tmp_path).database
    found = Fleet(database, Heartbeats(database, clock), clock)
    found.register(OLD)
    found.register(replace(OLD, name="edge-2", version=3, commit="3" * 40, publish_number=3))
    return found


def test_versions_of_a_whole_page_are_looked_up_once(fleet: Fleet) -> None:
    versions = Versions()
    summaries = FleetSummaries(fleet, versions)
    summary = summaries.find(*SHOP, Served())
    shown = fleet.page(*SHOP, 100, 0)
    assert summaries.find_history(*SHOP, summary, shown) == {"2" * 40, "3" * 40}
    assert versions.asked == [{("2" * 40, 2)}]
    later = replace(shown[0], commit="1" * 40, publish_number=1)
    assert summaries.find_history(*SHOP, summary, [*shown, later]) == {"1" * 40, "2" * 40, "3" * 40}
    assert versions.asked[1:] == [{("1" * 40, 1)}]


def test_small_fleet_is_counted_for_each_request(fleet: Fleet) -> None:
    summaries = FleetSummaries(fleet, Versions())
    assert summaries.find(*SHOP, Served()).total == 2
    fleet.forget(AgentKey(*SHOP, "edge-1"))
    assert summaries.find(*SHOP, Served()).total == 1


def test_large_fleet_is_counted_once_for_many_pages_and_versions(
    fleet: Fleet, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_summary, "SMALL", 1)
    monkeypatch.setattr(fleet_summary, "VALID_SECONDS", 3600.0)
    summaries = FleetSummaries(fleet, Versions())
    first = summaries.find(*SHOP, Served())
    assert (first.convergence["agents"], first.convergence["current"]) == (2, 1)
    clock.advance(seconds=10)
    fleet.forget(AgentKey(*SHOP, "edge-1"))
    assert summaries.find(*SHOP, Served()) is first
    assert first.counted_at == START
    again = summaries.find(*SHOP, Served("4" * 40, 4))
    assert (again.total, again.counted_at) == (2, START)
    assert again.convergence["publishNumber"] == 4
    assert (again.convergence["agents"], again.convergence["current"]) == (2, 0)
    fleet.register(replace(OLD, name="edge-2", version=5, commit="5" * 40, publish_number=5))
    latest = summaries.find(*SHOP, Served("5" * 40, 5))
    assert (latest.convergence["current"], latest.convergence["behind"]) == (1, 1), "agents with a new version are read"
    monkeypatch.setattr(fleet_summary, "VALID_SECONDS", 0.0)
    assert FleetSummaries(fleet, Versions()).find(*SHOP, Served("5" * 40, 5)).total == 1


def test_count_of_a_large_fleet_ends(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_summary, "SMALL", 0)
    monkeypatch.setattr(fleet_summary, "VALID_SECONDS", 0.0)
    summaries = FleetSummaries(fleet, Versions())
    assert summaries.find(*SHOP, Served()).total == 2
    fleet.forget(AgentKey(*SHOP, "edge-1"))
    assert summaries.find(*SHOP, Served()).total == 1
