"""A running service with many namespaces and agents: `python -m bench.growth.crowd [--namespaces N] [--agents N] [--seconds N]`.

Two workers, and all agents of all namespaces send a heartbeat every 30 seconds. Everything is real: HTTP, SQLite, Git. The
process that plays the agents runs on the same machine, so the figures include what it takes.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench import machine
from bench.processes import private_megabytes, processor_seconds, transferred
from bench.workbench import AUTHOR, bearer, make_token
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.service import WAYPOST, Service, running, wait_until

_SHOP = "shop"
_PERIOD = 30.0
_CONNECTIONS = 40
_READY_SECONDS = 120.0
_DONE = b" 200 "


class Sent(NamedTuple):
    """The heartbeats of a time: seconds until each response, and how many were refused."""

    seconds: list[float]
    refused: int


def main() -> None:
    """Make the namespaces, run the service, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth.crowd", description="Try a service with many agents.")
    parser.add_argument("--namespaces", type=int, default=1_000)
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    print(machine.describe())
    with tempfile.TemporaryDirectory(prefix="waypost-crowd-") as folder:
        data = Path(folder) / "data"
        names = _make_namespaces(data, given.namespaces)
        token = make_token(data, "agent"), make_token(data, "admin")
        with running(WAYPOST, data) as service:
            _measure(service, names, token, given.agents, given.seconds)


def _make_namespaces(data: Path, count: int) -> list[str]:
    data.mkdir()
    store, names = create_store(data), [f"n{number:04d}" for number in range(count)]
    with _timed(f"{count:,} namespaces made"):
        for name in names:
            store.namespaces.create(name, "", AUTHOR)
            store.projects.create(name, _SHOP, ProjectFile(), AUTHOR)
    return names


def _measure(service: Service, names: Sequence[str], tokens: tuple[str, str], agents: int, seconds: float) -> None:
    with service.as_token(tokens[1]) as client:
        with _timed("until /health/ready is 200"):
            wait_until(lambda: client.get("/health/ready").status_code == 200, _READY_SECONDS, "readiness")
        _print_processes(service, "at rest")
        with _timed("a new namespace, made by API"):
            client.post("/api/namespaces", json={"name": "new"}).raise_for_status()
    paths = [f"/api/namespace/{names[n % len(names)]}/project/{_SHOP}/agents/edge-{n}/hit" for n in range(agents)]
    requests = [_request(path, tokens[0]) for path in paths]
    first = uvloop.run(_beat(service.port, requests, 2 * _PERIOD))
    print(f"the first heartbeats, which add the agents: {_describe(first, 2 * _PERIOD)}")
    before = [(processor_seconds(pid), _written(pid)) for pid in sorted(service.workers())]
    begun, own = time.monotonic(), time.process_time()
    sent = uvloop.run(_beat(service.port, requests, seconds))
    elapsed = time.monotonic() - begun
    print(f"heartbeats of {agents:,} agents: {_describe(sent, elapsed)}")
    print(f"  the process that plays the agents: {100 * (time.process_time() - own) / elapsed:.0f}% of a core")
    total = 0.0
    for pid, (processor, written) in zip(sorted(service.workers()), before, strict=True):
        used, kilobytes = processor_seconds(pid) - processor, (_written(pid) - written) / 1000
        total += used
        print(f"  a worker: {100 * used / elapsed:.0f}% of a core, {kilobytes / elapsed:,.0f} kB/s written")
    print(f"  both: {1e6 * total / len(sent.seconds):.0f} µs of processor time a heartbeat, all other work included")
    _print_processes(service, "after it")


def _request(path: str, token: str) -> bytes:
    fields = {"Host": "bench", "Content-Length": "0", **bearer(token)}
    lines = [f"PATCH {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode()


async def _beat(port: int, requests: Sequence[bytes], seconds: float) -> Sent:
    """Send each request every 30 seconds, evenly, for so many seconds."""
    share = [requests[start::_CONNECTIONS] for start in range(_CONNECTIONS)]
    found = await asyncio.gather(*(_beat_on_one(port, part, seconds) for part in share))
    return Sent([second for each in found for second in each.seconds], sum(each.refused for each in found))


class _Responses(asyncio.Protocol):
    """One connection: it sends a request, and waits for its response, which has no body."""

    def __init__(self) -> None:
        self._received = b""
        self._waiting: asyncio.Future[bytes] | None = None

    def data_received(self, data: bytes) -> None:
        """Add what was received; the response is complete at the end of its head."""
        self._received += data
        if self._waiting and self._received.endswith(b"\r\n\r\n"):
            self._waiting.set_result(self._received)
            self._received = b""

    def wait(self) -> asyncio.Future[bytes]:
        """Return the next response."""
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting


async def _beat_on_one(port: int, requests: Sequence[bytes], seconds: float) -> Sent:
    transport, responses = await asyncio.get_running_loop().create_connection(_Responses, "127.0.0.1", port)
    elapsed, refused, begun = list[float](), 0, time.perf_counter()
    pause, due = _PERIOD / len(requests), begun
    while (now := time.perf_counter()) < begun + seconds:
        if due > now:
            await asyncio.sleep(due - now)
        sent = time.perf_counter()
        transport.write(requests[len(elapsed) % len(requests)])
        refused += _DONE not in await responses.wait()
        elapsed.append(time.perf_counter() - sent)
        due += pause
    transport.close()
    return Sent(elapsed, refused)


def _describe(sent: Sent, seconds: float) -> str:
    ordered = sorted(sent.seconds)
    middle, slow = (1000 * ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
    return (
        f"{len(ordered) / seconds:,.0f} a second, median {middle:.1f} ms, slowest 1% {slow:.1f} ms, "
        f"slowest {1000 * ordered[-1]:.0f} ms; {sent.refused} refused"
    )


def _print_processes(service: Service, when: str) -> None:
    sizes = ", ".join(f"{private_megabytes(pid):.0f}" for pid in sorted(service.workers()))
    print(f"private memory of the workers {when}: {sizes} MB")


def _written(pid: int) -> int:
    return transferred(pid)["write_bytes"]


@contextmanager
def _timed(what: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main()
