"""A client's clock: `python -m bench.growth.clock [SIZE…] [--pause S]` times a service with projects of so many rules, over HTTP.

Two workers, and one project of each size, which is imported and published by API. Times are those of the client, so they
belong to a machine that does nothing else. Memory is the proportional share of all processes together.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from bench import machine, rules
from bench.groups.starting import start
from bench.processes import descendants, proportional_megabytes, transferred
from bench.rules import sample_evenly
from bench.workbench import NAMESPACE, bearer, make_token, prepare_environment, scope
from content.records.record import Redirect
from tests.service import WAYPOST, Service, running

_SIZES = (1_000, 100_000, 1_000_000)
_EDITS = 50
_WARM_UP = 5
_SEARCHES = 7
_STARTS = 3
_TIMEOUT_SECONDS = 600
_PAUSE = 0.05  # seconds between calls: what a service does after its response is not measured
_SAMPLE = 0.2
_SYNCS = 50
_JSON, _ROWS = "application/json", "text/tab-separated-values"
_SETTLED = 75.0  # processes without a job end after a minute


def main() -> None:
    """Run a service, and print the figures of each size."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth.clock", description="Time a service by the clock.")
    parser.add_argument("sizes", nargs="*", type=int, metavar="SIZE", help=f"rules of a project; default: {_SIZES}")
    parser.add_argument(
        "--pause", type=float, default=_PAUSE, metavar="S", help=f"seconds between calls; default: {_PAUSE}"
    )
    given = parser.parse_args()
    print(machine.describe())
    with tempfile.TemporaryDirectory(prefix="waypost-clock-") as folder:
        prepare_environment(Path(folder))
        data = Path(folder) / "data"
        print(f"- a file of 4 KiB, written and synced: {_sync_milliseconds(Path(folder)):.2f} ms\n", flush=True)
        with running(WAYPOST, data):
            pass  # the first start creates keys, tables and compiled modules
        with running(WAYPOST, data, {"WAYPOST_JOB_TIMEOUT": str(_TIMEOUT_SECONDS)}) as service:
            time.sleep(_SETTLED)
            print(f"- memory without data: {_memory(service):.0f} MB", flush=True)
            client = _Client(service.port, make_token(data, "admin"), given.pause)
            client.time("POST", "/api/namespaces", {"name": NAMESPACE})
            for size in given.sizes or _SIZES:
                _measure(service, client, size)
            time.sleep(_SETTLED)
            print(f"- memory a minute later: {_memory(service):.0f} MB", flush=True)
        starts = [start(data, workers=2) for _ in range(_STARTS)]
        print(f"- start with this data, until ready: best {min(starts):.2f} s, worst {max(starts):.2f} s")


class _Client:
    """One connection of an administrator; the standard library's client, which takes the least time itself."""

    def __init__(self, port: int, token: str, pause: float) -> None:
        self.pause = pause
        self._connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
        self._headers = bearer(token)

    def time(self, method: str, path: str, body: dict[str, str] | bytes = b"") -> float:
        """Return the milliseconds of a request that succeeds; bytes are rows for an import."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        media = _ROWS if isinstance(body, bytes) else _JSON
        begun = time.perf_counter()
        self._connection.request(method, path, data, {**self._headers, **({"Content-Type": media} if data else {})})
        response = self._connection.getresponse()
        answer = response.read()
        elapsed = time.perf_counter() - begun
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise AssertionError(answer[:1_000])
        return 1000 * elapsed


def _measure(service: Service, client: _Client, size: int) -> None:
    held = rules.exact_rules(size)
    project = scope(f"rules-{size}")
    client.time("POST", f"/api/namespace/{NAMESPACE}/projects", {"name": f"rules-{size}"})
    print(f"\n## {size:,} rules\n", flush=True)
    _measure_once(service, client, f"{project}/import", rules.table(held))
    _measure_once(service, client, f"{project}/publish", b"")
    _change(service, client, project, sample_evenly(held, _WARM_UP + _EDITS))
    _search(client, project, size)


def _measure_once(service: Service, client: _Client, path: str, table: bytes) -> None:
    with _most_memory(service) as most:
        elapsed = client.time("POST", path, table)
    print(f"- {path.rpartition('/')[2]} of all: {elapsed / 1000:.1f} s, at most {most[0]:.0f} MB", flush=True)


def _change(service: Service, client: _Client, project: str, changed: Sequence[Redirect]) -> None:
    """Edit each rule, and publish each edit; the first ones fill the caches."""
    edits, publishes, written = list[float](), list[float](), list[int]()
    for turn, rule in enumerate(changed):
        path, change = f"{project}/draft/redirects/{rule.id}", {"target": f"/turn/{turn}"}
        edits.append(client.time("PATCH", path, change))
        time.sleep(client.pause)
        before = _written(service)
        publishes.append(client.time("POST", f"{project}/publish"))
        time.sleep(client.pause)
        written.append(_written(service) - before)
    print(f"- edit: {_describe(edits[_WARM_UP:])}; the first {edits[0]:.0f} ms")
    print(f"- publish: {_describe(publishes[_WARM_UP:])}; the first {publishes[0]:.0f} ms")
    print(f"- written by a publish: median {median(written[_WARM_UP:]) / 1000:.0f} kB", flush=True)


def _search(client: _Client, project: str, size: int) -> None:
    """Ask for the first page by each kind of query: rare, frequent and unknown words, other orders, and all."""
    number = size // 2
    for query in (
        {"q": f"{number:06d}"},
        {"q": "pricing"},
        {"q": "nowhere"},
        {"status": "FOUND", "q": "guide"},
        {"sort": "target"},
        {},
    ):
        asked = f"{project}/draft/redirects?{urlencode({**query, 'limit': 50})}"
        elapsed = [client.time("GET", asked) for _ in range(_SEARCHES)]
        print(f"- list {query or 'of all'}: {_describe(elapsed)}", flush=True)


def _describe(milliseconds: Sequence[float]) -> str:
    return f"median {median(milliseconds):.1f} ms, best {min(milliseconds):.1f}, worst {max(milliseconds):.1f}"


def _processes(service: Service) -> set[int]:
    return {service.process.pid, *descendants(service.process.pid)}


def _memory(service: Service) -> float:
    return sum(map(proportional_megabytes, _processes(service)))


def _written(service: Service) -> int:
    return sum(transferred(pid).get("wchar", 0) for pid in _processes(service))


@contextmanager
def _most_memory(service: Service) -> Iterator[list[float]]:
    """Sample the memory of all processes; the one item is the largest sum so far."""
    most, stop = [0.0], threading.Event()

    def sample() -> None:
        while not stop.wait(_SAMPLE):
            most[0] = max(most[0], _memory(service))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield most
    finally:
        stop.set()
        sampler.join()


def _sync_milliseconds(folder: Path) -> float:
    elapsed = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(_SYNCS):
            begun = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            elapsed.append(1000 * (time.perf_counter() - begun))
    return median(elapsed)


if __name__ == "__main__":
    main()
