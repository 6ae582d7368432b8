"""The start of `waypost serve` on a large project with existing compiled files, and the memory of a second worker."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from bench.connections import ask, connect_all
from bench.figure import Figure, at_most
from bench.processes import private_megabytes
from bench.workbench import BIG, Site, Workbench, bearer, scope
from bench.yardsticks import free_port
from tests.service import ROOT, WAYPOST, stop

_TIMEOUT_SECONDS = 30.0
_STEP = 0.002


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the time until ready, and the memory of a second worker."""
    site = bench.mixed
    with site.serving():
        pass  # the first start creates keys, tables and compiled modules
    starts = [start(site.data) for _ in bench.rounds(7, 15)]
    detail = f"best of {len(starts)}; the slowest {max(starts):.2f} s; import of all modules {_import_seconds():.2f} s"
    yield Figure("start of waypost serve, 110,000 rules, until ready", min(starts), "s", at_most(1.5), detail)
    yield _memory(site)


def start(data: Path, workers: int = 1) -> float:
    """Return the seconds from the start of the process until /health/ready is 200."""
    port = free_port()
    settings = {"WAYPOST_DATA": str(data), "WAYPOST_BIND": f"127.0.0.1:{port}", "WAYPOST_WORKERS": str(workers)}
    begun = time.perf_counter()
    process = subprocess.Popen(
        WAYPOST, cwd=ROOT, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not _is_ready(port):
            if time.perf_counter() - begun > _TIMEOUT_SECONDS or process.poll() is not None:
                raise AssertionError("The service does not become ready.")
            time.sleep(_STEP)
        return time.perf_counter() - begun
    finally:
        stop(process)


def _is_ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _import_seconds() -> float:
    """Return the seconds of importing all modules."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import cli.server.serve, cli.main"], cwd=ROOT, check=True)
    return time.perf_counter() - begun


def _memory(site: Site) -> Figure:
    """Return the private memory of the larger of two workers after both served the lists, in windows and as a whole."""
    with site.serving(2) as service:
        connections = connect_all(service)
        before = {worker: private_megabytes(worker) for worker in connections}
        for connection in connections.values():
            _read_lists(connection, bearer(site.agent))
        after = {worker: private_megabytes(worker) for worker in service.workers()}
    most = max(after, key=lambda worker: after[worker])
    detail = f"the larger of two; {before[most]:.0f} MB before its first list; the other {min(after.values()):.1f} MB"
    return Figure("a second worker's private memory", after[most], "MB", at_most(60), detail)


def _read_lists(connection: HTTPConnection, headers: dict[str, str]) -> None:
    for offset in range(0, 110_000, 500):
        ask(connection, f"{scope(BIG)}/redirects?limit=500&offset={offset}", headers)
    ask(connection, f"{scope(BIG)}/redirects?limit=110000", headers)
    ask(connection, f"{scope(BIG)}/pages", headers)
