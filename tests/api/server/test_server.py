"""The real server: gunicorn's workers, its connections, its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import pytest
from gunicorn.config import Config

from api.http.request.request_body import LINGER_BYTES
from api.server.master import reset_signals
from api.server.server import options
from api.settings import Settings
from tests.api.server.raw_client import connect, connections, exchange, is_reset, pid_of, read_all
from tests.service import ROOT, SKELETON, Service, child_pids, running, stop, wait_until

ALL = {"Authorization": "Bearer all"}
_PID = b"GET /probe/pid HTTP/1.1\r\n%b\r\n\r\n"
_SINK = b"POST /probe/sink HTTP/1.1\r\n%b\r\n\r\n"
BOTH_PATHS = (b"/probe/large", b"/probe/plain")
"""A response of the framework, and one of the fast path."""


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start a service of which a test may kill a part."""
    with running(SKELETON, tmp_path_factory.mktemp("mortal") / "data") as service:
        yield service


def knocks(connection: socket.socket) -> int:
    """Return the kernel's count of packets that were sent again over a connection, the first one included."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int.from_bytes(info[100:104], sys.byteorder)  # tcpi_total_retrans, the 24th number of tcp_info


def test_both_workers_answer(skeleton: Service) -> None:
    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(lambda _: pid_of(skeleton, "/probe/slow?ms=50"), range(64)))
    assert seen == skeleton.workers()
    assert len(seen) == 2


def test_one_worker_answers_others_while_a_thread_is_busy(skeleton: Service) -> None:
    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(pid_of, skeleton, "/probe/slow?ms=2000") for _ in range(6)]
        wait_until(lambda: all(future.running() for future in slow), 15, "the slow requests to be sent")
        assert skeleton.client.get("/health/ping").status_code == 204
        assert not any(future.done() for future in slow)
        assert {future.result() for future in slow} <= skeleton.workers()


def test_a_client_that_never_ends_its_headers_is_cut_off(skeleton: Service) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        half, nothing = (pool.submit(exchange, skeleton, sent) for sent in (b"GET / HTTP/1.1\r\nHost: x\r\n", b""))
    assert (half.result(), nothing.result()) == (b"", b"")
    assert 0.9 < time.monotonic() - began < 8


def test_an_idle_connection_is_closed_after_its_keepalive(skeleton: Service) -> None:
    answer = exchange(skeleton, b"GET /health/ping HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert b"connection: close" not in answer.lower()


def test_a_body_that_never_ends_is_cut_off_with_408(skeleton: Service) -> None:
    head = b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"
    answer = exchange(skeleton, head)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"body_timeout" in answer
    assert b"connection: close" in answer.lower(), "a proxy would use the connection for another request"


@pytest.mark.parametrize("path", BOTH_PATHS)
def test_a_client_that_stops_reading_is_cut_off(skeleton: Service, path: bytes) -> None:
    with closing(connect(skeleton)) as connection:
        connection.sendall(b"GET %b?bytes=50000000 HTTP/1.1\r\nHost: x\r\n\r\n" % path)
        connection.recv(1)
        wait_until(lambda: is_reset(connection), 8, "the server to cut the connection off")


@pytest.mark.parametrize("path", BOTH_PATHS)
def test_a_client_that_reads_slowly_gets_everything(skeleton: Service, path: bytes) -> None:
    with closing(connect(skeleton)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(b"GET %b?bytes=12000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path)
        count, began = 0, time.monotonic()
        while piece := connection.recv(20_000):
            count += len(piece)
            wait_until(lambda: count / 4_000_000 <= time.monotonic() - began, 15, "the pace of a slow reader")  # noqa: B023 - called at once
    assert count > 12_000_000
    assert time.monotonic() - began > 2


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "uri_too_long"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Y: " + b"y" * 9000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Y: 1\r\n" * 200 + b"\r\n", 431, "headers_too_large"),
        (b"GET / secret-nonsense\r\n\r\n", 400, "malformed_request"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400, "malformed_request"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: unknown, chunked\r\n\r\nx", 501, "not_implemented"),
        (_SINK % b"Host: x\r\nTransfer-Encoding: gzip, chunked" + b"1\r\nx\r\n0\r\n\r\n", 501, "not_implemented"),
        (_SINK % b"Host: x\r\nTransfer-Encoding: deflate, Chunked" + b"0\r\n\r\n", 501, "not_implemented"),
        (_SINK % b"Content-Length: 1\r\nConnection: close" + b"x", 400, "malformed_request"),
        (_PID % b"Connection: close", 400, "malformed_request"),
        (_PID % b"Host: x\r\nHost: x", 400, "malformed_request"),
        (_PID % b"Host: x\r\nHost: y", 400, "malformed_request"),
        (_PID % b"Host: a b\r\nConnection: close", 400, "malformed_request"),
        (_PID % b"Host: a/b\r\nConnection: close", 400, "malformed_request"),
        (_PID % b"Host: a:b:c\r\nConnection: close", 400, "malformed_request"),
        (_PID % b"Host: \xc3\xa4\r\nConnection: close", 400, "malformed_request"),
    ],
)
def test_what_is_not_http_is_refused_in_the_one_shape(
    skeleton: Service, request_bytes: bytes, status: int, code: str
) -> None:
    head, _, body = exchange(skeleton, request_bytes).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    for header in (b"content-type: application/json", b"x-content-type-options: nosniff", b"cache-control: no-store"):
        assert header in head.lower()
    assert json.loads(body)["error"] == code
    assert b"secret" not in body


@pytest.mark.parametrize("host", [b"", b"waypost.example", b"waypost.example:8080", b"[::1]:80", b"%20", b"127.0.0.1:"])
def test_any_valid_host_will_do(skeleton: Service, host: bytes) -> None:
    assert b" 200 OK" in exchange(skeleton, _PID % b"Host: %b\r\nConnection: close" % host)


def test_older_clients_need_no_host(skeleton: Service) -> None:
    assert b" 200 OK" in exchange(skeleton, b"GET /probe/pid HTTP/1.0\r\n\r\n")


def test_both_framings_at_once_are_never_two_requests(skeleton: Service) -> None:
    smuggled = b"0\r\n\r\nGET /probe/pid HTTP/1.1\r\nHost: x\r\n\r\n"
    head = b"POST /probe/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert exchange(skeleton, head + smuggled).count(b"HTTP/1.1 ") <= 1


def test_a_chunked_body_is_counted(skeleton: Service) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        yield from (b"x" * 100 for _ in range(count))

    assert skeleton.client.post("/probe/sink", content=chunks(10)).json() == 1000
    answer = skeleton.client.post("/probe/sink", content=chunks(11))
    assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")


def test_a_large_body_that_nobody_reads_does_not_cost_the_client_its_answer(skeleton: Service) -> None:
    for size in (1001, 100_000, 5_000_000):
        assert skeleton.client.post("/probe/sink", content=b"x" * size).status_code == 413
        assert skeleton.client.put("/probe/sink", content=b"x" * size).status_code == 401
    assert skeleton.client.put("/probe/sink", content=b"x" * 5_000_000, headers=ALL).json() == 5_000_000


@pytest.mark.parametrize(
    ("framing", "sent", "ends"),
    [
        (b"Content-Length: %d" % (LINGER_BYTES + 1), b"", True),
        (b"Content-Length: %d" % LINGER_BYTES, b"x" * LINGER_BYTES, False),
        (b"Transfer-Encoding: chunked", b"1\r\nx\r\n", True),
        (b"Transfer-Encoding: chunked\r\nAuthorization: Bearer all", b"1\r\nx\r\n0\r\n\r\n", False),
    ],
    ids=["beyond what is read", "all that is read", "unknown", "known"],
)
def test_a_response_before_the_end_of_a_body_that_may_stay_unread_announces_the_close(
    skeleton: Service,
    framing: bytes,
    sent: bytes,
    ends: bool,  # noqa: FBT001 - an example
) -> None:
    """A proxy that has sent the whole body would use the connection for another client's request."""
    head = b"PUT /probe/sink HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n" % framing
    with closing(connect(skeleton)) as connection:
        connection.sendall(head + sent)
        if not ends:
            connection.sendall(b"GET /probe/pid HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        found = read_all(connection).lower()
    assert found.count(b"http/1.1 ") == 2 - ends
    assert (b"connection: close" in found.partition(b"\r\n\r\n")[0]) == ends


def test_whoever_asks_first_sends_no_body_in_vain(skeleton: Service) -> None:
    head = b"PUT /probe/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n"
    assert exchange(skeleton, head).startswith(b"HTTP/1.1 401 ")
    welcome = head.replace(b"100000", b"5").replace(b"\r\n\r\n", b"\r\nAuthorization: Bearer all\r\n\r\n")
    with closing(connect(skeleton)) as connection:
        connection.sendall(welcome)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"hello")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_headers_of_a_proxy_that_nobody_trusts_change_nothing(skeleton: Service) -> None:
    hostile = {
        "SCRIPT_NAME": "/api",
        "Script-Name": "/api",
        "PATH_INFO": "/probe/pid",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "203.0.113.9",
    }
    assert skeleton.client.get("/probe/client", headers=hostile).json() == "127.0.0.1"


def test_a_trusted_proxy_names_the_client(tmp_path: Path) -> None:
    with running(SKELETON, tmp_path / "data", {"WAYPOST_TRUSTED_PROXIES": "127.0.0.0/8, ::1"}) as service:
        named = {"X-Forwarded-For": "198.51.100.1, 203.0.113.9", "X-Forwarded-Proto": "https"}
        assert service.client.get("/probe/client", headers=named).json() == "203.0.113.9"
        assert service.client.get("/probe/pid", headers={"SCRIPT_NAME": "/probe"}).status_code == 200


def test_the_server_trusts_the_same_proxies_in_both_forms_of_an_address() -> None:
    """A socket of both versions reports a proxy with IPv4 as `::ffff:…`."""
    config = Config()
    config.set("forwarded_allow_ips", options(Settings(trusted_proxies=("10.0.0.0/8", "::1")))["forwarded_allow_ips"])
    networks = config.forwarded_allow_networks()
    trusted = ("10.1.2.3", "::ffff:10.1.2.3", "::1", "192.0.2.1", "::ffff:192.0.2.1")
    assert [any(ip_address(each) in network for network in networks) for each in trusted] == [True] * 3 + [False] * 2


def test_a_websocket_is_refused_and_the_worker_goes_on(skeleton: Service) -> None:
    upgrade = (
        b"GET /health/ping HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert exchange(skeleton, upgrade).startswith(b"HTTP/1.1 403 ")
    assert not [line for line in skeleton.log_lines() if line.get("event") == "unexpected_error"]


def test_readiness_goes_red_and_green_while_everything_else_goes_on(skeleton: Service) -> None:
    broken = skeleton.data / "broken"
    broken.touch()

    def ready() -> int:
        return skeleton.client.get("/health/ready").status_code

    wait_until(lambda: ready() == 503, 15, "readiness to go red")
    assert skeleton.client.get("/health/ping").status_code == 204
    broken.unlink()
    wait_until(lambda: ready() == 200, 15, "readiness to go green")


def test_no_control_socket_is_there(skeleton: Service) -> None:
    held = {str(link.readlink()) for link in Path(f"/proc/{skeleton.process.pid}/fd").iterdir()}
    unix = Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()[1:]
    assert not held & {f"socket:[{line.split()[6]}]" for line in unix}
    assert any(name.startswith("socket:") for name in held)


def test_connections_beyond_the_cap_are_refused(tmp_path: Path) -> None:
    with running(SKELETON, tmp_path / "data", {"WAYPOST_CONNECTIONS": "10", "WAYPOST_WORKERS": "1"}) as service:
        held = [connect(service) for _ in range(10)]
        answers = wait_until(lambda: refused(service), 15, "a connection to be refused")
        assert answers.startswith(b"HTTP/1.1 503 ")
        assert b"overloaded" in answers
        for connection in held:
            connection.close()
        wait_until(lambda: not refused(service), 15, "room for new connections")


def refused(service: Service) -> bytes:
    """Return the response to a new connection, if it is refused."""
    with closing(connect(service)) as connection:
        connection.sendall(b"GET /health/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = read_all(connection)
        return b"" if answer.startswith(b"HTTP/1.1 204") else answer


def test_a_worker_that_is_killed_is_replaced_and_leaves_no_process_behind(mortal: Service) -> None:
    worker = pid_of(mortal, "/probe/worker")
    before = mortal.workers()
    owner = next(pid for pid in before if worker in descendants(pid))
    os.kill(owner, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{worker}").exists(), 10, "the process of a killed worker to end")
    wait_until(lambda: len(mortal.workers() - {owner}) == 2, 10, "another worker")
    wait_until(lambda: pid_of(mortal) in mortal.workers() - before, 10, "the new worker to answer")


def descendants(pid: int) -> set[int]:
    """Return the process ids of all descendants of a process."""
    found = child_pids(pid)
    return found.union(*(descendants(child) for child in found))


def test_a_stop_lets_a_request_finish_and_waits_for_no_idle_connection(tmp_path: Path) -> None:
    with running(SKELETON, tmp_path / "data") as service, ThreadPoolExecutor(1) as pool:
        assert service.client.get("/health/ping").status_code == 204  # and keeps its connection open
        wait_until(lambda: len(list(service.data.glob("diary.*"))) == 2, 10, "both workers to start")
        busy = pool.submit(pid_of, service, "/probe/slow?ms=1200")
        wait_until(busy.running, 15, "the request to be under way")
        wait_until(lambda: connections(service) >= 2, 15, "the request to arrive")
        began = time.monotonic()
        assert stop(service.process) == 0
        assert time.monotonic() - began < 8
        assert busy.result() > 0
    diaries = [file.read_text(encoding="ascii") for file in service.data.glob("diary.*")]
    assert diaries == ["started\nstopped\n"] * 2


def test_a_stop_reaches_workers_that_are_still_starting(tmp_path: Path) -> None:
    with running(SKELETON, tmp_path / "data", {"WAYPOST_WORKERS": "6"}) as service:
        began = time.monotonic()
        assert stop(service.process) == 0
        assert time.monotonic() - began < 8


def test_a_stop_ends_a_worker_that_never_comes_to_its_start(tmp_path: Path) -> None:
    with running(SKELETON, tmp_path / "data") as service:
        (service.data / "slow").touch()
        os.kill(min(service.workers()), signal.SIGKILL)
        wait_until(lambda: list(service.data.glob("starting.*")), 10, "another worker to begin its start")
        began = time.monotonic()
        assert stop(service.process) == 0
        assert time.monotonic() - began < 8


def test_a_crowd_that_comes_at_once_need_not_knock_twice(mortal: Service) -> None:
    """Clients whom the kernel does not let in wait a second until they try again: so the queue must be long."""
    workers, open_connections = mortal.workers(), []
    try:
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        open_connections += [connect(mortal) for _ in range(400)]
        assert sum(map(knocks, open_connections)) == 0
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        for connection in open_connections:
            connection.close()


def test_a_worker_may_open_a_file_for_every_connection() -> None:
    code = (
        "import resource as r; from api.server.server import raise_file_limit as f; n = r.RLIMIT_NOFILE; "
        "r.setrlimit(n, (256, 900)); f(200); print(*r.getrlimit(n)); f(10); print(*r.getrlimit(n))"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["900", "900"] * 2


def test_a_stop_that_the_copy_of_the_master_caught_is_not_lost() -> None:
    arbiter = SimpleNamespace(SIG_QUEUE=SimpleQueue[int]())
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)}
    try:
        arbiter.SIG_QUEUE.put(signal.SIGCHLD)
        reset_signals(arbiter, None)
        assert {signal.getsignal(number) for number in before} == {signal.SIG_DFL}
        arbiter.SIG_QUEUE.put(signal.SIGTERM)
        with pytest.raises(SystemExit):
            reset_signals(arbiter, None)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_nobody_who_waits_for_news_holds_up_a_stop_for_longer_than_allowed(tmp_path: Path) -> None:
    with (
        running(SKELETON, tmp_path / "data", {"WAYPOST_GRACEFUL_TIMEOUT": "1"}) as service,
        closing(connect(service)) as waiting,
    ):
        waiting.sendall(b"GET /probe/wait HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: connections(service) >= 2, 15, "the request to arrive")
        began = time.monotonic()
        stop(service.process)
        assert time.monotonic() - began < 8


def test_a_setting_that_is_refused_stops_the_start_with_its_reason(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="WAYPOST_WORKERS is 'many'; allowed: a number from 1 to 256"),
        running(SKELETON, tmp_path / "data", {"WAYPOST_WORKERS": "many"}),
    ):
        pass


def test_the_process_for_heavy_work_writes_to_the_same_log(skeleton: Service) -> None:
    worker = pid_of(skeleton, "/probe/worker")
    assert worker not in skeleton.workers()
    (line,) = (line for line in skeleton.log_lines() if line.get("pid") == worker)
    assert (line["event"], line["logger"]) == ("spoken", "waypost.probe")


def test_every_line_of_the_log_is_json_and_holds_no_token(skeleton: Service) -> None:
    token = "svc_" + "Z" * 49
    path = f"/api/namespace/acme/project/shop/probe/{token}?access={token}"
    skeleton.client.get(path, headers={"Authorization": f"Bearer {token}", "X-Request-Id": "canary-1"})

    def reported() -> list[object]:
        return [line for line in skeleton.log_lines() if line.get("request_id") == "canary-1"]

    wait_until(reported, 15, "the line of the request")
    assert token not in skeleton.log.read_text(encoding="utf-8")
