"""Archived namespaces and others of their name: what continues, what comes back with a restore, and what never does."""

import random
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.caller import Caller
from tests.e2e.git import git
from tests.e2e.hooks import PATIENCE, create_webhook, deliveries, wait_until_relayed
from tests.e2e.receiver import Receiver
from tests.e2e.stream import following
from tests.e2e.world import Place, World
from tests.service import wait_until

AGENT = {"name": "edge-1", "type": "default", "version": 2, "status": "success"}


def archive(place: Place) -> str:
    """Archive the namespace of a place; return the id of its archive."""
    place.root.ask("DELETE", f"{place.space}?confirm={place.namespace}", 204)
    found: str = archives(place)[0]["id"]
    return found


def archives(place: Place) -> list[Any]:
    """Return the archives of a place's name, the last one first."""
    found: list[Any] = place.root.get("/api/namespaces/archived", namespace=place.namespace)["items"]
    return found


def recreate(place: Place, **fields: Any) -> Place:
    """Create a namespace of the same name, and the project in it."""
    place.root.ask("POST", "/api/namespaces", 201, json={"name": place.namespace, **fields})
    return place.world.place(place.namespace)


def restore(place: Place, **params: str) -> None:
    place.root.ask("POST", f"{place.space}/restore", 200, params=params)


def newest(place: Place) -> int:
    """Return the number of the newest publish."""
    found: int = place.get("/history", limit=1)["items"][0]["publishNumber"]
    return found


def test_numbers_continue_where_the_name_was_used_before(place: Place) -> None:
    """They do in the second and third namespace of the name, for each project; versions can be asked for by number."""
    place.published("/a")
    place.published("/b")
    other = place.world.place(place.namespace, "help")
    assert (newest(place), newest(other)) == (3, 1)
    archive(place)
    again = recreate(place)
    assert newest(again) == 4
    assert again.published("/c")["publishNumber"] == 5
    assert again.get("/versions/5/redirects")["items"][0]["source"] == "/c"
    again.refused("GET", "/versions/3/redirects", 404, "not_found")
    assert [item["publishNumber"] for item in again.get("/history")["items"]] == [5, 4]
    assert again.get("/history")["total"] == 2
    again.ask("POST", "/rollback", 200, json={"version": "4"})
    assert again.sources() == []
    assert "Highest-publish-number: shop 3" in git(again.repository, "log", "--format=%B", "--reverse", "release")
    archive(place)
    third = recreate(place)
    assert newest(third) == 7
    assert newest(place.world.place(place.namespace, "help")) == 2


def test_numbers_continue_when_the_archive_was_emptied(place: Place) -> None:
    place.published("/a")
    archive(place)
    for folder in (place.world.service.data / "trash").glob(f"{place.namespace}-*"):
        shutil.rmtree(folder)
    assert newest(recreate(place)) == 3


def test_numbers_are_of_git_alone_afterwards(place: Place) -> None:
    """Without compiled files, and without the database, they are the same."""
    place.published("/a")
    archive(place)
    again = recreate(place)
    again.published("/b")
    shutil.rmtree(place.world.service.data / "compiled" / place.namespace / "versions")
    for path in (place.world.service.data / "compiled" / place.namespace / "manifests").iterdir():
        path.unlink()
    assert again.published("/c")["publishNumber"] == 5
    assert [item["publishNumber"] for item in again.get("/history")["items"]] == [5, 4, 3]
    again.refused("GET", "/history/2", 404, "not_found")


def test_agents_of_a_deleted_namespace_do_not_come_back_and_are_never_current(place: Place) -> None:
    """Neither in a new namespace, before or after they report their old version, nor in the restored one."""
    place.published("/a")
    place.ask("POST", "/agents", 200, json=AGENT)
    place.ask("PATCH", "/agents/edge-2/hit", 200)
    identity = archive(place)
    again = recreate(place)
    assert again.get("/agents")["total"] == 0
    again.ask("POST", "/agents", 200, json=AGENT)
    found = again.get("/agents")
    assert [(item["current"], item["publishNumber"], item["behind"]) for item in found["items"]] == [
        (False, None, None)
    ]
    assert (found["convergence"]["agents"], found["convergence"]["current"]) == (1, 0)
    again.add("/b")
    reported = again.ask("POST", "/publish?wait=converged&timeout=1", 200).json()["convergence"]
    assert (reported["current"], reported["converged"]) == (0, False)
    archive(place)
    restore(place, archive=identity)
    assert place.get("/agents")["total"] == 0


def test_a_restored_namespace_is_as_it_was(place: Place) -> None:
    """Published rules, history, drafts and their reviews are; its publishes get no second event."""
    place.published("/a")
    place.add("/draft")
    head = place.get("/draft")["head"]
    reviewer = place.as_(place.world.person("publisher"))
    reviewer.ask("POST", "/draft/review", 200, json={"action": "comment", "head": head, "note": "Why?"})
    version = place.get("/version")
    place.root.ask("PATCH", place.space, 200, json={"description": "Our shop."})
    identity = archive(place)
    place.refused("GET", "/version", 404, "not_found")
    assert [(each["id"], each["description"], each["projects"]) for each in archives(place)] == [
        (identity, "Our shop.", 1)
    ]
    restore(place)
    assert (place.get("/version"), place.sources()) == (version, ["/a"])
    assert [item["publishNumber"] for item in place.get("/history")["items"]] == [2, 1]
    assert place.get("/draft")["head"] == head
    assert place.get("/draft")["review"]["comments"] == 1
    assert "Why?" in place.ask("GET", "/draft/review", 200).text
    assert place.publish()["publishNumber"] == 3
    assert archives(place) == []
    # An edit is noted within a second, the others with their change: its place among them is open.
    wait_until(lambda: "namespace_changed" in audited(place), 30, "the edit in the trail")
    others = [event for event in audited(place) if event != "namespace_changed"]
    assert others == ["namespace_restored", "namespace_archived", "namespace_created"]
    assert [kind for kind, _ in events(place, 2)] == ["namespace.restored", "published"]


def audited(place: Place) -> list[str]:
    """Return the entries of the trail about the namespace itself, the newest first."""
    found = place.root.get("/api/audit", namespace=place.namespace)["items"]
    return [each["event"] for each in found if each["event"].startswith("namespace_")]


def events(place: Place, count: int) -> list[Any]:
    """Return the types and data of all events of the namespace, once there are so many."""
    with following(place, after="0") as follower:
        return [(kind, body["data"]) for _, kind, body in follower.wait(count)]


def test_a_restore_is_refused_over_a_newer_namespace_of_the_name(place: Place) -> None:
    identity = archive(place)
    recreate(place)
    for params in ({}, {"archive": identity}):
        place.root.refused("POST", f"{place.space}/restore", 409, "already_exists", params=params)
    archive(place)
    upper = Place(place.world, place.namespace.upper(), "shop", place.root)
    place.root.ask("POST", "/api/namespaces", 201, json={"name": upper.namespace})
    place.root.refused("POST", f"{place.space}/restore", 409, "already_exists")
    assert newest(place.world.place(upper.namespace)) == 3, "names ignore case, as for what is taken"
    archive(upper)
    place.root.refused("POST", f"{place.space}/restore", 404, "not_found", params={"archive": "../x"})
    place.root.refused("POST", f"{place.space}/restore", 404, "not_found", params={"archive": archives(upper)[0]["id"]})
    place.root.refused("POST", "/api/namespace/never-was/restore", 404, "not_found")


def test_numbers_of_an_older_archive_continue_after_those_of_the_newer(place: Place) -> None:
    place.published("/a")
    older = archive(place)
    again = recreate(place)
    again.published("/b")
    archive(place)
    restore(place, archive=older)
    assert (newest(place), place.sources()) == (2, ["/a"])
    assert place.published("/c")["publishNumber"] == 5
    assert [item["publishNumber"] for item in place.get("/history")["items"]] == [5, 2, 1]
    place.refused("GET", "/history/4", 404, "not_found")
    place.ask("POST", "/rollback", 200, json={"version": "2"})
    assert (newest(place), place.sources()) == (6, ["/a"])


@contextmanager
def holding(place: Place) -> Iterator[Caller]:
    """Return a caller whose token names the namespace."""
    yield place.holder(("redirect", "read"), ("project", "read"), ("agent", "write")).root


def test_grants_on_a_deleted_namespace_do_not_reach_a_new_one(place: Place) -> None:
    with holding(place) as holder:
        holder.ask("GET", f"{place.path}/redirects", 200)
        identity = archive(place)
        recreate(place)
        holder.ask("GET", f"{place.path}/redirects", 403)
        [entry] = place.root.get("/api/audit", event="namespace_created", namespace=place.namespace, limit=1)["items"]
        assert entry["detail"]["grantsRemovedFrom"]["tokens"]
    newer = place.as_(place.world.holder(("redirect", "read"), namespace=place.namespace)).root
    newer.ask("GET", f"{place.path}/redirects", 200)
    archive(place)
    restore(place, archive=identity)
    newer.ask("GET", f"{place.path}/redirects", 403)


def test_grants_stay_for_a_restore_and_where_the_creator_keeps_them(place: Place) -> None:
    with holding(place) as holder:
        archive(place)
        restore(place)
        holder.ask("GET", f"{place.path}/redirects", 200)
        archive(place)
        recreate(place, keepGrants=True)
        holder.ask("GET", f"{place.path}/redirects", 200)


def test_a_restore_needs_the_grant_for_every_namespace(place: Place) -> None:
    own = place.as_(place.world.holder(("namespace", "*"), namespace=place.namespace)).root
    archive(place)
    own.ask("POST", f"{place.space}/restore", 403)
    own.ask("GET", "/api/namespaces/archived", 403)


def test_webhooks_wait_in_the_archive(webhook_world: World, receiver: Receiver) -> None:
    """They get nothing of a new namespace, whose holders see none of them; the restored namespace has them again."""
    place = wait_until_relayed(webhook_world.place())
    made = create_webhook(place, receiver.url, events=["*"])
    place.published("/a")
    receiver.wait(1, "published")
    identity = archive(place)
    again = wait_until_relayed(recreate(place))
    assert again.root.get(f"{place.space}/webhooks")["total"] == 0
    again.root.refused("GET", f"{place.space}/webhook/{made['id']}", 404, "not_found")
    again.published("/secret")
    reported = [data["publishNumber"] for _, data in events(again, 2)]
    assert reported == [3, 4]
    other = create_webhook(again, receiver.url)
    archive(place)
    restore(place, archive=identity)
    assert [hook["id"] for hook in place.root.get(f"{place.space}/webhooks")["items"]] == [made["id"]]
    receiver.wait(1, "namespace.restored")
    place.published("/c")
    wait_until(lambda: len(receiver.of("published")) >= 2, PATIENCE, "the publish after the restore")
    numbers = [message.body["data"]["publishNumber"] for message in receiver.of("published")]
    assert numbers == [2, 5], "nothing of the namespace in between"
    assert len(deliveries(place, made)) == 2
    place.root.refused("GET", f"{place.space}/webhook/{other['id']}", 404, "not_found")


def test_no_number_names_two_versions_while_names_are_freed_and_taken_at_once(place: Place) -> None:
    """Several clients archive, create, restore and publish at once, over both workers."""
    published: list[tuple[int, str]] = []

    def work(seed: int) -> None:
        choose = random.Random(seed)  # noqa: S311 - test data
        for step in range(12):
            answer = act(choose, f"/{seed}-{step}")
            assert answer.status_code < 500, answer.text
            if answer.request.url.path.endswith("/publish") and answer.status_code == 200:
                body = answer.json()
                published.append((body["publishNumber"], body["version"]))

    def act(choose: random.Random, source: str) -> httpx.Response:
        chosen = choose.randrange(6)
        if chosen == 0:
            return place.root.send("DELETE", f"{place.space}?confirm={place.namespace}")
        if chosen == 1:
            place.root.send("POST", "/api/namespaces", json={"name": place.namespace})
            return place.root.send("POST", f"{place.space}/projects", json={"name": "shop"})
        if chosen == 2:
            identity = choose.choice([each["id"] for each in archives(place)] or ["none"])
            return place.root.send("POST", f"{place.space}/restore", params={"archive": identity})
        item = {"type": "BASIC", "source": source, "target": "/new", "status": "FOUND"}
        place.root.send("POST", f"{place.path}/draft/redirects", json=item)
        return place.root.send("POST", f"{place.path}/publish")

    with ThreadPoolExecutor(4) as pool:
        for first in range(0, 80, 4):  # in one turn, all publishes may meet a namespace that is gone
            list(pool.map(work, range(first, first + 4)))
            if published:
                break
    assert published
    assert len({number for number, _ in published}) == len(set(published))


@pytest.mark.parametrize("emptied", [False, True])
def test_what_a_killed_deletion_left_is_put_away_by_the_next_creation(
    place: Place, tmp_path: Path, *, emptied: bool
) -> None:
    """The repository was archived, and the database not changed; perhaps the archive is gone too."""
    place.published("/a")
    place.ask("POST", "/agents", 200, json=AGENT)
    wait_until(lambda: len(events(place, 2)) == 2, PATIENCE, "the events")
    data = place.world.service.data
    (data / "compiled" / place.namespace / "namespace").unlink()
    folder = data / "trash" / f"{place.namespace}-20260101T000000Z-00000000"
    folder.mkdir(parents=True)
    place.repository.rename((tmp_path if emptied else folder) / place.repository.name)
    again = recreate(place)
    assert newest(again) == 3
    assert again.get("/agents")["total"] == 0
    assert [data["publishNumber"] for _, data in events(again, 1)] == [3]
