"""The convergence of agents on a publish: shown in their list, and awaited by the publisher."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import perf_counter
from typing import Any

import pytest

from tests.e2e.world import Place

WAIT = "/publish?wait=converged"
PUBLISHER = (("project", "publish"), ("project", "read"))


def report(place: Place, name: str, version: int | str, status: str = "success") -> None:
    """Report the version of an agent."""
    place.ask("POST", "/agents", 200, json={"name": name, "type": "default", "version": version, "status": status})


@contextmanager
def followers(place: Place, *names: str) -> Iterator[None]:
    """Run agents that report every new version as soon as they see it."""
    ending = Event()

    def follow(name: str) -> None:
        known = place.get("/version")
        while not ending.is_set():
            version = place.get("/version")
            if version != known:
                report(place, name, version)
                known = version

    with ThreadPoolExecutor(len(names)) as pool:
        running = [pool.submit(follow, name) for name in names]
        try:
            yield
        finally:
            ending.set()
        for each in running:
            each.result()


def test_a_publish_can_wait_until_all_agents_have_it(place: Place) -> None:
    names = ("edge-1", "edge-2", "edge-3")
    for name in names:
        report(place, name, 1)
    place.add("/a")
    with followers(place, *names):
        answer = place.ask("POST", WAIT, 200)
    found = answer.json()
    assert (found["publishNumber"], found["version"]) == (2, answer.headers["X-Project-Version"])
    reached = found["convergence"]
    assert (reached["agents"], reached["current"], reached["converged"]) == (3, 3, True)
    assert reached["seconds"] < 30
    reported = place.get("/agents")["convergence"]
    assert (reported["agents"], reported["current"], reported["behind"]) == (3, 3, 0)
    assert 0 <= reported["reachedAfter"]["p50"] <= reported["reachedAfter"]["p95"] <= reported["reachedAfter"]["p100"]


def test_a_publish_never_fails_because_agents_are_late(place: Place) -> None:
    report(place, "quick", 1)
    report(place, "late", 1)
    place.add("/a")
    report(place, "early", 2)  # it runs a version that is not published yet
    begin = perf_counter()
    found = place.ask("POST", WAIT + "&timeout=2", 200).json()
    assert perf_counter() - begin >= 2
    reached = found["convergence"]
    assert (reached["agents"], reached["current"], reached["converged"]) == (3, 0, False)
    assert reached["seconds"] >= 2
    assert place.get("/version") == found["version"]


def test_an_agent_that_reports_an_error_has_not_got_it(place: Place) -> None:
    report(place, "edge-1", 1)
    place.published("/a")
    report(place, "edge-1", 2, "error")
    place.ask("POST", "/rollback", 200, json={"version": "1"})
    report(place, "edge-1", 3, "error")
    reported = place.get("/agents")["convergence"]
    assert (reported["publishNumber"], reported["agents"], reported["current"], reported["behind"]) == (3, 1, 0, 1)
    assert reported["reachedAfter"] == {"p50": None, "p95": None, "p100": None}
    report(place, "edge-1", 3)
    reported = place.get("/agents")["convergence"]
    assert (reported["current"], reported["behind"]) == (1, 0)
    assert reported["reachedAfter"]["p100"] is not None


def test_without_agents_a_publish_does_not_wait(place: Place) -> None:
    place.add("/a")
    begin = perf_counter()
    reached = place.ask("POST", WAIT + "&timeout=60", 200).json()["convergence"]
    assert perf_counter() - begin < 30
    assert (reached["agents"], reached["current"], reached["converged"]) == (0, 0, True)


def test_a_wait_of_no_time_reports_the_state(place: Place) -> None:
    report(place, "edge-1", 1)
    place.add("/a")
    reached = place.ask("POST", WAIT + "&timeout=0", 200).json()["convergence"]
    assert (reached["agents"], reached["current"], reached["converged"]) == (1, 0, False)


def test_the_same_head_again_waits_for_the_publish_that_it_became(place: Place) -> None:
    report(place, "edge-1", 1)
    head = place.add("/a") and place.get("/draft")["head"]
    first = place.publish(head=head)
    report(place, "edge-1", first["version"])
    again = place.ask("POST", WAIT, 200, json={"head": head}).json()
    assert {name: again[name] for name in first} == first
    assert again["convergence"]["converged"] is True


def test_by_default_a_publish_does_not_wait(place: Place) -> None:
    report(place, "edge-1", 1)
    assert "convergence" not in place.published("/a")


@pytest.mark.parametrize(
    "query",
    [
        "wait=",
        "wait=true",
        "wait=converged&timeout=301",
        "wait=converged&timeout=x",
        "timeout=-1",
        "wait=converged&wait=converged",
    ],
)
def test_what_cannot_be_waited_for_is_refused_before_anything_is_published(place: Place, query: str) -> None:
    place.add("/a")
    place.refused("POST", f"/publish?{query}", 400, "bad_parameter")
    assert place.get("")["publishNumber"] == 1


def test_to_wait_for_agents_one_must_be_allowed_to_see_them(place: Place) -> None:
    place.add("/a")
    publisher = place.holder(*PUBLISHER)
    publisher.refused("POST", WAIT, 403, "forbidden")
    assert place.get("")["publishNumber"] == 1
    place.holder(*PUBLISHER, ("agent", "read")).ask("POST", WAIT, 200)


def test_the_list_shows_how_far_behind_each_version_is(place: Place) -> None:
    versions: list[Any] = [place.get("/version"), place.published("/a")["version"], place.published("/b")["version"]]
    for name, version in zip("abcd", [*versions, "unheard-of"], strict=True):
        report(place, name, version)
    found = place.get("/agents")
    assert [(each["publishNumber"], each["behind"]) for each in found["versions"]] == [
        (3, 0),
        (2, 1),
        (1, 2),
        (None, None),
    ]
    reported = found["convergence"]
    state = place.get("")
    assert {name: reported[name] for name in ("version", "publishNumber", "publishedAt")} == {
        name: state[name] for name in ("version", "publishNumber", "publishedAt")
    }
    assert (reported["agents"], reported["current"], reported["behind"]) == (4, 1, 3)
    assert reported["reachedAfter"] == {"p50": None, "p95": None, "p100": None}
