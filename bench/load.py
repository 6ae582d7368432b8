"""Load from wrk, over persistent connections."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_SCRIPT = Path(__file__).with_name("wrk.lua")
_LONGEST = 120  # seconds after which a load ends that was not ended by its caller


@dataclass(frozen=True, slots=True)
class Load:
    """The counts of wrk; latencies in microseconds: the median, the 99th percentile (`slow`), and the maximum."""

    requests: int
    bytes: int
    microseconds: int
    failed: int
    median: int
    slow: int
    slowest: int

    @property
    def rate(self) -> float:
        """Responses a second."""
        return self.requests / self.microseconds * 1e6

    @property
    def flow(self) -> float:
        """Bytes a second."""
        return self.bytes / self.microseconds * 1e6


def run_load(url: str, headers: Mapping[str, str], seconds: float, connections: int = 4, body: str = "") -> Load:
    """Send requests without a pause, from one thread of wrk; those of a `body` of JSON are POSTs."""
    command = _command(url, headers, f"{max(1, round(seconds))}s", connections)
    environment = {**os.environ, **({"BENCH_BODY": body} if body else {})}
    return _read(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment).stdout)


class PacedLoad(NamedTuple):
    """A load under way: its process, and the call that ends it."""

    pid: int
    end: Callable[[], Load]


@contextmanager
def paced_load(url: str, headers: Mapping[str, str], connections: int, pause: int) -> Iterator[PacedLoad]:
    """Send requests on each connection, `pause` milliseconds after its last response, until the load is ended."""
    environment = {**os.environ, "BENCH_PAUSE": str(pause)}
    command = _command(url, headers, f"{_LONGEST}s", connections)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield PacedLoad(process.pid, lambda: _end(process))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _end(process: subprocess.Popen[str]) -> Load:
    process.send_signal(signal.SIGINT)
    return _read(process.communicate(timeout=_LONGEST)[0])


def _command(url: str, headers: Mapping[str, str], duration: str, connections: int) -> list[str]:
    options = ["--threads", "1", "--connections", str(connections), "--duration", duration, "--timeout", "30s"]
    given = [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
    return ["wrk", *options, "--script", str(_SCRIPT), *given, url]


def _read(output: str) -> Load:
    load = Load(**json.loads(output.splitlines()[-1]))
    if load.failed or not load.requests:
        raise AssertionError(f"{load.failed} of {load.requests} requests failed:\n{output}")
    return load
