"""The API of agents: version, redirects, pages, registration and heartbeat, exactly as in the contract."""

import json
from datetime import datetime
from typing import Any

import pytest

from tests.e2e.contract import describe
from tests.e2e.world import Place, World, page, redirect
from tests.service import wait_until

PERMISSIONS = (("redirect", "read"), ("page", "read"), ("agent", "write"))
AGENT = {"name": "edge-1", "type": "default", "version": 2, "status": "success", "load_duration": 1_500_000}
STATUSES = {
    "MOVED_PERMANENT": 301,
    "FOUND": 302,
    "TEMPORARY_REDIRECT": 307,
    "PERMANENT_REDIRECT": 308,
}
RULES = [
    redirect("/basic", "/new", status="MOVED_PERMANENT"),
    redirect("shop.example/host", "https://shop.example/new", type="BASIC_HOST", status="FOUND"),
    redirect("^/regex/(.*)$", "/new/$1", type="REGEX", status="TEMPORARY_REDIRECT"),
    redirect("^shop\\.example/r/(.*)$", "https://a.example/$1", type="REGEX_HOST", status="PERMANENT_REDIRECT"),
]
PAGES = [
    page("/robots.txt", "User-agent: *\nDisallow:\n"),
    page("shop.example/feed.xml", "<a>\u00e9\u2028</a>", type="BASIC_HOST", contentType="XML"),
]


@pytest.fixture
def agent(place: Place) -> Place:
    """Return a project with rules of every type and both kinds of pages, as its agent."""
    changes = [{"op": "put", "kind": "redirect", "item": item} for item in RULES]
    changes += [{"op": "put", "kind": "page", "item": item} for item in PAGES]
    place.ask("POST", "/draft/changes", 200, json=changes)
    place.publish()
    return place.holder(*PERMISSIONS)


def state(place: Place, name: str = "edge-1") -> Any:
    """Return the state of an agent."""
    return place.as_(place.world.root).get(f"/agents/{name}")


def test_the_version_is_a_json_string_that_every_publish_changes(agent: Place) -> None:
    first = agent.ask("GET", "/version", 200)
    assert first.content == b'"%b"' % first.headers["X-Project-Version"].encode()
    assert first.headers["Content-Type"] == "application/json"
    found = agent.as_(agent.world.root).published("/another")
    assert agent.get("/version") == found["version"] != first.json()


@pytest.mark.parametrize(("tail", "items"), [("/redirects", RULES), ("/pages", PAGES)])
def test_a_list_holds_exactly_the_fields_of_the_contract(agent: Place, tail: str, items: list[Any]) -> None:
    answer = agent.ask("GET", tail, 200)
    assert answer.json() == {"items": items, "total": len(items), "limit": 500, "offset": 0}
    assert json.dumps(items, separators=(",", ":"), ensure_ascii=False).encode() in answer.content


@pytest.mark.parametrize(
    ("limit", "offset", "shown"),
    [(0, 0, 0), (0, 2, 0), (1, 0, 1), (1, 3, 1), (3, 0, 3), (4, 0, 4), (500, 3, 1), (500, 4, 0), (2, 10**18, 0)],
)
def test_a_window_has_the_requested_limit_and_offset(agent: Place, limit: int, offset: int, shown: int) -> None:
    found = agent.get("/redirects", limit=limit, offset=offset)
    assert (found["limit"], found["offset"], found["total"]) == (limit, offset, len(RULES))
    assert found["items"] == RULES[offset : offset + limit]
    assert len(found["items"]) == shown


def test_the_largest_limit_is_never_cut(agent: Place) -> None:
    found = agent.get("/redirects", limit=2**63 - 1)
    assert (found["limit"], found["items"]) == (2**63 - 1, RULES)


def test_an_empty_project_has_empty_lists(place: Place) -> None:
    for tail in ("/redirects", "/pages"):
        assert place.get(tail) == {"items": [], "total": 0, "limit": 500, "offset": 0}


def test_drafts_never_show(agent: Place) -> None:
    before = [agent.ask("GET", tail, 200).content for tail in ("/version", "/redirects", "/pages")]
    people = agent.as_(agent.world.root)
    people.add("/draft-only")
    people.add_page("/draft-only.txt")
    assert [agent.ask("GET", tail, 200).content for tail in ("/version", "/redirects", "/pages")] == before


def test_registration_answers_200_and_nothing(agent: Place) -> None:
    answer = agent.ask("POST", "/agents", 200, json=AGENT)
    assert (answer.content, answer.headers["Content-Length"]) == (b"", "0")
    found = state(agent)
    assert {name: found[name] for name in AGENT} == AGENT
    assert found["online"] is True
    assert (found["publishNumber"], found["commit"], found["behind"]) == (2, agent.get("/version"), 0)
    assert found["current"] is True


def test_a_second_registration_replaces_what_the_first_said(agent: Place) -> None:
    agent.ask("POST", "/agents", 200, json=AGENT)
    created = state(agent)["createdAt"]
    failed = {"name": "edge-1", "type": "proxy", "version": 1, "status": "error", "error": "line 3: no"}
    agent.ask("POST", "/agents", 200, json=failed)
    found = state(agent)
    assert {name: found[name] for name in failed} == failed
    assert (found["load_duration"], found["createdAt"]) == (None, created)
    assert (found["current"], found["behind"]) == (False, 1)


@pytest.mark.parametrize("version", [0, 1, 99, 2**63 - 1, "2", "0", "not a version", "", "0123abc", "f" * 40])
def test_a_version_is_kept_as_it_was_sent(agent: Place, version: int | str) -> None:
    agent.ask("POST", "/agents", 200, json={**AGENT, "version": version})
    found = state(agent)
    assert found["version"] == version
    assert found["publishNumber"] == {1: 1, "2": 2}.get(version)


def test_a_version_may_be_the_sha_or_how_it_begins(agent: Place) -> None:
    sha = agent.get("/version")
    for version in (sha, sha[:7], sha.upper()):
        agent.ask("POST", "/agents", 200, json={**AGENT, "version": version})
        assert state(agent)["current"] is True


def test_the_name_of_one_proxy_means_proxy(agent: Place) -> None:
    agent.ask("POST", "/agents", 200, json={**AGENT, "type": "traefik"})
    assert state(agent)["type"] == "proxy"


def test_unknown_fields_are_ignored(agent: Place) -> None:
    agent.ask("POST", "/agents", 200, json={**AGENT, "hostname": "web-1", "extra": {"deep": [1, None]}})
    assert state(agent)["version"] == 2


def test_a_heartbeat_answers_200_and_is_noted(agent: Place) -> None:
    agent.ask("POST", "/agents", 200, json=AGENT)
    before = datetime.fromisoformat(state(agent)["lastSeenAt"])

    def seen_later() -> bool:
        answer = agent.ask("PATCH", "/agents/edge-1/hit", 200)
        assert (answer.content, answer.headers["Content-Length"]) == (b"", "0")
        return datetime.fromisoformat(state(agent)["lastSeenAt"]) > before  # whole seconds

    wait_until(seen_later, 15, "a heartbeat to be noted")


def test_a_heartbeat_of_an_unknown_agent_creates_it(agent: Place) -> None:
    agent.ask("PATCH", "/agents/new_one/hit", 200)
    people = agent.as_(agent.world.root)
    wait_until(lambda: people.get("/agents")["items"], 15, "the agent to be there")
    found = state(agent, "new_one")
    assert (found["type"], found["version"], found["current"]) == ("default", None, False)


def test_people_see_who_runs_what_and_can_forget_an_agent(agent: Place) -> None:
    for name, version in (("a", 1), ("b", 2), ("c", 2), ("d", "unheard-of")):
        agent.ask("POST", "/agents", 200, json={**AGENT, "name": name, "version": version})
    people = agent.as_(agent.world.root)
    found = people.get("/agents", limit=2, offset=1)
    assert ([item["name"] for item in found["items"]], found["total"]) == (["b", "c"], 4)
    assert [(each["publishNumber"], each["agents"]) for each in found["versions"]] == [(2, 2), (1, 1), (None, 1)]
    people.ask("DELETE", "/agents/a", 204)
    people.refused("GET", "/agents/a", 404, "not_found")
    agent.ask("POST", "/agents", 200, json={**AGENT, "name": "a"})


def test_people_filter_agents_by_name_and_state(agent: Place) -> None:
    for name, version, fields in (
        ("Edge-1", 2, {}),
        ("edge_2", 1, {}),
        ("edge-3", 2, {"status": "error", "error": "disk full"}),
        ("proxy", "unheard-of", {}),
    ):
        agent.ask("POST", "/agents", 200, json={**AGENT, "name": name, "version": version, **fields})
    people = agent.as_(agent.world.root)

    def names(**query: Any) -> list[str]:
        found = people.get("/agents", **query)
        assert found["total"] == len(found["items"])
        assert sum(each["agents"] for each in found["versions"]) == 4
        return [item["name"] for item in found["items"]]

    assert names(q="edge-") == ["Edge-1", "edge-3"]
    assert names(q="_") == ["edge_2"]
    assert names(q="\0") == []
    assert names(state="current") == ["Edge-1"]
    assert names(state="behind") == ["edge_2", "proxy"]
    assert names(state="failing") == ["edge-3"]
    assert names(state="silent") == []
    found = people.get("/agents", state="behind", limit=1, offset=1)
    assert ([item["name"] for item in found["items"]], found["total"]) == (["proxy"], 2)
    people.refused("GET", "/agents?state=odd", 400, "bad_parameter")


def test_agents_of_one_name_in_two_projects_are_two(world: World, agent: Place) -> None:
    other = world.place(agent.namespace, "other")
    agent.ask("POST", "/agents", 200, json=AGENT)
    assert other.get("/agents")["total"] == 0


def test_an_agents_token_can_do_nothing_else(agent: Place) -> None:
    for method, tail in (
        ("GET", "/agents"),
        ("GET", "/agents/edge-1"),
        ("POST", "/publish"),
        ("POST", "/draft/redirects"),
        ("POST", "/draft/changes"),
        ("POST", "/import"),
        ("DELETE", ""),
    ):
        answer = agent.root.send(method, agent.path + tail, json=[{"op": "put", "kind": "redirect", "item": RULES[0]}])
        assert answer.status_code == 403, describe(answer)
    for path in ("/api/users", "/api/tokens", "/api/roles", agent.space):
        agent.root.refused("GET", path, 403, "forbidden")


def test_head_gives_the_headers_of_get(agent: Place) -> None:
    for tail in ("/version", "/redirects", "/pages"):
        got, headed = (agent.ask(method, tail, 200) for method in ("GET", "HEAD"))
        for name in ("ETag", "X-Project-Version", "X-Publish-Number", "Content-Type"):
            assert got.headers[name] == headed.headers[name]


def test_ping_is_204_for_anybody(world: World) -> None:
    answer = world.nobody.ask("GET", "/health/ping", 204)
    assert answer.content == b""


def test_ready_names_its_checks(world: World) -> None:
    """The checks are also named if another test has left a fault behind and the service is not ready."""
    found = world.nobody.send("GET", "/health/ready").json()
    assert {check["name"] for check in found["checks"]} == {
        "data",
        "restored",
        "state",
        "content",
        "write",
        "disk",
        "upstreams",
    }
