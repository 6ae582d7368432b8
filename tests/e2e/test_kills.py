"""SIGKILL in the middle of publishes: acknowledged publishes remain, nothing is truncated, and no repair is needed."""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.git import check_repository, git
from tests.e2e.world import Place, open_world, redirect
from tests.rounds import rounds
from tests.service import WAYPOST, Service, child_pids, running, wait_until

KILLS = rounds(5, 24)
ROUNDS = rounds(2, 4)


class Publisher:
    """A careful client that publishes one rule after another, and retries requests without a response."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.acknowledged: list[tuple[str, int, str]] = []
        self.tried = 0

    def run(self, done: Callable[[], bool]) -> None:
        """Publish until `done`."""
        while not done():
            self.publish_one(f"/{self.tried}")
            self.tried += 1

    def publish_one(self, source: str) -> None:
        """Put a rule into the draft and publish it, with retries after every failure."""
        put = [{"op": "put", "kind": "redirect", "item": redirect(source)}]
        head = self._insist("/draft/changes", put)["head"]
        found: Any = self._insist("/publish", {"head": head})
        self.acknowledged.append((source, found["publishNumber"], found["version"]))

    def _insist(self, tail: str, body: object) -> dict[str, object]:
        return wait_until(lambda: self._try(tail, body), 60, f"an answer to {tail}")

    def _try(self, tail: str, body: object) -> dict[str, object] | None:
        try:
            answer = self.place.root.send("POST", self.place.path + tail, json=body)
        except httpx.TransportError:
            return None
        if answer.status_code == 503:
            return None
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found


def check_publishes(publisher: Publisher) -> None:
    """Fail unless every acknowledged publish is there unchanged, and every other is one that was tried."""
    place = publisher.place
    history = {item["publishNumber"]: item["version"] for item in place.get("/history", limit=100_000)["items"]}
    assert sorted(history) == list(range(1, len(history) + 1))
    for source, number, version in publisher.acknowledged:
        assert history[number] == version
        found = place.get(f"/versions/{number}/redirects", limit=100_000)
        assert [item["source"] for item in found["items"]][-1] == source
        assert found["total"] == number - 1
    assert place.sources() == [source for source, _, _ in publisher.acknowledged]
    assert place.get("/draft")["head"] is None
    publisher.publish_one("/after")
    assert place.sources()[-1] == "/after"
    check_repository(place.repository)
    assert git(place.repository, "for-each-ref", "--format=%(refname)") == "refs/heads/release"


def leftovers(repository: Path) -> list[str]:
    """Return lock files of git's kind, which block other writers permanently; ours is held by the kernel alone."""
    return [str(path) for path in repository.rglob("*.lock") if path.name != "waypost.lock"]


@contextmanager
def killing(victim: Callable[[], int | None], progress: Callable[[], int], times: int) -> Iterator[Callable[[], bool]]:
    """Kill processes during the block, each at a random moment after some progress.

    Yield a function that returns whether all kills are done.
    """
    finished, stop = threading.Event(), threading.Event()

    def kill_on() -> None:
        for _ in range(times):
            before = progress()
            wait_until(lambda: stop.is_set() or progress() > before, 60, "some progress")  # noqa: B023 - called at once
            if stop.wait(random.uniform(0.0, 0.2)):  # noqa: S311 - a moment, no secret
                break
            kill(wait_until(victim, 60, "a process to kill"))
        finished.set()

    thread = threading.Thread(target=kill_on)
    thread.start()
    try:
        yield finished.is_set
    finally:
        stop.set()
        thread.join()


def kill(pid: int) -> None:
    """Send SIGKILL; a process that has already ended does not matter."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> set[int]:
    """Return a process and all below it."""
    return {pid}.union(*(descendants(child) for child in child_pids(pid)))


def test_workers_that_are_killed_while_they_publish(tmp_path: Path) -> None:
    """Workers, and the processes that publish for them, are killed at random; the arbiter starts new ones."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service, killed=True) as world:
        first = world.place()
        publishers = [Publisher(each) for each in (first, world.place(first.namespace, "other"))]
        before = service.workers()

        def progress() -> int:
            return sum(len(publisher.acknowledged) for publisher in publishers)

        def victim() -> int | None:
            """Choose a worker first, then any process."""
            return min(before) if service.workers() == before else choose_process(service)

        with ThreadPoolExecutor(2) as pool, killing(victim, progress, KILLS) as done:
            for result in [pool.submit(publisher.run, done) for publisher in publishers]:
                result.result(timeout=280)
        assert progress() >= KILLS
        wait_until(lambda: len(service.workers()) == 2, 30, "both workers to be there again")
        assert service.workers() != before
        for publisher in publishers:
            assert len(publisher.acknowledged) == publisher.tried > 0
            check_publishes(publisher)
        assert leftovers(first.repository) == []
        wait_until(lambda: world.nobody.send("GET", "/health/ready").status_code == 200, 10, "readiness")


def choose_process(service: Service) -> int | None:
    """Return a worker or, with the same chance, a process that works for one."""
    workers = sorted(service.workers())
    helpers = sorted(child for worker in workers for child in child_pids(worker))
    chosen = random.choice([workers, helpers or workers])  # noqa: S311 - whom to kill, no secret
    return random.choice(chosen) if chosen else None  # noqa: S311 - as above


def test_a_service_that_is_killed_whole_starts_again_without_repair(tmp_path: Path) -> None:
    """Arbiter, workers and their helpers are killed at once, in the middle of a publish, several times."""
    data, acknowledged, names = tmp_path / "data", list[tuple[str, int, str]](), ("", "")
    for round_ in range(ROUNDS):
        with running(WAYPOST, data) as service, open_world(service, killed=True) as world:
            place = Place(world, *names, world.root) if round_ else world.place()
            names = (place.namespace, place.project)
            acknowledged += publish_until_killed(place, round_)
    with running(WAYPOST, data) as service, open_world(service, killed=True) as world:
        place = Place(world, *names, world.root)
        history = {item["publishNumber"]: item["version"] for item in place.get("/history", limit=100_000)["items"]}
        assert sorted(history) == list(range(1, len(history) + 1))
        assert all(history[number] == version for _, number, version in acknowledged)
        assert {source for source, _, _ in acknowledged} <= set(place.sources())
        assert world.nobody.send("GET", "/health/ready").status_code == 200
        place.published("/after")
        check_repository(place.repository)
        assert leftovers(place.repository) == []


def publish_until_killed(place: Place, round_: int) -> list[tuple[str, int, str]]:
    """Publish from a thread, and kill everything at a random moment; return the acknowledged publishes."""
    service, acknowledged = place.world.service, list[tuple[str, int, str]]()

    def publish() -> None:
        for number in count():
            source = f"/{round_}-{number}"
            place.add(source)
            found = place.publish()
            acknowledged.append((source, found["publishNumber"], found["version"]))

    with ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(publish)
        wait_until(lambda: len(acknowledged) > 2 or publishing.done(), 60, "a few publishes")
        threading.Event().wait(random.uniform(0, 0.1))  # noqa: S311 - a moment, no secret
        for pid in descendants(service.process.pid):
            kill(pid)
        assert isinstance(publishing.exception(timeout=60), httpx.TransportError)
    service.process.wait(20)
    return acknowledged
