"""Agents over HTTP: their reports, and the views of people."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.db.agents.agents import AgentKey, register
from tests.api.world import AGENTS, World, shaped, world

KEY = AgentKey("acme", "shop", "edge-1")
EDGE = {"name": "edge-1", "type": "default", "version": 3, "status": "success", "load_duration": 12_000_000}


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("root", "admin")
    return found


@pytest.fixture
def agent(here: World) -> str:
    return here.token("redirect:read", "page:read", "agent:write")


@pytest.fixture
def admin(here: World) -> str:
    return here.access("root")


def shown(here: World, admin: str, name: str = "edge-1") -> Any:
    return shaped(here.call("GET", f"{AGENTS}/{name}", admin), "agent-state")


def test_an_agent_registers_and_is_seen(here: World, agent: str, admin: str) -> None:
    answer = here.call("POST", AGENTS, agent, EDGE)
    assert (answer.status, answer.body) == (200, b"")
    assert shown(here, admin) == {
        "name": "edge-1",
        "type": "default",
        "status": "success",
        "version": 3,
        "commit": "3" * 40,
        "publishNumber": 3,
        "current": True,
        "behind": 0,
        "load_duration": 12_000_000,
        "error": None,
        "lastSeenAt": "2026-11-20T12:00:00Z",
        "createdAt": "2026-11-20T12:00:00Z",
        "online": True,
    }


def test_a_second_report_of_an_agent_replaces_the_first(here: World, agent: str, admin: str) -> None:
    here.call("POST", AGENTS, agent, EDGE)
    here.clock.advance(minutes=1)
    error = {"name": "edge-1", "type": "proxy", "version": "2", "status": "error", "error": "line 4: unknown"}
    assert here.call("POST", AGENTS, agent, error).status == 200
    found = shown(here, admin)
    assert (found["type"], found["version"], found["behind"], found["current"]) == ("proxy", "2", 1, False)
    assert (found["status"], found["error"], found["load_duration"]) == ("error", "line 4: unknown", None)
    assert (found["createdAt"], found["lastSeenAt"]) == ("2026-11-20T12:00:00Z", "2026-11-20T12:01:00Z")


@pytest.mark.parametrize("version", [0, 99, "", "main", "3333333", 2**63 - 1, "é" * 100])
def test_no_version_is_refused_for_being_unknown(here: World, agent: str, admin: str, version: int | str) -> None:
    assert here.call("POST", AGENTS, agent, {**EDGE, "version": version}).status == 200
    found = shown(here, admin)
    assert found["version"] == version
    if found["commit"] is None:
        assert (found["publishNumber"], found["behind"], found["current"]) == (None, None, False)


def test_what_older_agents_send_is_taken(here: World, agent: str, admin: str) -> None:
    body = {**EDGE, "type": "traefik", "hostname": "a", "labels": {"x": [1]}}
    assert here.call("POST", AGENTS, agent, body).status == 200
    assert shown(here, admin)["type"] == "proxy"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "edge 1"},
        {"name": "edge\n"},
        {"name": "é"},
        {"name": ""},
        {"name": "x" * 101},
        {"name": None},
        {"type": "nginx"},
        {"version": -1},
        {"version": True},
        {"version": 1.5},
        {"version": 2**63},
        {"version": None},
        {"status": "fine"},
        {"load_duration": -1},
        {"load_duration": True},
        {"load_duration": 2**63},
        {"error": 5},
    ],
    ids=str,
)
def test_an_agent_of_another_shape_is_422_with_the_place(
    here: World, agent: str, admin: str, change: dict[str, object]
) -> None:
    answer = here.call("POST", AGENTS, agent, {**EDGE, **change})
    assert (answer.status, answer.error) == (422, "invalid_body")
    [pointer] = {problem["pointer"] for problem in answer.json()["problems"]}
    assert pointer == "/" + next(iter(change))
    assert shaped(here.call("GET", AGENTS, admin), "agent-list")["total"] == 0


def test_a_heartbeat_moves_when_an_agent_was_seen(here: World, agent: str, admin: str) -> None:
    here.call("POST", AGENTS, agent, EDGE)
    here.clock.advance(minutes=3)
    assert not shown(here, admin)["online"]
    answer = here.call("PATCH", f"{AGENTS}/edge-1/hit", agent)
    assert (answer.status, answer.body) == (200, b"")
    here.services.fleet.heartbeats.flush()
    found = shown(here, admin)
    assert (found["online"], found["lastSeenAt"], found["version"]) == (True, "2026-11-20T12:03:00Z", 3)


def test_a_heartbeat_makes_an_agent_that_never_registered(here: World, agent: str, admin: str) -> None:
    assert here.call("PATCH", f"{AGENTS}/edge-9/hit", agent).status == 200
    here.services.fleet.heartbeats.flush()
    found = shown(here, admin, "edge-9")
    assert (found["type"], found["version"], found["status"], found["online"]) == ("default", None, None, True)


@pytest.mark.parametrize("name", ["a%20b", "a%0A", "%C3%A9", "x" * 101, "..", "a.b", "%2e%2e"])
def test_a_name_that_no_agent_can_have_is_422(here: World, agent: str, admin: str, name: str) -> None:
    answer = here.call("PATCH", f"{AGENTS}/{name}/hit", agent)
    assert (answer.status, answer.error) == (422, "invalid_name")
    assert answer.json()["problems"]
    assert here.services.fleet.heartbeats.flush() == 0
    assert here.call("GET", f"{AGENTS}/{name}", admin).status == 422


def test_unknown_projects_and_agents_are_404(here: World, agent: str, admin: str) -> None:
    elsewhere = AGENTS.replace("shop", "none")
    assert here.call("POST", elsewhere, agent, EDGE).status == 404
    assert here.call("PATCH", f"{elsewhere}/edge-1/hit", agent).status == 404
    assert here.call("GET", elsewhere, admin).status == 404
    assert here.call("GET", f"{AGENTS}/edge-1", admin).error == "not_found"
    assert here.call("DELETE", f"{AGENTS}/edge-1", admin).status == 404
    assert here.services.fleet.heartbeats.flush() == 0


def test_an_agent_is_forgotten(here: World, agent: str, admin: str) -> None:
    here.call("POST", AGENTS, agent, EDGE)
    assert here.call("DELETE", f"{AGENTS}/edge-1", admin).status == 204
    assert here.call("GET", f"{AGENTS}/edge-1", admin).status == 404


def test_agents_are_listed_with_how_many_run_what(here: World, agent: str, admin: str) -> None:
    here.projects.numbers["acme", "shop"] = 2
    for name, version in (("a", 2), ("b", "2222222"), ("c", 1), ("d", "nightly"), ("e", "nightly")):
        assert here.call("POST", AGENTS, agent, {**EDGE, "name": name, "version": version}).status == 200
    found = shaped(here.call("GET", f"{AGENTS}?limit=2&offset=1", admin), "agent-list")
    assert [entry["name"] for entry in found["items"]] == ["b", "c"]
    assert (found["total"], found["limit"], found["offset"]) == (5, 2, 1)
    assert found["versions"] == [
        {"commit": "2" * 40, "publishNumber": 2, "behind": 0, "agents": 2},
        {"commit": "1" * 40, "publishNumber": 1, "behind": 1, "agents": 1},
        {"version": "nightly", "commit": None, "publishNumber": None, "behind": None, "agents": 2},
    ]
    here.projects.numbers["acme", "shop"] = 4
    assert [shown(here, admin, name)["behind"] for name in "abcd"] == [2, 2, 3, None]


def test_reading_and_writing_agents_are_two_permissions(here: World, agent: str) -> None:
    assert here.call("GET", AGENTS, agent).status == 403
    reader = here.token("agent:read")
    assert here.call("GET", AGENTS, reader).status == 200
    assert here.call("POST", AGENTS, reader, EDGE).status == 403
    assert here.call("PATCH", f"{AGENTS}/edge-1/hit", reader).status == 403
    assert here.call("DELETE", f"{AGENTS}/edge-1", reader).status == 403


def test_a_name_of_100_characters_is_taken(here: World, agent: str, admin: str) -> None:
    name = "x" * 100
    assert here.call("POST", AGENTS, agent, {**EDGE, "name": name}).status == 200
    assert here.call("PATCH", f"{AGENTS}/{name}/hit", agent).status == 200
    assert shown(here, admin, name)["name"] == name


def test_an_empty_status_is_none(here: World, agent: str, admin: str) -> None:
    """Programs that write every field send one."""
    assert here.call("POST", AGENTS, agent, {**EDGE, "status": "", "error": ""}).status == 200
    assert shown(here, admin)["status"] is None


def test_a_publish_of_another_history_is_neither_current_nor_behind(here: World, agent: str, admin: str) -> None:
    """Its number is that of another commit by now, as after a release was rewound."""
    here.call("POST", AGENTS, agent, EDGE)
    with here.services.state.database.writing() as connection:
        register(connection, replace(here.services.fleet.find(KEY), commit="e" * 40, publish_number=3))
    found = shown(here, admin)
    assert (found["current"], found["behind"], found["publishNumber"]) == (False, None, 3)
    listed = shaped(here.call("GET", AGENTS, admin), "agent-list")
    assert listed["versions"] == [{"commit": "e" * 40, "publishNumber": 3, "behind": None, "agents": 1}]
    assert (listed["convergence"]["agents"], listed["convergence"]["current"]) == (1, 0)


def test_a_window_of_the_agents_has_the_counts_of_all(here: World, agent: str, admin: str) -> None:
    for number in range(30):
        here.call("POST", AGENTS, agent, {**EDGE, "name": f"edge-{number:02}", "version": 1 + number % 3})
    for number in range(4):
        here.call("POST", AGENTS, agent, {**EDGE, "name": f"odd-{number}", "version": "?" * (1 + number % 2)})
    found = shaped(here.call("GET", f"{AGENTS}?limit=3&offset=28", admin), "agent-list")
    assert [item["name"] for item in found["items"]] == ["edge-28", "edge-29", "odd-0"]
    assert (found["total"], found["limit"], found["offset"]) == (34, 3, 28)
    counts = [(each["publishNumber"], each.get("version"), each["agents"]) for each in found["versions"]]
    assert counts == [(3, None, 10), (2, None, 10), (1, None, 10), (None, "?", 2), (None, "??", 2)]
    assert (found["convergence"]["agents"], found["convergence"]["current"]) == (34, 10)
