"""The convergence of agents on a publish: its measure, and the wait for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.db.agents.agents import Agent, AgentProgress, register, remove_agents_of
from api.db.agents.fleet import ONLINE_WITHIN, Fleet
from api.db.agents.heartbeats import Heartbeats
from api.db.database import Database
from api.db.errors import StateBusy
from api.db.state_store import open_state_store
from api.runtime.serving import convergence
from api.runtime.serving.convergence import Convergence, ConvergenceResult
from api.runtime.serving.fleet_summary import FleetSummaries
from tests.api.world import AGENTS, START, FakeProjects, FakeVersion, World, shaped, world

PUBLISHED = FakeVersion("3" * 40, 3)
PROJECTS = FakeProjects({("acme", "shop"): 5})
NOW = START + timedelta(hours=1)
BEFORE = START - timedelta(days=1)
EDGE = {"name": "edge-1", "type": "default", "version": 3, "status": "success"}


def agent(name: str, seconds: float | None, **fields: Any) -> Agent:
    """Return an online agent that loaded the publish after so many seconds (None: still runs the previous one)."""
    number = 2 if seconds is None else 3
    loaded = BEFORE if seconds is None else START + timedelta(seconds=seconds)
    found = Agent("acme", "shop", name, "default", BEFORE, NOW, number, str(number) * 40, number, loaded_at=loaded)
    return replace(found, **fields)


_databases: list[Database] = []


@pytest.fixture(scope="module", autouse=True)
def _database(tmp_path_factory: pytest.TempPathFactory) -> None:
    _databases[:] = [open_state_store(tmp_path_factory.mktemp("fleet")).database]


def measured(*agents: Agent, now: datetime = NOW, versions: FakeProjects = PROJECTS) -> Any:
    """Return the convergence of these agents."""
    fleet = Fleet(_databases[0], Heartbeats(_databases[0]), lambda: now)
    with fleet.database.writing() as connection:
        remove_agents_of(connection, "acme")
        for each in agents:
            register(connection, each)
    return FleetSummaries(fleet, versions).find("acme", "shop", PUBLISHED).convergence


def reached(*agents: Agent, now: datetime = NOW, versions: FakeProjects = PROJECTS) -> Any:
    """Return the numbers of online and of converged agents, and when 50, 95 and 100 percent had converged."""
    found = measured(*agents, now=now, versions=versions)
    assert found["behind"] == found["agents"] - found["current"]
    return found["agents"], found["current"], *found["reachedAfter"].values()


def test_without_agents_a_share_takes_no_time() -> None:
    assert reached() == (0, 0, None, None, None)


def test_a_share_is_reached_when_so_many_agents_have_reported_it() -> None:
    hundred = [agent(str(number), number / 10) for number in range(1, 101)]
    assert reached(*hundred) == (100, 100, 5.0, 9.5, 10.0)
    assert reached(*hundred[:95], *(agent(f"late-{number}", None) for number in range(5))) == (100, 95, 5.0, 9.5, None)
    assert reached(agent("a", 7)) == (1, 1, 7.0, 7.0, 7.0)
    assert reached(agent("a", 7), agent("b", None)) == (2, 1, 7.0, None, None)


def test_agents_that_are_not_online_do_not_count() -> None:
    gone = {"last_seen_at": NOW - ONLINE_WITHIN - timedelta(seconds=1)}
    assert reached(agent("a", 1), agent("b", 9, **gone), agent("c", None, **gone)) == (1, 1, 1.0, 1.0, 1.0)


def test_an_error_or_an_unknown_version_is_not_converged() -> None:
    unknown = {"commit": None, "publish_number": None, "loaded_at": None}
    assert reached(agent("a", 1, status="error"), agent("b", None, **unknown)) == (2, 0, None, None, None)
    assert reached(agent("a", 1, status="success"), agent("b", 2, status=None)) == (2, 2, 1.0, 2.0, 2.0)


def test_an_agent_that_came_later_did_not_have_to_be_reached_before_it_came() -> None:
    came = START + timedelta(minutes=30)
    assert reached(agent("a", 1801.5, created_at=came)) == (1, 1, 1.5, 1.5, 1.5)


def test_a_report_in_the_second_of_the_publish_took_no_time() -> None:
    """The time of a publish is a whole second, and clocks differ."""
    assert reached(agent("a", -0.4)) == (1, 1, 0.0, 0.0, 0.0)


@given(st.lists(st.none() | st.floats(0, 1000), max_size=60))
def test_shares_are_what_counting_gives(seconds: list[float | None]) -> None:
    agents = [agent(str(number), each) for number, each in enumerate(seconds)]
    count, current, *times = reached(*agents)
    assert (count, current) == (len(seconds), sum(each is not None for each in seconds))
    for share, time in zip((50, 95, 100), times, strict=True):
        had = [each for each in seconds if each is not None and time is not None and each <= time + 0.001]
        assert (time is None) == (not seconds or current * 100 < share * count)
        assert time is None or len(had) * 100 >= share * count


@given(st.lists(st.none() | st.floats(0, 1000), max_size=60))
def test_the_curve_of_a_publish_counts_the_agents_that_had_it_by_then(seconds: list[float | None]) -> None:
    found = measured(*(agent(str(number), each) for number, each in enumerate(seconds)))
    had = sorted(each for each in seconds if each is not None)
    taken = [(each["agents"], each["seconds"]) for each in found["taken"]]
    assert taken == sorted(taken)
    assert len(taken) <= 24
    for agents, time in taken:
        assert time == pytest.approx(had[agents - 1], abs=0.002)
    if len(seconds) <= 24:
        assert [agents for agents, _ in taken] == list(range(1, len(had) + 1))
    elif len(had) == len(seconds):
        assert taken[-1][0] == len(had)


def test_the_curve_of_a_large_fleet_has_few_points() -> None:
    taken = measured(*(agent(str(number), number / 10) for number in range(1, 1201)))["taken"]
    assert [each["agents"] for each in taken] == list(range(50, 1201, 50))
    assert [each["seconds"] for each in taken] == [each / 10 for each in range(50, 1201, 50)]


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("root", "admin")
    return found


def test_the_list_of_agents_shows_it(here: World) -> None:
    writer, admin = here.token("agent:write"), here.access("root")
    here.call("POST", AGENTS, writer, {**EDGE, "version": 2})
    here.clock.advance(seconds=4)
    here.call("POST", AGENTS, writer, EDGE)
    here.clock.advance(seconds=60)
    here.call("POST", AGENTS, writer, EDGE)
    here.call("POST", AGENTS, writer, {**EDGE, "name": "edge-2", "version": 2})
    assert shaped(here.call("GET", f"{AGENTS}?limit=0", admin), "agent-list")["convergence"] == {
        "version": "3" * 40,
        "publishNumber": 3,
        "publishedAt": "2026-11-20T12:00:00Z",
        "agents": 2,
        "current": 1,
        "behind": 1,
        "reachedAfter": {"p50": 4.0, "p95": None, "p100": None},
        "taken": [{"seconds": 4.0, "agents": 1}],
    }


@dataclass
class FakeFleet:
    """A fleet with the given progress, one after another, the last one repeated; an exception is raised."""

    answers: Sequence[dict[str, AgentProgress] | Exception]
    looks: int = 0

    def list_progress(self, _namespace: str, _project: str) -> dict[str, AgentProgress]:
        """Return the next progress."""
        found = self.answers[min(self.looks, len(self.answers) - 1)]
        self.looks += 1
        if isinstance(found, Exception):
            raise found
        return found


def list_progress(*numbers: int | None, online: bool = True) -> dict[str, AgentProgress]:
    """Return agents 0, 1, … with these publishes."""
    return {str(at): progress(number, online=online) for at, number in enumerate(numbers)}


def progress(number: int | None, *, online: bool = True) -> AgentProgress:
    """Return the progress of an agent with a publish of the history."""
    return AgentProgress(number, online, str(number) * 40 if number else None)


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the interval of queries, for these agents are fast."""
    monkeypatch.setattr(convergence, "_POLL_INTERVAL", 0.01)


def waited(fleet: FakeFleet, seconds: float = 10, callers: int = 1) -> list[ConvergenceResult]:
    """Return the answers to so many callers that wait for publish 3."""

    async def wait() -> list[ConvergenceResult]:
        found, ended = Convergence(cast("Fleet", fleet), PROJECTS), asyncio.get_running_loop().create_future()
        return await asyncio.gather(*(found.wait("acme", "shop", 3, seconds, ended) for _ in range(callers)))

    return asyncio.run(wait())


def short(found: ConvergenceResult) -> tuple[int, int, bool]:
    """Return all fields but the time."""
    return found.agents, found.current, found.converged


def test_a_number_of_another_history_is_not_waited_for_in_vain_but_never_counts() -> None:
    """The same number, or a higher one, may be of a release that was rewound, or of a deleted namespace."""
    for number in (3, 4):
        other = {"a": progress(3), "b": AgentProgress(number, online=True, commit="e" * 40)}
        assert short(waited(FakeFleet([other]), 0.1)[0]) == (2, 1, False)


def test_a_publish_of_another_history_has_not_converged() -> None:
    other = agent("b", 2, commit="e" * 40)
    assert reached(agent("a", 1), other, replace(other, name="c", publish_number=5)) == (3, 1, None, None, None)
    later = agent("d", 3, commit="4" * 40, publish_number=4)
    assert reached(agent("a", 1), later) == (2, 2, 1.0, 3.0, 3.0)


def test_a_wait_ends_when_all_have_it() -> None:
    fleet = FakeFleet([list_progress(2, 2), list_progress(3, 2), list_progress(3, None), list_progress(3, 3)])
    [found] = waited(fleet)
    assert short(found) == (2, 2, True)
    assert fleet.looks == 4
    assert 0.02 < found.seconds < 10


def test_a_later_publish_counts_too() -> None:
    """Agents that skip a version never report it."""
    assert short(waited(FakeFleet([list_progress(3, 4)]))[0]) == (2, 2, True)


def test_those_who_were_not_online_are_not_waited_for() -> None:
    first = {**list_progress(3), "gone": progress(1, online=False)}
    assert short(waited(FakeFleet([first]))[0]) == (1, 1, True)
    assert short(waited(FakeFleet([{}]))[0]) == (0, 0, True)


def test_those_who_come_later_are_not_waited_for_and_those_who_go_are() -> None:
    fleet = FakeFleet([list_progress(2), {**list_progress(3), "new": progress(1)}])
    assert short(waited(fleet)[0]) == (1, 1, True)
    assert short(waited(FakeFleet([list_progress(2), {}]), 0.1)[0]) == (1, 0, False)


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_a_wait_ends_when_its_time_is_over(seconds: float) -> None:
    [found] = waited(FakeFleet([list_progress(3, 2)]), seconds)
    assert short(found) == (2, 1, False)
    assert found.seconds >= seconds


@pytest.mark.parametrize("failing", [StateBusy("locked"), OSError("disk")])
def test_a_database_that_fails_is_asked_again(failing: Exception) -> None:
    assert short(waited(FakeFleet([failing, list_progress(2), failing, list_progress(3)]))[0]) == (1, 1, True)
    assert short(waited(FakeFleet([failing]), 0.1)[0]) == (0, 0, False)


def test_all_who_wait_for_a_project_look_together() -> None:
    fleet = FakeFleet([list_progress(2)] * 20 + [list_progress(3)])
    found = waited(fleet, callers=10)
    assert {short(each) for each in found} == {(1, 1, True)}
    assert fleet.looks <= 10 + 12


async def stop(found: Convergence) -> None:
    """Stop the background service."""
    await found.stop()


async def release(found: Convergence) -> None:
    """Release the waiting callers only."""
    found.release()


@pytest.mark.parametrize("end", [stop, release])
@pytest.mark.parametrize("looked", [0, 1])
def test_the_end_of_a_worker_ends_all_waits(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[Convergence], Awaitable[None]], looked: int
) -> None:
    """Waits end at once, even long before the next query; no caller waits after that."""
    monkeypatch.setattr(convergence, "_POLL_INTERVAL", 1000)

    async def wait() -> list[ConvergenceResult]:
        fleet = FakeFleet([list_progress(2)])
        found, ended = Convergence(cast("Fleet", fleet), PROJECTS), asyncio.get_running_loop().create_future()
        await found.start()
        waiting = asyncio.create_task(found.wait("acme", "shop", 3, 1000, ended))
        while fleet.looks < looked or (looked and not found._polls):  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        await end(found)
        return [await asyncio.wait_for(each, 5) for each in (waiting, found.wait("acme", "shop", 3, 1000, ended))]

    assert [short(found) for found in asyncio.run(wait())] == [(1, 0, False)] * 2
