"""A database that is locked while a worker begins: the others go on, and it begins when it can."""

import os
import signal
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx

from tests.e2e.world import world_of
from tests.service import WAYPOST, Service, running, wait_until


def told(service: Service, begin: str) -> list[str]:
    """The events in the log that begin so."""
    return [event for line in service.log_lines() if (event := str(line.get("event"))).startswith(begin)]


def status(service: Service, path: str) -> int:
    """The status of an answer over a new connection; 0 where there is none in time."""
    try:
        return httpx.get(service.url + path, timeout=5).status_code
    except httpx.TransportError:
        return 0


def test_a_worker_that_cannot_begin_takes_nobody_along(tmp_path: Path) -> None:
    """Gunicorn would stop the whole service for a worker that fails to boot."""
    with running(WAYPOST, tmp_path / "data") as service:
        wait_until(lambda: len(told(service, "ASGI server listening")) == 2, 30, "both workers to serve")
        victim = min(service.workers())
        with closing(sqlite3.connect(service.data / "waypost.db", isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            os.kill(victim, signal.SIGKILL)
            wait_until(
                lambda: told(service, "worker_not_begun"),
                40,
                "a worker to tell that it cannot begin",
            )
            wait_until(lambda: status(service, "/health/ping") == 204, 20, "the other worker to answer")
            database.execute("ROLLBACK")
        wait_until(lambda: status(service, "/health/ready") == 200, 20, "readiness")
        wait_until(lambda: len(service.workers() - {victim}) == 2, 20, "two workers")
        assert service.process.poll() is None


def equal(found: object, wanted: object) -> None:
    assert found == wanted


def test_what_needs_no_approval_is_published_while_the_database_is_away(tmp_path: Path) -> None:
    """Nothing of a draft is in the database but what people say of it; an override is refused, for nobody could note it."""
    with running(WAYPOST, tmp_path / "data") as service, world_of(service) as world:
        free, other, bound = world.place(), world.place(), world.place(review="required")
        for place in (free, other, bound):
            place.add("/a")
        for worker in range(8):  # both know who is calling before the database goes
            assert free.get("/draft")["review"]["state"] == "none", worker
        with closing(sqlite3.connect(service.data / "waypost.db", isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            work: list[Callable[[], object]] = [
                lambda: equal(free.get("/draft")["review"], None),
                lambda: free.refused("GET", "/draft/review", 503, "state_busy"),
                lambda: bound.refused("POST", "/publish", 503, "state_busy"),
                lambda: bound.refused("POST", "/publish", 503, "state_busy", json={"override": "It burns"}),
                lambda: other.refused("POST", "/publish", 503, "state_busy", json={"override": "It burns"}),
                free.publish,
            ]
            with ThreadPoolExecutor(len(work)) as pool:  # at once, for each waits for the database
                for call in [pool.submit(each) for each in work]:
                    call.result()
            database.execute("ROLLBACK")
        assert (free.sources(), other.sources(), bound.sources()) == (["/a"], [], [])
