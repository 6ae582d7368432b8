"""A database that is locked while a worker starts: the other workers serve, and this one starts after the unlock."""

import os
import signal
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx

from tests.e2e.caller import Caller
from tests.e2e.wire import pinned_pair
from tests.e2e.world import open_world
from tests.service import WAYPOST, Service, running, wait_until


def logged(service: Service, begin: str) -> list[str]:
    """Return the events in the log that begin with this text."""
    return [event for line in service.log_lines() if (event := str(line.get("event"))).startswith(begin)]


def status(service: Service, path: str) -> int:
    """Return the status of a response over a new connection; 0 without a response in time."""
    try:
        return httpx.get(service.url + path, timeout=5).status_code
    except httpx.TransportError:
        return 0


def test_a_worker_that_cannot_start_stops_no_other(tmp_path: Path) -> None:
    """Gunicorn would stop the whole service for a worker that fails to boot."""
    with running(WAYPOST, tmp_path / "data") as service:
        wait_until(lambda: len(logged(service, "ASGI server listening")) == 2, 30, "both workers to serve")
        victim = min(service.workers())
        with closing(sqlite3.connect(service.data / "waypost.db", isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            os.kill(victim, signal.SIGKILL)
            wait_until(
                lambda: logged(service, "worker_not_started"),
                40,
                "a worker to tell that it cannot begin",
            )
            wait_until(lambda: status(service, "/health/ping") == 204, 20, "the other worker to answer")
            database.execute("ROLLBACK")
        wait_until(lambda: status(service, "/health/ready") == 200, 20, "readiness")
        wait_until(lambda: len(service.workers() - {victim}) == 2, 20, "two workers")
        assert service.process.poll() is None


def test_a_new_token_waits_for_the_lock_and_is_then_known(tmp_path: Path) -> None:
    """The service reads new tokens a moment after they are made: a lock at that moment does not make them invalid."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        place = world.place()
        new = world.holder(("project", "read"))
        with closing(sqlite3.connect(service.data / "waypost.db", isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(new.ask, "GET", place.path, 200)
                wait_until(lambda: logged(service, "directory_not_reloaded"), 30, "a reload to fail")
                assert not asked.done()
                database.execute("ROLLBACK")
                asked.result()


def equal(found: object, wanted: object) -> None:
    assert found == wanted


def test_what_needs_no_approval_is_published_while_the_database_is_away(tmp_path: Path) -> None:
    """Only remarks on a draft are in the database; an override is refused, for it could not be recorded."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        free, other, bound = world.place(), world.place(), world.place(review="required")
        for place in (free, other, bound):
            place.add("/a")
        with ExitStack() as stack:  # both have loaded the token before the database is locked
            for worker in pinned_pair(service, stack):
                seen = free.as_(Caller(worker.http, free.root.token))
                assert seen.get("/draft")["review"]["state"] == "none"
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
            with ThreadPoolExecutor(len(work)) as pool:  # in parallel, for each waits for the database
                for call in [pool.submit(each) for each in work]:
                    call.result()
            database.execute("ROLLBACK")
        assert (free.sources(), other.sources(), bound.sources()) == (["/a"], [], [])
