"""The overview in one response: projects with agents, and the drafts and proposals that wait, as far as one may see them."""

from pathlib import Path
from typing import Any

from tests.e2e.caller import Caller
from tests.e2e.git import Clone
from tests.e2e.world import Place, World, redirect

PATH = "/api/overview"


def _drafts(found: Any, place: Place) -> list[Any]:
    return [each for each in found["drafts"] if each["namespace"] == place.namespace]


def test_a_draft_waits_with_its_review_until_it_is_published(world: World, place: Place) -> None:
    place.published("/a")
    assert _drafts(world.root.get(PATH), place) == []
    place.add("/b")
    assert _drafts(world.root.get(PATH), place)[0]["changes"] is None  # it was not read yet
    head = place.get("/draft")["head"]
    [waiting] = _drafts(world.root.get(PATH), place)
    assert (waiting["project"], waiting["draft"], waiting["head"]) == ("shop", "main", head)
    assert waiting["changes"] == place.get("/drafts")["items"][0]["changes"]
    assert waiting["changes"]["redirects"] == {"added": 1, "changed": 0, "removed": 0}
    assert (waiting["conflicts"], waiting["review"]["state"]) == (0, "none")
    note = f"{'Before the sale. ' * 20}\nThank you."
    place.ask("POST", "/draft/review", 200, json={"action": "request", "head": head, "note": note})
    review = _drafts(world.root.get(PATH), place)[0]["review"]
    assert (review["state"], review["requestNote"]) == ("requested", note[:200])
    place.add("/c")
    assert _drafts(world.root.get(PATH), place)[0]["changes"] is None  # those are of another state
    place.publish()
    assert _drafts(world.root.get(PATH), place) == []


def test_conflicts_with_release_are_counted(world: World, place: Place, tmp_path: Path) -> None:
    place.published("/a")
    item = place.get("/draft/redirects")["items"][0]
    place.ask("PATCH", f"/draft/redirects/{item['id']}", 200, json={"target": "/mine"})
    clone = Clone.of(place.repository, tmp_path / "clone")
    rules = clone.folder / "shop" / "redirects.yaml"
    clone.publish("shop/redirects.yaml", rules.read_text(encoding="utf-8").replace("/new", "/theirs"))
    assert _drafts(world.root.get(PATH), place)[0]["conflicts"] == 1


def test_each_sees_what_they_may_see(world: World, place: Place) -> None:
    place.add("/b")
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json={"branch": "b", "project": "shop"}).json()
    every = world.root.get(PATH, limit=1000)
    assert [each["id"] for each in every["proposals"] if each["namespace"] == place.namespace] == [made["id"]]
    reader = world.holder(("redirect", "read"), namespace=place.namespace)
    found = reader.get(PATH)
    assert [(each["namespace"], each["name"], each["agents"], each["publishes"]) for each in found["items"]] == [
        (place.namespace, "shop", None, None)
    ]
    assert (found["drafts"], found["proposals"], found["namespaces"]) == (
        [],
        [],
        [{"name": place.namespace, "description": "", "projects": 1}],
    )
    nobody = world.holder(("redirect", "read"), namespace="nowhere").get(PATH)
    assert (nobody["items"], nobody["namespaces"], nobody["total"]) == ([], [], 0)


def test_projects_and_namespaces_are_found_by_their_names_and_titles(world: World, place: Place) -> None:
    place.root.ask("POST", f"{place.space}/projects", 201, json={"name": "blog", "title": "Summer Sale"})
    other = world.place()
    other.add("/waits")

    def find(text: str, **window: int) -> tuple[list[str], list[str], int]:
        found = world.root.get(PATH, q=text, **window)
        assert {each["namespace"] for each in found["drafts"]} <= {each["name"] for each in found["namespaces"]}
        return [each["name"] for each in found["items"]], [each["name"] for each in found["namespaces"]], found["total"]

    assert find(f"sale {place.namespace.upper()}") == (["blog"], [place.namespace], 1)
    assert find(f"{place.namespace}/shop") == (["shop"], [place.namespace], 1)
    assert find(f" {place.namespace} ") == (["blog", "shop"], [place.namespace], 2)
    assert find(place.namespace, limit=1, offset=1) == (["shop"], [place.namespace], 2)
    assert find(f"{place.namespace} nothing") == ([], [], 0)
    empty = world.namespace()
    assert find(empty) == ([], [empty], 0)
    [counted] = world.root.get(PATH, q="blog " + place.namespace)["namespaces"]
    assert counted["projects"] == 2  # all of them
    reader = world.holder(("redirect", "read"), namespace=other.namespace)
    assert reader.get(PATH, q=place.namespace)["namespaces"] == []


def test_agents_are_counted_and_projects_are_paged(world: World, place: Place) -> None:
    place.published("/a")
    for name, version in (("one", 2), ("two", 1)):
        place.ask(
            "POST", "/agents", 200, json={"name": name, "version": version, "status": "success", "type": "default"}
        )
    pages = [world.root.get(PATH, limit=1, offset=offset) for offset in range(2)]
    every = world.root.get(PATH, limit=1000)
    assert [page["items"] for page in pages] == [[each] for each in every["items"][:2]] or every["total"] == 1
    [mine] = [each for each in every["items"] if each["namespace"] == place.namespace]
    counted = {name: mine["agents"][name] for name in ("total", "online", "current", "behind", "failing")}
    assert counted == {"total": 2, "online": 2, "current": 1, "behind": 1, "failing": 0}
    assert [each["agents"] for each in mine["agents"]["taken"]] == [1]
    place.ask("POST", "/agents", 200, json={"name": "two", "version": 2, "status": "error", "type": "default"})
    [mine] = [each for each in world.root.get(PATH, limit=1000)["items"] if each["namespace"] == place.namespace]
    assert (mine["agents"]["behind"], mine["agents"]["failing"]) == (1, 1)
    failing = [each for each in world.root.get(PATH)["failing"] if each["namespace"] == place.namespace]
    assert failing == [{"namespace": place.namespace, "project": "shop", "first": "two", "agents": 1}]
    reader = world.holder(("project", "read"), namespace=place.namespace).get(PATH)
    assert (reader["failing"], reader["failingTotal"]) == ([], 0)


def test_the_last_publishes_of_each_project_are_told(world: World, place: Place) -> None:
    def last() -> list[tuple[int, str]]:
        [mine] = [each for each in world.root.get(PATH, limit=1000)["items"] if each["namespace"] == place.namespace]
        return [(each["publishNumber"], each["message"]) for each in mine["publishes"]]

    assert [number for number, _ in last()] == [1]
    for number in range(2, 6):
        place.add(f"/{number}")
        place.publish(message=f"Publish {number}\n\nmore")
    assert last() == [(5, "Publish 5"), (4, "Publish 4"), (3, "Publish 3")]


def test_what_waits_for_the_caller_comes_first_however_old_it_is_and_the_rest_is_paged(
    world: World, place: Place
) -> None:
    reviewer, publisher = (
        world.holder(("project", "read"), ("project", grant), namespace=place.namespace)
        for grant in ("review", "publish")
    )

    def add(draft: str) -> str:
        path = f"{place.path}/draft/redirects?draft={draft}"
        place.root.ask("POST", path, 201, json=redirect(f"/{draft}"))
        body = {"branch": draft, "project": place.project, "draft": draft}
        made: str = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
        return made

    asked = add("z-asked")
    others = [f"other-{number}" for number in range(51)]
    for name in others:
        add(name)
    head = place.get("/draft?draft=z-asked")["head"]
    of_proposal = f"{place.space}/proposal/{asked}/review"

    def say(action: str) -> None:
        body = {"action": action, "head": head}
        caller = place.root if action == "request" else reviewer
        caller.ask("POST", f"{place.path}/draft/review?draft=z-asked", 200, json=body)
        caller.ask("POST", of_proposal, 200, json=body)

    def first(caller: Caller) -> tuple[str, str]:
        found = caller.get(PATH)
        return found["drafts"][0]["draft"], found["proposals"][0]["branch"]

    assert "z-asked" not in first(reviewer)
    say("request")
    assert first(reviewer) == ("z-asked", "z-asked")
    assert "z-asked" not in first(publisher)
    assert "z-asked" not in first(place.root)  # who asked waits for others
    say("approve")
    assert "z-asked" not in first(reviewer)
    assert first(publisher) == ("z-asked", "z-asked")
    pages = [publisher.get(PATH, waitingOffset=begin) for begin in (0, 50)]
    assert [(len(each["drafts"]), len(each["proposals"])) for each in pages] == [(50, 50), (2, 2)]
    assert {each["draft"] for page in pages for each in page["drafts"]} == {"z-asked", *others}
    assert {each["branch"] for page in pages for each in page["proposals"]} == {"z-asked", *others}
    assert [(page["draftsTotal"], page["proposalsTotal"]) for page in pages] == [(52, 52)] * 2
    assert [each["drafts"] for each in publisher.get(PATH)["items"]] == [52]
    agent = world.holder(("redirect", "read"), namespace=place.namespace)
    assert [each["drafts"] for each in agent.get(PATH)["items"]] == [None], "nor may it read the list of drafts"
    assert publisher.get(PATH, waitingOffset=52)["drafts"] == []
