"""Going back, as those see it who are served: at once, on every worker, whatever has been cleaned away."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.caller import Caller
from tests.e2e.wire import Pinned, pinned_pair
from tests.e2e.world import Place
from tests.service import WAYPOST, children_of, running, wait_until

READ = (("redirect", "read"), ("page", "read"))


@pytest.fixture
def grown(place: Place) -> Place:
    """Publish 2 has two rules, 3 one more and a page, 4 another target."""
    place.published("/a", "/b")
    place.add_page("/robots.txt")
    place.published("/c")
    rule = place.get("/draft/redirects")["items"][0]["id"]
    place.ask("PATCH", f"/draft/redirects/{rule}", 200, json={"target": "/newer"})
    place.publish()
    return place


def lists(place: Place, tail: str = "") -> list[bytes]:
    """Both lists as bytes."""
    return [place.ask("GET", f"{tail}/{kind}", 200).content for kind in ("redirects", "pages")]


def test_both_workers_serve_what_was_gone_back_to_though_everything_compiled_is_gone(grown: Place) -> None:
    """Guard: a rollback is acknowledged only when it can be served; byte for byte as it was published."""
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


def by(place: Place, worker: Pinned, token: str) -> Place:
    """The project as one worker answers for it."""
    return place.as_(Caller(worker.http, token))


def removed(*folders: Path) -> None:
    """Remove what is compiled; workers keep what they have mapped."""
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        file.unlink()


def test_the_history_and_the_life_of_a_rule_tell_of_a_rollback(grown: Place) -> None:
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


def test_a_process_stands_by_though_nobody_has_asked_for_work(tmp_path: Path) -> None:
    """Guard: who rolls back soon after a start waits for no process to start."""
    with running(WAYPOST, tmp_path / "data") as service:
        workers = service.workers()
        wait_until(lambda: all(map(children_of, workers)), 30, "a process of each worker")
