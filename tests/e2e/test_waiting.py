"""Long polls: a client that waits for a version is notified by every worker, after every way to publish."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.e2e.git import Clone, rules
from tests.e2e.world import Place
from tests.load_client import load_client
from tests.metrics_text import read_metrics, total
from tests.service import wait_until

# enough connections for both workers to have some
POLLS = 8
MANY = 400


def poll(place: Place, seconds: int, version: str) -> httpx.Response:
    """Send a long poll over a new connection."""
    headers = {"If-None-Match": f'"{version}"', "Prefer": f"wait={seconds}"}
    return place.root.send("GET", f"{place.path}/version", headers=headers, timeout=seconds + 30)


def waiting(pool: ThreadPoolExecutor, place: Place) -> list[Future[httpx.Response]]:
    """Start polls that wait for the version after the present one."""
    version = place.get("/version")
    return [pool.submit(poll, place, 60, version) for _ in range(POLLS)]


def test_a_publish_ends_the_wait_on_every_worker(place: Place) -> None:
    with ThreadPoolExecutor(POLLS) as pool:
        polls = waiting(pool, place)
        version = place.published("/a")["version"]
        answers = [each.result(30) for each in polls]
    assert {answer.json() for answer in answers} == {version}
    assert {answer.headers["Preference-Applied"] for answer in answers} == {"wait=60"}


def test_hundreds_of_polls_are_all_answered_by_one_publish(place: Place) -> None:
    version = place.get("/version")
    token = place.root.token
    wait_until(lambda: _count_waiting(place) == 0, 60, "those who waited before to be gone")
    headers = {"Authorization": f"Bearer {token}", "If-None-Match": f'"{version}"', "Prefer": "wait=300"}
    with load_client(place.world.service.port, f"{place.path}/version", headers, MANY) as held:
        wait_until(lambda: _count_waiting(place) == MANY, 60, "all to wait")
        new = place.published("/a")["version"]
        answers = held.answers(60)
    assert {answer.split(b" ", 2)[1] for answer in answers} == {b"200"}
    assert {answer.partition(b"\r\n\r\n")[2] for answer in answers} == {b'"%b"' % new.encode()}
    assert len(answers) == MANY
    wait_until(lambda: _count_waiting(place) == 0, 60, "nobody to be left waiting")


def _count_waiting(place: Place) -> float:
    return total(read_metrics(place.world.http, place.root.token), "waypost_waiting_polls")


def test_a_push_by_plain_git_ends_the_wait(place: Place, tmp_path: Path) -> None:
    clone = Clone.of(place.repository, tmp_path / "clone")
    with ThreadPoolExecutor(POLLS) as pool:
        polls = waiting(pool, place)
        clone.publish(f"{place.project}/redirects.yaml", rules("/pushed"))
        answers = [each.result(30) for each in polls]
    assert {answer.json() for answer in answers} == {place.get("/version")}


def test_another_project_ends_no_wait(place: Place) -> None:
    other = place.world.place(place.namespace, "other")
    version = place.get("/version")
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(poll, place, 2, version)
        other.published("/a")
        answer = held.result(30)
    assert answer.status_code == 304
    assert time.monotonic() - begun >= 2


def test_a_client_with_an_older_version_does_not_wait(place: Place) -> None:
    begun = time.monotonic()
    assert poll(place, 60, "0" * 40).json() == place.get("/version")
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("preference", ["wait=0", "wait=", "wait=-1", "respond-async", "wait=x"])
def test_no_wait_is_asked_for(place: Place, preference: str) -> None:
    headers = {"If-None-Match": f'"{place.get("/version")}"', "Prefer": preference}
    answer = place.root.send("GET", f"{place.path}/version", headers=headers)
    assert answer.status_code == 304
    assert "Preference-Applied" not in answer.headers
