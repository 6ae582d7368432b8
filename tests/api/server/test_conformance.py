"""The behaviour that the server needs of gunicorn, by real processes: each name in `gunicorn_names` has a test of its effect."""

import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import httpx
import pytest

from tests.api.fakes import STREAM_SIZE
from tests.api.server.raw_client import connect, connections, exchange, is_reset, pid_of, read_all
from tests.metrics_text import read_metrics, total
from tests.service import ROOT, SKELETON, Service, running, stop, wait_until

HEARTBEAT = 2
RESET = struct.pack("ii", 1, 0)
"""The option of a socket whose close resets the connection."""
PLAIN = b"GET /probe/plain HTTP/1.1\r\nHost: x\r\n\r\n"
FRAMEWORK = b"GET /probe/pid HTTP/1.1\r\nHost: x\r\n\r\n"
SIZED = b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123456789"
CHUNKED = b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
LAST = b"\r\nConnection: close\r\n\r\n"


@pytest.fixture
def single(tmp_path: Path) -> Iterator[Service]:
    """Start a service with one worker and a short heartbeat."""
    settings = {"WAYPOST_WORKERS": "1", "WAYPOST_WRITE_TIMEOUT": "1", "SKELETON_HEARTBEAT": str(HEARTBEAT)}
    with running(SKELETON, tmp_path / "data", settings) as service:
        yield service


def is_plain(answer: bytes) -> bool:
    """Tell whether a response is one of the fast path."""
    return answer.startswith(b"HTTP/1.1 200 OK\r\n") and b"\r\nx-request-id: plain\r\n" in answer


def read_response(reader: IO[bytes]) -> bytes:
    """Read one response with a known length; nothing if the connection is closed instead."""
    head = b""
    while (line := reader.readline()) not in {b"", b"\r\n"}:
        head += line
    if not head:
        return b""
    (length,) = re.findall(rb"(?im)^content-length: (\d+)", head)
    return head + b"\r\n" + reader.read(int(length))


def test_plain_reads_are_answered_ahead_of_the_application(skeleton: Service) -> None:
    kept = [PLAIN, FRAMEWORK] * 20
    answer = exchange(skeleton, b"".join([*kept, PLAIN.replace(b"\r\n\r\n", LAST)]))
    answers = [b"HTTP/1.1 " + each for each in answer.split(b"HTTP/1.1 ")[1:]]
    assert [is_plain(each) for each in answers] == [True, False] * 20 + [True]
    assert [b"connection: close" in each for each in answers] == [False] * 40 + [True]


@pytest.mark.parametrize("piece", [7, 50, 10_000])
def test_requests_sent_ahead_are_answered_in_order(skeleton: Service, piece: int) -> None:
    """In whatever pieces they arrive, and whatever comes between them."""
    sized = b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n" + PLAIN[:40].ljust(40, b".")
    chunked = b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n"
    sent = b"".join([*[PLAIN, sized, FRAMEWORK, chunked, chunked, sized] * 3, PLAIN.replace(b"\r\n\r\n", LAST)])
    with closing(connect(skeleton)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for begin in range(0, len(sent), piece):
            connection.sendall(sent[begin : begin + piece])
        answers = [b"HTTP/1.1 " + each for each in read_all(connection).split(b"HTTP/1.1 ")[1:]]
    bodies = [answer.partition(b"\r\n\r\n")[2] for answer in answers]
    assert [is_plain(each) for each in answers] == [True, False, False, False, False, False] * 3 + [True]
    assert bodies[1:-1:6] == bodies[5:-1:6] == [b"40"] * 3
    assert bodies[3:-1:6] == bodies[4:-1:6] == [b"4"] * 3


@pytest.mark.parametrize(
    ("request_bytes", "end"),
    [
        (PLAIN, b"\r\n\r\n"),
        (b"GET /probe/slow?ms=300 HTTP/1.1\r\nHost: x\r\n\r\n", b""),
        (b"GET /probe/slow?ms=50 HTTP/1.1\r\nHost: x\r\n\r\n" * 20, b""),
        (b"GET /probe/large?bytes=3000000 HTTP/1.1\r\nHost: x\r\n\r\n", bytes(1000)),
        (SIZED, b"\r\n\r\n9"),
        (CHUNKED, b"\r\n\r\n1"),
        (CHUNKED + PLAIN, b""),
        (CHUNKED * 3, b"\r\n\r\n1"),
        (CHUNKED + FRAMEWORK * 2 + PLAIN, b""),
        ((PLAIN + FRAMEWORK + SIZED + CHUNKED) * 10, b"\r\n\r\n1"),
    ],
    ids=["plain", "slow", "many", "large", "sized", "chunked", "chunked and more", "chunks", "plain ones", "all kinds"],
)
def test_a_client_that_has_closed_its_side_gets_every_answer(
    skeleton: Service, request_bytes: bytes, end: bytes
) -> None:
    with closing(connect(skeleton)) as connection:
        connection.sendall(request_bytes)
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == request_bytes.count(b" HTTP/1.1\r\n")
    assert answer.endswith(end)


def test_a_client_that_closes_its_side_late_gets_every_answer(skeleton: Service) -> None:
    """Guard: the parser holds what follows a chunked body; a client that left while that was answered lost the rest."""
    slow = b"GET /probe/slow?ms=200 HTTP/1.1\r\nHost: x\r\n\r\n"
    with closing(connect(skeleton)) as connection:
        connection.sendall(CHUNKED + slow * 3)
        first = connection.recv(65536)
        connection.shutdown(socket.SHUT_WR)
        answer = first + read_all(connection)
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 4


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /probe/plain HTTP/1.1\r\nHost: x\r\n",
        b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234",
        b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
    ],
    ids=["header", "sized", "chunked"],
)
def test_a_request_that_is_cut_off_ends_at_once(skeleton: Service, request_bytes: bytes) -> None:
    assert min(seconds_to_cut_off(skeleton, request_bytes) for _ in range(10)) < 1, (
        "it ended by its time limit of a second"
    )


def seconds_to_cut_off(service: Service, request_bytes: bytes) -> float:
    """Return how long the service holds a connection whose client stopped in the middle of a request."""
    begun = time.monotonic()
    with closing(connect(service)) as connection:
        connection.sendall(request_bytes)
        connection.shutdown(socket.SHUT_WR)
        assert b" 200 " not in read_all(connection)
    return time.monotonic() - begun


def test_a_new_client_has_its_turn_among_many_that_have_sent_ahead(single: Service) -> None:
    """A loaded machine changes the times, but not the number of answers that the others get before the new one."""
    crowd, ahead = 100, 40
    busy = b"GET /probe/blocked?ms=2 HTTP/1.1\r\nHost: x\r\n\r\n"
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(connect(single))) for _ in range(crowd)]
        for client in clients:
            client.sendall(busy * ahead)
        wait_until(lambda: all(_unread(client) for client in clients), 30, "each to have an answer")
        size = min(_unread(client) for client in clients)
        before = sum(_unread(client) for client in clients)
        assert b" 204 " in exchange(single, b"GET /health/ping HTTP/1.1\r\nHost: x" + LAST)
        between = (sum(_unread(client) for client in clients) - before) / size
        assert before / size + between < crowd * ahead, "the others to be busy still"
    assert between < crowd, "at most a few answers a round of the event loop"


def _unread(client: socket.socket) -> int:
    """Return the received bytes that the client has not read."""
    return int.from_bytes(fcntl.ioctl(client, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_what_is_not_plain_is_left_to_the_application(skeleton: Service) -> None:
    for request in (PLAIN.replace(b"GET", b"POST"), PLAIN.replace(b"HTTP/1.1", b"HTTP/1.0")):
        answer = exchange(skeleton, request.replace(b"\r\n\r\n", LAST))
        assert b"404 Not Found" in answer
        assert not is_plain(answer)


def test_an_answer_may_take_longer_than_the_headers_of_its_request(skeleton: Service) -> None:
    assert b" 200 OK" in exchange(skeleton, b"GET /probe/slow?ms=1500 HTTP/1.1\r\nHost: x" + LAST)


def test_a_request_ends_when_its_client_leaves(single: Service) -> None:
    with closing(connect(single)) as connection:
        connection.sendall(b"GET /probe/wait HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: connections(single) >= 2, 10, "the request to arrive")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    wait_until(lambda: any(line["event"] == "wait_ended" for line in single.log_lines()), 10, "the request to end")


def test_a_stream_is_produced_no_faster_than_its_client_reads(single: Service) -> None:
    with closing(connect(single)) as connection:
        connection.sendall(b"GET /probe/stream HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: is_reset(connection), 10, "the server to cut the connection off")
    assert 0 < single.client.get("/probe/streamed").json() < STREAM_SIZE / 2


def test_refusals_are_counted(skeleton: Service) -> None:
    def refused() -> float:
        return total(read_metrics(skeleton.client, "all"), "waypost_unread_requests_total", status="400")

    before = refused()
    assert b"malformed_request" in exchange(skeleton, b"nonsense\r\n\r\n")
    wait_until(lambda: refused() > before, 10, "the refusal to be counted")


@pytest.mark.parametrize("request_bytes", [PLAIN, FRAMEWORK], ids=["plain", "framework"])
def test_each_response_of_an_ending_worker_announces_that_its_connection_closes(
    single: Service, request_bytes: bytes
) -> None:
    """A busy client never finds its connection closed without that, and the requests behind the announcement get no response."""
    with closing(connect(single)) as busy, closing(connect(single)) as idle, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(exchange, single, b"GET /probe/slow?ms=1500 HTTP/1.1\r\nHost: x\r\n\r\n")
        responses, silence = busy.makefile("rb"), idle.makefile("rb")
        idle.sendall(FRAMEWORK)
        assert read_response(silence)
        wait_until(lambda: connections(single) >= 4, 10, "all connections")
        single.process.send_signal(signal.SIGTERM)
        found = b""
        while b"connection: close" not in found:
            busy.sendall(request_bytes * 2)
            found = read_response(responses)
            if b"connection: close" not in found:
                found = read_response(responses)
            assert found.startswith(b"HTTP/1.1 200 ")
        assert read_response(responses) == b""
        assert read_response(silence) == b""
        assert b"connection: close" in slow.result(20)
    assert single.process.wait(10) == 0


def test_an_interrupt_waits_for_nobody(single: Service) -> None:
    with closing(connect(single)) as waiting:
        waiting.sendall(b"GET /probe/wait HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: connections(single) >= 2, 10, "the request to arrive")
        began = time.monotonic()
        single.process.send_signal(signal.SIGINT)
        assert single.process.wait(15) == 0
        assert time.monotonic() - began < 8


def test_a_worker_with_a_blocked_event_loop_is_replaced(single: Service) -> None:
    (before,) = single.workers()
    with closing(connect(single)) as connection:
        connection.sendall(b"GET /probe/blocked?ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: single.workers() and before not in single.workers(), 20, "another worker")
    wait_until(lambda: pid_of(single) in single.workers(), 10, "the new worker to answer")


def test_a_worker_that_ends_slowly_is_not_killed(single: Service) -> None:
    (before,) = single.workers()
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(pid_of, single, f"/probe/slow?ms={HEARTBEAT * 2500}")
        wait_until(lambda: connections(single) >= 2, 10, "the request to arrive")
        single.process.send_signal(signal.SIGHUP)
        assert busy.result(30) == before


def test_workers_end_when_their_master_is_killed(single: Service) -> None:
    (worker,) = single.workers()
    single.process.kill()
    wait_until(lambda: not Path(f"/proc/{worker}").exists(), 15, "the worker to end")


def test_old_workers_serve_until_the_new_ones_of_a_reload_do(single: Service) -> None:
    """A new worker that dies at its start is replaced meanwhile."""
    (old,) = single.workers()
    (single.data / "slow").touch()
    single.process.send_signal(signal.SIGHUP)
    (starting,) = wait_until(lambda: list(single.data.glob("starting.*")), 5, "a new worker to begin its start")
    (single.data / "slow").unlink()
    began = time.monotonic()
    while time.monotonic() - began < 1:
        assert pid_of(single) == old
    os.kill(int(starting.suffix[1:]), signal.SIGKILL)
    answered: set[int] = set()

    def has_gone() -> bool:
        answered.add(pid_of(single))
        return old not in single.workers()

    wait_until(has_gone, 15, "the old worker to go")
    assert int(starting.suffix[1:]) not in answered
    assert pid_of(single) != old


def test_the_counts_of_a_killed_worker_remain(single: Service) -> None:
    def pings() -> float:
        return total(read_metrics(single.client, "all"), "waypost_requests_total", route="/probe/pid")

    for _ in range(5):
        victim = pid_of(single)
    assert pings() == 5
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: single.workers() - {victim}, 10, "another worker")
    wait_until(lambda: not Path(f"/proc/{victim}").exists(), 10, "the worker to be gone")
    assert pings() == 5


def test_a_worker_that_cannot_start_is_started_again(single: Service) -> None:
    (single.data / "away").touch()
    for pid in single.workers():
        os.kill(pid, signal.SIGKILL)

    def tries() -> int:
        return sum(line.get("event") == "worker_not_started" for line in single.log_lines())

    wait_until(lambda: tries() > 1, 15, "two workers that cannot start")
    (single.data / "away").unlink()
    wait_until(lambda: b" 200 OK" in exchange(single, FRAMEWORK.replace(b"\r\n\r\n", LAST)), 15, "a worker that starts")


def test_an_application_that_cannot_start_stops_the_service(single: Service) -> None:
    (single.data / "unstartable").touch()
    for pid in single.workers():
        os.kill(pid, signal.SIGKILL)
    assert single.process.wait(15) != 0
    assert any(str(line["event"]).startswith("ASGI lifespan startup failed") for line in single.log_lines())


def test_a_unix_socket_is_served(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    settings = {"WAYPOST_DATA": str(tmp_path / "data"), "WAYPOST_BIND": f"unix:{path}", "WAYPOST_WORKERS": "1"}
    (tmp_path / "data").mkdir()
    process = subprocess.Popen(SKELETON, cwd=ROOT, env={**os.environ, **settings}, stderr=subprocess.DEVNULL)
    try:
        wait_until(path.exists, 20, "the socket")
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://x", timeout=20) as client:
            assert client.get("/health/ping").status_code == 204
            assert client.get("/probe/plain").headers["x-request-id"] == "plain"
    finally:
        assert stop(process) == 0
