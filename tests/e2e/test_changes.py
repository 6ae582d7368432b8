"""Changes over HTTP: agents that hold a version follow by what differs, and have the same lists as those that walk."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.docs.blocks import blocks
from tests.e2e.delta_agent import read_agent
from tests.e2e.git import Clone, git, remove_hooks, rules
from tests.e2e.world import Place, page, redirect
from tests.gitstore.fixtures import seeded_random
from tests.rounds import rounds
from tests.service import ROOT

AGENT = (("redirect", "read"), ("page", "read"))
KINDS = ("redirects", "pages")
PUBLISHES = rounds(24, 110)
NOTHING: dict[str, list[Any]] = {"added": [], "changed": [], "removed": []}


def agent_of(place: Place, *permissions: tuple[str, str]) -> Any:
    """Return an agent of the how-to page, with these grants in the project."""
    token = place.holder(*(permissions or AGENT)).root.token
    kinds = [f"{resource}s" for resource, _ in permissions or AGENT]
    return read_agent()(place.world.service.url + place.path, token, kinds)


def whole(place: Place, version: str) -> dict[str, list[Any]]:
    """Return both lists of a version, read as a whole."""
    return {kind: place.get(f"/versions/{version}/{kind}", limit=1_000_000)["items"] for kind in KINDS}


def changes(place: Place, old: str, **params: Any) -> Any:
    """Return the changes since a version."""
    return place.get("/changes", **{"from": old, **params})


def test_the_agent_of_the_page_has_forty_lines() -> None:
    text = (ROOT / "docs" / "how-to" / "add-an-agent.md").read_text("utf-8")
    (snippet,) = (block.text for block in blocks(text) if block.file == "agent.py")
    assert len(snippet.splitlines()) <= 40


def test_agents_follow_publishes_by_changes_while_others_publish(place: Place, tmp_path: Path) -> None:
    """Guard: at every version that an agent meets, its lists are those that a walk gives, in the same order.

    Publishes add, change, move and remove rules and pages, by API and by pushes of a file. Afterwards, agents that slept
    through any number of them follow too.
    """
    publisher, done = Publisher(place, Clone.of(place.repository, tmp_path / "clone")), Event()
    remove_hooks(place.repository)
    place.ask("POST", "/draft/changes", 200, json=[put_rule(f"/{number}", "/first") for number in range(60)])
    place.publish()

    def follow(_: int) -> tuple[int, int]:
        agent, seen, walks = agent_of(place), set[str](), 0
        while not done.is_set() or agent.version != place.get("/version"):
            before = agent.version
            agent.sync()
            walks += before == "0"
            if agent.version not in seen:
                assert agent.lists == whole(place, agent.version), (before, agent.version)
            seen.add(agent.version)
        return len(seen), walks

    with ThreadPoolExecutor(3) as pool:
        following = [pool.submit(follow, number) for number in range(3)]
        try:
            versions = [publisher.publish(number) for number in range(PUBLISHES)]
        finally:
            done.set()
        assert all(seen > 1 and walks == 1 for seen, walks in (each.result(120) for each in following))
    assert place.get("")["publishNumber"] == PUBLISHES + 2
    newest, agent = whole(place, versions[-1]), agent_of(place)
    for version in versions[::9]:
        agent.walk(version)
        agent.sync()
        assert (agent.version, agent.lists) == (versions[-1], newest), version


class Publisher:
    """A person and a script that publish random changes of one project."""

    def __init__(self, place: Place, clone: Clone) -> None:
        self._place = place
        self._clone = clone
        self._random = seeded_random()

    def publish(self, number: int) -> str:
        """Publish once; every tenth time, push a file with rules in another order. Return the version."""
        if number % 10 == 9:
            return self._push()
        found = self._place.get("/redirects", limit=1_000)["items"]
        sources = [item["source"] for item in found if not item["source"].startswith("/pushed/")]
        # In a file that no push replaces: the other worker may show a push a moment later.
        edits = [
            put_rule(f"/{self._random.randrange(80)}", f"/to/{number}/{each}", file="redirects.yaml")
            for each in range(3)
        ]
        edits += [{"op": "delete", "kind": "redirect", "source": self._random.choice(sources)}]
        edits += [{"op": "put", "kind": "page", "item": page(f"/p{number % 7}", f"text {number}\n\tä")}]
        self._place.ask("POST", "/draft/changes", 200, json=list({written_by(each): each for each in edits}.values()))
        version: str = self._place.publish()["version"]
        return version

    def _push(self) -> str:
        git(self._clone.folder, "pull", "-q", "--ff-only")
        sources = [f"/pushed/{each}" for each in self._random.sample(range(20), 12)]
        commit = self._clone.publish(f"{self._place.project}/redirects/pushed.yaml", rules(*sources))
        self._place.wait_for(commit)
        return commit


def put_rule(source: str, target: str, **fields: str) -> dict[str, Any]:
    """Return the change of a draft that writes a redirect."""
    return {"op": "put", "kind": "redirect", "item": redirect(source, target, **fields)}


def written_by(edit: dict[str, Any]) -> str:
    """Return the source or path that an edit is about."""
    item = edit.get("item", edit)
    found: str = item.get("source") or item["path"]
    return found


@pytest.fixture
def three(place: Place) -> list[str]:
    """Return the versions of three publishes: the empty project, two rules and a page, and one of the rules changed."""
    first = place.get("/version")
    place.add("/a")
    place.add_page("/p")
    second = place.published("/b")["version"]
    place.ask("POST", "/draft/changes", 200, json=[put_rule("/a", "/other")])
    return [first, second, place.publish()["version"]]


def test_changes_have_the_index_and_the_whole_record(place: Place, three: list[str]) -> None:
    first, second, third = three
    added = [{"index": 0, "item": redirect("/a")}, {"index": 1, "item": redirect("/b")}]
    assert changes(place, first, to=second) == {
        "from": first,
        "to": second,
        "redirects": {**NOTHING, "added": added},
        "pages": {**NOTHING, "added": [{"index": 0, "item": page("/p")}]},
    }
    changed = {**NOTHING, "changed": [{"index": 0, "item": redirect("/a", "/other")}]}
    assert changes(place, second) == {"from": second, "to": third, "redirects": changed, "pages": NOTHING}
    assert changes(place, third, to=first)["redirects"] == {
        **NOTHING, "removed": [{"index": 0, "item": redirect("/a", "/other")}, {"index": 1, "item": redirect("/b")}]
    }  # fmt: skip
    assert changes(place, third) == {"from": third, "to": third, "redirects": NOTHING, "pages": NOTHING}


def test_versions_may_be_numbers_or_prefixes(place: Place, three: list[str]) -> None:
    wanted = changes(place, three[1])
    assert changes(place, "2") == changes(place, three[1][:8].upper()) == changes(place, "2", to="3") == wanted


def test_with_a_target_the_response_never_changes(place: Place, three: list[str]) -> None:
    """Without one it is checked each time, and 304 while the version is current."""
    for to in (three[1], three[2], "3"):
        answer = place.ask("GET", "/changes", 200, params={"from": three[0], "to": to})
        assert "immutable" in answer.headers["Cache-Control"]
    answer = place.ask("GET", "/changes", 200, params={"from": three[1]})
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert (answer.headers["X-Project-Version"], answer.headers["X-Publish-Number"]) == (three[2], "3")
    known = {"If-None-Match": answer.headers["ETag"]}
    for old in three[1:]:
        assert place.ask("GET", "/changes", 304, params={"from": old}, headers=known).content == b""
    version = place.published("/c")["version"]
    again = place.ask("GET", "/changes", 200, params={"from": three[1]}, headers=known)
    assert again.headers["ETag"] == f'"{version}"'
    assert [each["item"]["source"] for each in again.json()["redirects"]["added"]] == ["/c"]


def test_a_caller_gets_the_lists_that_it_may_read(place: Place, three: list[str]) -> None:
    """Guard: also from the cache, and also if its copy of the response is that of another grant."""
    both = place.ask("GET", "/changes", 200, params={"from": three[0]})
    for resource in ("redirect", "page"):
        agent = agent_of(place, (resource, "read"))
        agent.sync()
        assert agent.lists == {f"{resource}s": whole(place, three[2])[f"{resource}s"]}
        caller = place.holder((resource, "read"))
        headers = {"If-None-Match": both.headers["ETag"]}
        answer = caller.ask("GET", "/changes", 200, params={"from": three[0]}, headers=headers)
        assert answer.json() == {name: both.json()[name] for name in ("from", "to", f"{resource}s")}
        caller.ask("GET", "/changes", 304, params={"from": three[0]}, headers={"If-None-Match": answer.headers["ETag"]})
    for others in (("agent", "read"), ("project", "read"), ("redirect", "write")):
        place.holder(others).refused("GET", "/changes", 403, "forbidden", params={"from": three[0]})
    place.as_(place.world.nobody).refused("GET", "/changes", 401, "unauthenticated", params={"from": three[0]})


def test_a_version_that_is_not_known_is_gone(place: Place, three: list[str]) -> None:
    """Guard: also one of an earlier namespace of that name, whose agents then walk."""
    for word in ("f" * 40, "0123456", "4", "0", "99999999"):
        place.refused("GET", "/changes", 410, "version_too_old", params={"from": word})
        place.refused("GET", "/changes", 404, "not_found", params={"from": three[0], "to": word})
    agent = read_agent()(place.world.service.url + place.path, place.root.token)
    agent.sync()
    assert agent.version == three[2]
    place.root.ask("DELETE", place.space, 204, params={"confirm": place.namespace})
    place.refused("GET", "/changes", 404, "not_found", params={"from": three[2]})
    place.root.ask("POST", "/api/namespaces", 201, json={"name": place.namespace})
    again = place.world.place(place.namespace, place.project)
    again.published("/again")
    for word in (three[2], "3"):
        again.refused("GET", "/changes", 410, "version_too_old", params={"from": word})
    agent.sync()
    assert agent.lists == whole(again, again.get("/version"))


def test_bad_parameters_are_refused(place: Place) -> None:
    """A misspelled `to` would lead to another version than the wanted one."""
    here = place.get("/version")
    for params in ({}, {"from": ""}, {"to": here}, {"from": [here, here]}, {"from": here, "too": here}):
        place.refused("GET", "/changes", 400, "bad_parameter", params=params)
    for params in ({"from": "main"}, {"from": "../x"}, {"from": "1e3"}, {"from": here, "to": "draft"}):
        for headers in ({}, {"If-None-Match": "*"}):
            place.refused("GET", "/changes", 400, "bad_request", params=params, headers=headers)
    place.root.refused("GET", f"{place.space}/project/nowhere/changes", 404, "not_found", params={"from": here})


def test_changes_are_compressed_for_clients_that_accept_it(place: Place) -> None:
    old = place.get("/version")
    place.ask("POST", "/draft/changes", 200, json=[put_rule(f"/{number}", "/x") for number in range(50)])
    place.publish()
    found = [
        place.ask("GET", "/changes", 200, params={"from": old}, headers={"Accept-Encoding": coding})
        for coding in ("gzip", "identity", "gzip")
    ]
    assert [each.headers.get("Content-Encoding") for each in found] == ["gzip", None, "gzip"]
    assert len({each.content for each in found}) == 1
    assert found[0].headers["ETag"] == found[1].headers["ETag"].removesuffix('"') + '-gzip"'
    for each in found:
        headers = {"If-None-Match": each.headers["ETag"]}
        place.ask("GET", "/changes", 304, params={"from": old}, headers=headers)
