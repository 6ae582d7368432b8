"""Rollbacks as clients see them: at once, on every worker, even after maintenance."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.caller import Caller
from tests.e2e.wire import PinnedClient, pinned_pair
from tests.e2e.world import Place
from tests.service import WAYPOST, child_pids, running, wait_until

READ = (("redirect", "read"), ("page", "read"))


@pytest.fixture
def grown(place: Place) -> Place:
    """Create a project: publish 2 has two rules, 3 one more and a page, 4 another target."""
    place.published("/a", "/b")
    place.add_page("/robots.txt")
    place.published("/c")
    rule = place.get("/draft/redirects")["items"][0]["id"]
    place.ask("PATCH", f"/draft/redirects/{rule}", 200, json={"target": "/newer"})
    place.publish()
    return place


def lists(place: Place, tail: str = "") -> list[bytes]:
    """Return both lists as bytes."""
    return [place.ask("GET", f"{tail}/{kind}", 200).content for kind in ("redirects", "pages")]


def test_both_workers_serve_a_rollback_though_all_compiled_files_are_removed(grown: Place) -> None:
    """Guard: a rollback is acknowledged only when it can be served; its lists are those of its publish."""
    published = {number: lists(grown, f"/versions/{number}") for number in (2, 3, 4)}
    compiled = grown.world.service.data / "compiled" / grown.namespace
    with ExitStack() as stack:
        pair = pinned_pair(grown.world.service, stack)
        agent = grown.holder(*READ).root.token
        for turn, number in enumerate((2, 3, 2, 4, 3)):
            removed(compiled / "releases", compiled / "parts")
            found = by(grown, pair[turn % 2], grown.root.token).ask("POST", "/rollback", 200, json={"version": number})
            for worker in pair:
                place = by(grown, worker, agent)
                assert lists(place) == published[number]
                answer = place.ask("GET", "/version", 200)
                assert answer.json() == found.json()["version"]
                assert answer.headers["X-Publish-Number"] == str(5 + turn)


def by(place: Place, worker: PinnedClient, token: str) -> Place:
    """Return the project as served by one worker."""
    return place.as_(Caller(worker.http, token))


def removed(*folders: Path) -> None:
    """Remove the compiled files; workers keep their mapped ones."""
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        file.unlink()


def test_the_publishes_and_the_history_of_a_rule_show_a_rollback(grown: Place) -> None:
    grown.ask("POST", "/rollback", 200, json={"version": 2})
    newest = grown.get("/history")["items"][0]
    assert newest["changes"] == {
        "redirects": {"added": 0, "changed": 1, "removed": 1},
        "pages": {"added": 0, "changed": 0, "removed": 1},
    }
    life = grown.get("/history", source="/a")["items"]
    assert [(each["publishNumber"], each["change"]) for each in life] == [
        (5, "changed"),
        (4, "changed"),
        (2, "added"),
    ]
    assert life[0]["fields"] == {"target": {"old": "/newer", "new": "/new"}}


def test_a_process_is_ready_before_the_first_request_for_work(tmp_path: Path) -> None:
    """Guard: a rollback soon after a start waits for no process to start."""
    with running(WAYPOST, tmp_path / "data") as service:
        workers = service.workers()
        wait_until(lambda: all(map(child_pids, workers)), 30, "a process of each worker")
