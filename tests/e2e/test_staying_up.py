"""No request is lost to events beside it: reloads, killed workers, slow clients.

What a client has to bear is what HTTP asks of every client (RFC 9112, 9.3.1): where a connection that has served before is
closed without a byte of an answer, the request is sent again over another one. Nothing else may happen to it in a reload.
"""

import os
import signal
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.slow import SlowClients, SlowKind, latencies, take_slowly
from tests.e2e.traffic import KeepAliveConnection, RepeatedRequest, Traffic
from tests.e2e.world import Place, World, open_world
from tests.metrics_text import read_metrics, total
from tests.service import WAYPOST, Service, child_pids, running, wait_until

RELOADS = 50
LEAST_RELOADS = 5
RELOAD_SECONDS = 20.0
KILLS = 5
BACK_SECONDS = 6.0
"""Two seconds on a machine with nothing else to do; the tests share theirs with each other."""
"""Children of a worker at rest: a process that stands by for work, and Python's own that tidies up behind it."""
RULES = 20_000
SLOW_CLIENTS = 500
DEADLINE = 2
PATIENCE = 60.0
"""Seconds within which every one of them has to be ended, on a machine that has other things to do too."""
LARGE_RULES = 5_000
"""Of 1.5 kB each: more than the kernel holds of one answer."""
JSON_HEADERS = b"Host: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Start a service to be reloaded, and to have its workers killed."""
    data = tmp_path_factory.mktemp("steady") / "data"
    with running(WAYPOST, data) as service, open_world(service, killed=True) as world:
        yield world


@pytest.fixture
def shop(steady: World) -> Place:
    """Create a published project."""
    place = steady.place()
    place.published("/a", "/b")
    return place


def read_orders(place: Place) -> list[RepeatedRequest]:
    """Poll over kept and fresh connections, by both paths; one client is often idle, one uses long polls."""
    version = place.get("/version")
    exact = f'"{version}"'.encode()

    def order(name: str, *headers: str, kept: bool = True, pause: float = 0.01) -> RepeatedRequest:
        return RepeatedRequest(name, get(place, "/version", *headers), lambda s, b: (s, b) == (200, exact), kept, pause)

    waiting = get(place, "/version", f"If-None-Match: {exact.decode()}", "Prefer: wait=3")
    return [
        *(order(f"kept {number}") for number in range(3)),
        order("kept, by the framework", "X-Request-Id: traffic"),
        *(order(f"fresh {number}", "Connection: close", kept=False) for number in range(2)),
        order("often idle", pause=0.7),
        RepeatedRequest("waiting", waiting, lambda status, body: (status, body) == (304, b"")),
    ]


def get(place: Place, tail: str, *headers: str) -> bytes:
    """Build the bytes of a request."""
    lines = [f"GET {place.path}{tail} HTTP/1.1", "Host: x", f"Authorization: Bearer {place.root.token}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def family(service: Service) -> list[int]:
    """Count the processes of the service, and the open files of its master and of each worker."""
    workers = sorted(service.workers())
    processes = 1 + len(workers) + sum(len(child_pids(pid)) for pid in workers) + len(service.job_processes())
    return [processes, open_files(service.process.pid), *sorted(open_files(pid) for pid in workers)]


def no_more(now: list[int], before: list[int]) -> bool:
    """Tell whether the number of processes is the same, and no reload left a file open.

    A few files come and go by themselves: the one of a worker that is just being reaped, a connection to the database.
    """
    files = [after - earlier for after, earlier in zip(now[1:], before[1:], strict=False)]
    return (now[0], len(now)) == (before[0], len(before)) and max(files) < LEAST_RELOADS


def open_files(pid: int) -> int:
    """Count the open files of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - a count of names


def reload_once(service: Service) -> float:
    """Reload, and give the seconds until the old workers are gone and new ones are there."""
    before, begun = service.workers(), time.monotonic()
    service.process.send_signal(signal.SIGHUP)

    def renewed() -> bool:
        now = service.workers()
        return len(now) == 2 and not now & before

    wait_until(renewed, 15, "new workers alone")
    return time.monotonic() - begun


def test_a_reload_fails_no_request_and_leaves_nothing_behind(shop: Place) -> None:
    service = shop.world.service
    reload_once(service)
    wait_until(lambda: len(service.job_processes()) == len(service.workers()), 30, "processes to stand by")
    before = family(service)
    traffic, reloads, begun = Traffic(service, read_orders(shop)), 0, time.monotonic()
    with traffic.running():
        while reloads < RELOADS and time.monotonic() - begun < RELOAD_SECONDS:
            reload_once(service)
            reloads += 1
        answered = traffic.answered
        wait_until(lambda: traffic.answered > answered + 100, 10, "the new workers to answer")
    assert (traffic.failed, traffic.wrong) == ([], [])
    assert reloads >= LEAST_RELOADS
    busy = [report for report in traffic.reports if report.order.name.startswith("kept")]
    assert [report.retried for report in busy] == [0] * len(busy), "who asks without a pause need not even ask again"
    wait_until(lambda: no_more(family(service), before), 30, f"as many processes and files as before: {before}")


def test_a_reload_lets_work_finish_and_waits_for_no_poll(shop: Place) -> None:
    """The old worker finishes an import that has begun; long polls are answered at once, and repeated."""
    service, version = shop.world.service, shop.get("/version")
    rows = "".join(f"BASIC\t/r{number}\t/new\tMOVED_PERMANENT\n" for number in range(RULES))
    table = {
        "content": f"type\tsource\ttarget\tstatus\n{rows}",
        "headers": {"Content-Type": "text/tab-separated-values"},
    }
    headers = {"If-None-Match": f'"{version}"', "Prefer": "wait=60"}
    with ThreadPoolExecutor(9) as pool:
        polls = [pool.submit(shop.root.send, "GET", f"{shop.path}/version", headers=headers) for _ in range(8)]
        wait_until(lambda: waiting(shop) == len(polls), 10, "all polls to wait")
        work = pool.submit(shop.root.send, "POST", f"{shop.path}/import", **table)
        wait_until(lambda: jobs(shop) or work.done(), 10, "the import to begin")
        assert not work.done()
        begun = time.monotonic()
        service.process.send_signal(signal.SIGHUP)
        assert {poll.result(30).status_code for poll in polls} == {304}
        assert time.monotonic() - begun < 10
        assert work.result(60).json()["added"] == RULES


def waiting(place: Place) -> float:
    """Count the waiting polls of all workers."""
    return total(read_metrics(place.world.http, place.root.token), "waypost_waiting_polls")


def jobs(place: Place) -> float:
    """Count the jobs that run in pool processes."""
    return total(read_metrics(place.world.http, place.root.token), "waypost_jobs")


def test_a_killed_worker_is_back_and_costs_only_what_was_in_flight_on_it(shop: Place) -> None:
    service = shop.world.service
    traffic, took = Traffic(service, read_orders(shop)), []
    with traffic.running():
        for _ in range(KILLS):
            answered = traffic.answered
            wait_until(lambda least=answered + 50: traffic.answered > least, 10, "traffic")  # type: ignore[misc]  # bound now
            took.append(kill_one(service))
    assert traffic.wrong == []
    for report in traffic.reports:
        assert len(report.failed) <= KILLS, f"one request each time at most: {report.failed}"
        assert report.answered
    assert statistics.median(took) < BACK_SECONDS, took


def kill_one(service: Service) -> float:
    """Kill a worker, and give the seconds until another one serves in its place."""
    victim, serving = max(service.workers()), served(service)
    begun = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: victim not in service.workers() and served(service) > serving, 15, "another worker to serve")
    return time.monotonic() - begun


def served(service: Service) -> int:
    """Count the workers that ever began to serve, by the log."""
    return service.log.read_bytes().count(b"ASGI server listening")


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Start a service with the shortest deadlines."""
    deadlines = {f"WAYPOST_{name}": str(DEADLINE) for name in ("HEADER_TIMEOUT", "BODY_TIMEOUT", "WRITE_TIMEOUT")}
    data = tmp_path_factory.mktemp("strict") / "data"
    with running(WAYPOST, data, deadlines) as service, open_world(service) as world:
        yield world


def test_hundreds_of_slow_clients_hold_up_nobody_and_are_ended(strict: World) -> None:
    place = strict.place()
    for number in range(40):
        place.add_page(f"/{number}", "x" * 50_000)
    place.publish()
    service = strict.service
    kinds = [
        SlowKind("headers", b"GET /health/ping HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"y"),
        SlowKind("body", b"POST /auth/login HTTP/1.1\r\n" + JSON_HEADERS + b"Content-Length: 1000\r\n\r\n", b" "),
        SlowKind(
            "chunks",
            b"POST /auth/login HTTP/1.1\r\n" + JSON_HEADERS + b"Transfer-Encoding: chunked\r\n\r\n",
            b"1\r\n \r\n",
        ),
        SlowKind("answers", get(place, "/pages")),
    ]
    before = open_sockets(service)
    slow_clients = SlowClients(service.port, kinds, SLOW_CLIENTS)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(slow_clients.hold, PATIENCE)
        seconds = latencies(lambda: ping(service), lambda: not held.done())
        held.result()
    assert {name: len(ended) for name, ended in slow_clients.ended.items()} == {
        kind.name: SLOW_CLIENTS for kind in kinds
    }
    # How quickly is the machine's affair; one that waits for the slow would wait for half of their time at least.
    assert statistics.median(seconds) < DEADLINE / 2
    wait_until(lambda: open_sockets(service) <= before, 10, f"no more sockets than before: {before}")


def test_a_client_that_reads_slowly_but_steadily_gets_the_whole_of_a_large_answer(strict: World) -> None:
    """Guard: the bytes in the service do not move for longer than the deadline, because the kernel buffers megabytes."""
    place = strict.place()
    rows = "".join(f"BASIC\t/{number}\t/{'x' * 1500}\tFOUND\n" for number in range(LARGE_RULES))
    headers = {"Content-Type": "text/tab-separated-values"}
    place.ask("POST", "/import", 200, content="type\tsource\ttarget\tstatus\n" + rows, headers=headers)
    place.publish()
    request = get(place, f"/redirects?limit={LARGE_RULES}", "Connection: close")
    length, came = take_slowly(strict.service.port, request, 12 * DEADLINE)
    assert length == came > LARGE_RULES * 1500


def open_sockets(service: Service) -> int:
    """Count the open sockets of the workers."""
    names = [name for pid in service.workers() for name in Path(f"/proc/{pid}/fd").iterdir()]
    return sum(_target(name).startswith("socket:") for name in names)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:  # closed since it was listed
        return ""


def ping(service: Service) -> None:
    """Ask whether the service lives, over a connection of its own."""
    line = KeepAliveConnection(service.port)
    try:
        assert line.exchange(b"GET /health/ping HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 204
    finally:
        line.close()
