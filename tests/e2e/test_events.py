"""The event stream of the running service with two workers: no event is missing, none comes twice."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from api.auth.permissions.principal import OPERATOR
from gitstore.git.repository import Author
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.e2e.git import Clone, remove_hooks, rules
from tests.e2e.stream import Follower, following
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, stop, wait_until

PATIENCE = 60.0
PROJECT = ("project", "read")
# enough connections for both workers to have some
FOLLOWERS = 6


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose workers may be replaced, and whose agents are reported silent after two seconds."""
    data = tmp_path_factory.mktemp("events") / "data"
    with running(WAYPOST, data, {"WAYPOST_AGENT_SILENT": "2"}) as service, open_world(service, killed=True) as found:
        yield found


def kinds(follower: Follower) -> list[str]:
    return [kind for _, kind, _ in list(follower.seen)]


def report(place: Place, status: str, error: str | None = None) -> None:
    body = {"name": "edge-1", "type": "proxy", "version": 1, "status": status, "error": error, "load_duration": 1}
    place.ask("POST", "/agents", 200, json={key: value for key, value in body.items() if value is not None})


def commit_many(clone: Clone, path: str, texts: list[str]) -> None:
    """Commit each text of a file, all by one process."""
    parts = [
        f"commit refs/heads/release\ncommitter Grace Hopper <grace@example.com> {int(time.time())} +0000\n"
        f"data 6\nChange\n{'' if number else 'from refs/heads/release^0' + chr(10)}"
        f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n"
        for number, text in enumerate(texts)
    ]
    subprocess.run(("git", "fast-import", "--quiet"), cwd=clone.folder, input="".join(parts).encode(), check=True)


def agent_kinds(follower: Follower) -> list[str]:
    return [kind for kind in kinds(follower) if kind.startswith("agent.")]


def test_a_new_project_has_an_event_of_its_first_publish(world: World) -> None:
    place = world.place()
    with following(place, after="0") as follower:
        ((_, kind, reported),) = follower.wait(1)
    assert (kind, reported["type"], reported["data"]["publishNumber"]) == ("published", "published", 1)
    assert reported["data"]["version"] == place.get("/version")


def test_all_followers_get_all_events_in_one_order_for_every_way_to_publish(world: World, tmp_path: Path) -> None:
    place = world.place()
    with ExitStack() as stack:
        followers = [stack.enter_context(following(place, after="0")) for _ in range(FOLLOWERS)]
        place.published("/a")
        clone = Clone.of(place.repository, tmp_path / "clone")
        for number in range(3):
            clone.publish(f"{place.project}/redirects.yaml", rules(f"/pushed/{number}"))
        wait_until(lambda: place.sources() == ["/pushed/2"], PATIENCE, "the pushes to be served")
        place.ask("POST", "/rollback", 200, json={"version": "1"})
        seen = [follower.wait(6) for follower in followers]
    assert all(each == seen[0] for each in seen)
    assert [data["data"]["publishNumber"] for _, _, data in seen[0]] == [1, 2, 3, 4, 5, 6]
    assert [kind for _, kind, _ in seen[0]] == ["published"] * 5 + ["rolled_back"]
    assert seen[0][-1][2]["data"]["rolledBackTo"]


def test_nothing_is_left_out_and_nothing_comes_twice_while_workers_are_replaced(world: World) -> None:
    place, service = world.place(), world.service
    with ExitStack() as stack:
        followers = [stack.enter_context(following(place, after="0")) for _ in range(FOLLOWERS)]
        for round_ in range(2):
            before = service.workers()
            service.process.send_signal(signal.SIGHUP)
            place.published(f"/hup/{round_}")
            wait_until(lambda: not service.workers() & before, PATIENCE, "new workers alone")  # noqa: B023 - used in this round
        os.kill(min(service.workers()), signal.SIGKILL)
        place.published("/killed")
        for follower in followers:
            wait_until(lambda: 4 in follower.numbers(), PATIENCE, "the last publish")  # noqa: B023 - as above
    assert all(follower.numbers() == [1, 2, 3, 4] for follower in followers)
    assert sum(follower.ends for follower in followers) >= FOLLOWERS


def test_a_backlog_that_is_longer_than_a_window_comes_whole(world: World, tmp_path: Path) -> None:
    place = world.place()
    clone = Clone.of(place.repository, tmp_path / "clone")
    commit_many(clone, f"{place.project}/redirects.yaml", [rules(f"/{number}") for number in range(130)])
    remove_hooks(place.repository)
    clone.push()
    with following(place, after="0") as follower:
        follower.wait(131)
    with following(place, after="0") as again:
        again.wait(131)
    assert again.numbers() == follower.numbers() == list(range(1, 132))


def test_only_events_that_the_token_may_read_are_sent(world: World) -> None:
    place = world.place()
    other = world.place(place.namespace, "other")
    reader = world.holder(("project", "read"), namespace=place.namespace, project="other")
    with following(place, after="0", token=reader.token) as follower:
        place.published("/secret")
        other.published("/open")
        wait_until(lambda: 2 in follower.numbers(), PATIENCE, "what may be read")
    assert {data["data"]["project"] for _, _, data in follower.seen} == {"other"}


def test_reports_of_agents_are_sent_to_readers_of_agents(world: World) -> None:
    place = world.place()
    readers = [world.holder(*grants, namespace=place.namespace) for grants in ([PROJECT], [PROJECT, ("agent", "read")])]
    with (
        following(place, after="0", token=readers[0].token) as without,
        following(place, after="0", token=readers[1].token) as informed,
    ):
        report(place, "error", "no such file")
        wait_until(lambda: "agent.failing" in kinds(informed), PATIENCE, "the failing agent")
        place.published("/after")
        for follower in (without, informed):
            wait_until(lambda: 2 in follower.numbers(), PATIENCE, "the publish after it")  # noqa: B023 - called at once
    assert agent_kinds(without) == []


@pytest.mark.parametrize("grant", [("redirect", "read"), ("namespace", "read")])
def test_without_a_grant_to_read_projects_there_is_nothing_to_follow(world: World, grant: tuple[str, str]) -> None:
    place = world.place()
    holder = world.holder(grant, namespace=place.namespace)
    holder.refused("GET", f"{place.space}/events", 403, "forbidden")
    world.holder(("project", "read"), namespace="elsewhere").refused("GET", f"{place.space}/events", 403, "forbidden")
    world.nobody.refused("GET", f"{place.space}/events", 401, "unauthenticated")


def test_what_is_malformed_is_refused_before_the_stream_begins(world: World) -> None:
    place = world.place()
    for text in ("x", "-1", "1.0", "", "9" * 30):
        if text:
            headers = {"Last-Event-ID": text}
            place.root.refused("GET", f"{place.space}/events", 400, "bad_parameter", headers=headers)
        place.root.refused("GET", f"{place.space}/events?after={text}x", 400, "bad_parameter")
    place.root.refused("GET", "/api/namespace/nowhere/events", 404, "not_found")
    place.root.ask("HEAD", f"{place.space}/events", 200)


def test_a_stream_ends_soon_after_its_token(world: World) -> None:
    place = world.place()
    session = world.session(world.user("admin"))["accessToken"]
    with following(place, again=False, token=session) as follower:
        ended = httpx.post(f"{world.service.url}/auth/logout", headers={"Authorization": f"Bearer {session}"})
        assert ended.status_code == httpx.codes.NO_CONTENT, ended.text
        wait_until(lambda: follower.ends, PATIENCE, "the stream to end")
    value = world.services.tokens.create(OPERATOR, "short", OPERATOR.grants)
    with following(place, again=False, token=value.value) as follower:
        world.services.tokens.remove(OPERATOR, value.token.id)
        wait_until(lambda: follower.ends, PATIENCE, "the stream to end")


def test_an_agent_that_fails_falls_silent_or_comes_back_is_reported_once_each(world: World) -> None:
    place = world.place()
    with following(place) as follower:
        report(place, "success")
        report(place, "error", "no such file")
        report(place, "error", "no such file")
        wait_until(lambda: "agent.silent" in kinds(follower), PATIENCE, "the agent to be missed")
        report(place, "success")
        back = "agent.recovered"
        wait_until(lambda: agent_kinds(follower).count(back) == 2, PATIENCE, "the agent to be back")
        bodies = {(kind, data["data"].get("was")): data["data"] for _, kind, data in follower.seen}
    found = agent_kinds(follower)
    assert found[:2] == ["agent.failing", "agent.silent"]
    assert found[:4].count(back) == 2
    assert bodies["agent.failing", None]["error"] == "no such file"
    assert {was for kind, was in bodies if kind == "agent.recovered"} == {"failing", "silent"}


def test_the_steps_of_a_review_and_its_comments_are_sent(world: World) -> None:
    place = world.place(review="required")
    author, other = place.as_(world.person("editor")), place.as_(world.person("publisher"))
    author.add("/new-page")
    head = place.get("/draft")["head"]
    with following(place) as follower:
        for who, action in ((author, "request"), (other, "comment"), (other, "reject"), (other, "approve")):
            body = {"action": action, "head": head, "note": f"I {action}"}
            who.ask("POST", "/draft/review", 200, json=body)
        follower.wait(4)
    assert kinds(follower) == ["review.requested", "review.commented", "review.rejected", "review.approved"]
    (_, _, reported), (_, _, commented), *_ = follower.seen
    data, me = reported["data"], author.root.get("/api/me")["id"]
    by = f"Ada Lovelace <user-{me}@waypost.invalid>"
    assert (data["draft"], data["head"], data["by"], data["note"]) == ("main", head, by, "I request")
    assert (commented["data"]["note"], commented["data"]["item"]) == ("I comment", None)


def test_a_review_and_a_publish_name_a_person_in_the_same_way(world: World) -> None:
    place = world.place()
    person = place.as_(world.person("publisher"))
    with following(place, after="0") as follower:
        follower.wait(1)
        person.add("/a")
        body = {"action": "approve", "head": place.get("/draft")["head"]}
        person.ask("POST", "/draft/review", 200, json=body)
        person.publish()
        follower.wait(3)
    reported = [event["data"] for _, _, event in follower.seen[1:]]
    assert {data.get("by") or data["publishedBy"] for data in reported} == {reported[0]["by"]}


def test_a_locked_database_stops_no_publish_and_the_event_comes_afterwards(world: World) -> None:
    place = world.place()
    place.add("/locked")
    with following(place, after="0") as follower:
        follower.wait(1)
        with closing(sqlite3.connect(world.service.data / "waypost.db", isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            place.publish()
            assert place.sources() == ["/locked"]
            late = place.root.send("GET", f"{place.space}/webhooks")
            assert late.status_code == 503
            database.execute("ROLLBACK")
        wait_until(lambda: follower.numbers() == [1, 2], PATIENCE, "the publish to be reported")


def test_a_first_start_with_content_is_no_news_but_what_follows_is(tmp_path: Path) -> None:
    """The same holds after a restart: a push to the stopped service is relayed at the next start."""
    store = create_store(tmp_path / "data")
    author = Author("Ada Lovelace", "ada@example.com")
    store.namespaces.create("acme", "", author)
    store.projects.create("acme", "shop", ProjectFile(title="shop"), author)
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        place = Place(world, "acme", "shop", world.root)
        wait_until(lambda: begun(tmp_path), PATIENCE, "the service to begin to tell")
        place.published("/a")
        with following(place, after="0") as follower:
            follower.wait(1)
            assert follower.numbers() == [2]
    Clone.of(place.repository, tmp_path / "clone").publish("shop/redirects.yaml", rules("/offline"))
    with (
        running(WAYPOST, tmp_path / "data") as service,
        open_world(service) as world,
        following(Place(world, "acme", "shop", world.root), after="0") as follower,
    ):
        follower.wait(2)
        assert follower.numbers() == [2, 3]
        assert stop(service.process) == 0, "a stream has kept a worker from ending"


def begun(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "data" / "waypost.db")) as database:
        return bool(database.execute("SELECT count(*) FROM tellings").fetchone()[0])
