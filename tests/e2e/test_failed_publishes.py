"""Publishes that fail: for any reason, the draft and the release remain unchanged, and a retry is possible."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from content.records.record import identity_id
from gitstore.git.lock import hold
from tests.e2e.git import Clone, check_repository, git
from tests.e2e.world import Place, World, open_world, redirect
from tests.service import WAYPOST, open_files, running, wait_until

READS = ("/version", "/redirects", "/pages", "", "/draft", "/draft/redirects", "/history")
Prepare = Callable[[Place, Path], dict[str, Any]]


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose helper processes a test may kill."""
    with (
        running(WAYPOST, tmp_path_factory.mktemp("mortal") / "data") as service,
        open_world(service, killed=True) as world,
    ):
        yield world


def problems(place: Place, _folder: Path) -> dict[str, Any]:
    place.add("/loop", "/again")
    place.add("/again", "/loop")
    return {}


def conflict(place: Place, _folder: Path) -> dict[str, Any]:
    change = f"/draft/redirects/{identity_id('/a')}"
    place.ask("PUT", change, 200, json=redirect("/a", "/mine"))
    place.ask("PUT", f"{change}?draft=other", 200, json=redirect("/a", "/theirs"))
    place.ask("POST", "/publish?draft=other", 200, json={})
    return {}


def failing_tests(place: Place, folder: Path) -> dict[str, Any]:
    clone = Clone.of(place.repository, folder / "clone")
    pushed = clone.publish("shop/tests.yaml", "tests:\n  - url: /a\n    status: 301\n    location: /new\n")
    place.wait_for(pushed)
    place.ask("PUT", f"/draft/redirects/{identity_id('/a')}", 200, json=redirect("/a", "/elsewhere"))
    return {}


def stale_head(place: Place, _folder: Path) -> dict[str, Any]:
    place.add("/one")
    head = place.get("/draft")["head"]
    place.add("/two")
    return {"head": head}


def unknown_head(place: Place, _folder: Path) -> dict[str, Any]:
    place.add("/one")
    return {"head": "f" * 40}


def unknown_id(place: Place, _folder: Path) -> dict[str, Any]:
    place.add("/one")
    return {"ids": [identity_id("/one"), identity_id("/nowhere")]}


def invalid_selection(place: Place, _folder: Path) -> dict[str, Any]:
    place.add("/loop", "/again")
    place.add("/again", "/loop")
    return {"ids": [identity_id("/loop"), identity_id("/again")]}


def no_approval(place: Place, _folder: Path) -> dict[str, Any]:
    place.ask("PATCH", "", 200, json={"review": "required"})
    place.add("/one")
    return {}


def nothing(place: Place, _folder: Path) -> dict[str, Any]:
    made = place.add("/one")
    place.ask("DELETE", f"/draft/redirects/{made['id']}", 204)
    return {}


FAILURES: list[tuple[Prepare, int, str]] = [
    (problems, 422, "invalid_content"),
    (conflict, 409, "conflict"),
    (failing_tests, 422, "invalid_content"),
    (stale_head, 409, "stale_draft"),
    (unknown_head, 409, "stale_draft"),
    (unknown_id, 404, "not_found"),
    (invalid_selection, 422, "invalid_content"),
    (no_approval, 403, "approval_required"),
    (nothing, 409, "nothing_to_publish"),
]


def state(place: Place) -> tuple[str, dict[str, bytes]]:
    """Return every branch, and the content that everyone sees."""
    seen = {tail: place.ask("GET", tail, 200).content for tail in READS}
    return git(place.repository, "for-each-ref", "--format=%(refname) %(objectname)"), seen


@pytest.mark.parametrize(("prepare", "status", "code"), FAILURES, ids=[each[0].__name__ for each in FAILURES])
def test_a_publish_that_is_refused(place: Place, tmp_path: Path, prepare: Prepare, status: int, code: str) -> None:
    """Nothing moves on the first or second try, and after the draft is fixed it is published."""
    place.published("/a", "/b")
    body = prepare(place, tmp_path)
    before = state(place)
    for _ in range(2):
        place.refused("POST", "/publish", status, code, json=body)
        assert state(place) == before
    if place.get("/draft")["head"]:
        place.ask("DELETE", "/draft", 204)
    place.add("/after")
    place.publish(**({"override": "the reviewer is on leave"} if prepare is no_approval else {}))
    assert place.sources()[-1] == "/after"
    check_repository(place.repository)


def test_a_publish_whose_process_is_killed(mortal: World) -> None:
    """It is killed while it waits for the lock; the caller gets an error, nothing moves, and the next publish works."""
    place = mortal.place()
    place.published("/a", "/b")
    place.add("/c")
    before = state(place)
    with ThreadPoolExecutor(1) as pool, hold(place.repository):
        publishing = pool.submit(lambda: place.root.send("POST", f"{place.path}/publish", json={}))
        waiting = wait_until(lambda: helpers_at(mortal, place.repository / "waypost.lock"), 60, "the publish to wait")
        for pid in waiting:
            os.kill(pid, signal.SIGKILL)
        answer = publishing.result(timeout=60)
    assert (answer.status_code, answer.json()["error"]) == (503, "worker_lost")
    assert state(place) == before
    assert place.publish()["publishNumber"] == 3
    assert place.sources() == ["/a", "/b", "/c"]
    check_repository(place.repository)


def helpers_at(world: World, file: Path) -> set[int]:
    """Return the processes that work for the service's workers and have a file open."""
    return {pid for pid in world.service.job_processes() if file in open_files(pid)}
