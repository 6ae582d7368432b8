"""The real service for tests: gunicorn in separate processes, on a free port, with a separate data directory.

with running([sys.executable, "-m", "tests.api.skeleton"], tmp_path) as service:
    assert service.client.get("/health/ping").status_code == 204
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from api.app.data_directory import create_data
from api.settings import Settings

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
WAYPOST = (sys.executable, "-m", "cli.main", "serve")
SKELETON = (sys.executable, "-m", "tests.api.skeleton")
DATASETS = Path(os.environ.get("WAYPOST_TEST_DATASETS", ROOT.parent / "shared" / "datasets"))

START_SECONDS = 30.0
STOP_SECONDS = 20.0
STEP_SECONDS = 0.02
FORKER = "waypost-forks"
_LISTENING = "Listening at: "
_FIRST_REFUSAL = 400


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: its address, a client, its processes and its log."""

    url: str
    data: Path
    client: httpx.Client
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        """The port on the loopback address."""
        return int(self.url.rpartition(":")[2])

    def log_lines(self) -> list[dict[str, Any]]:
        """Return every line of the log so far; each has to be a JSON object."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def workers(self) -> set[int]:
        """Return the process ids of gunicorn's workers."""
        return child_pids(self.process.pid)

    def job_processes(self) -> set[int]:
        """Return the process ids of the workers' processes for jobs: the children of their fork servers."""
        forkers = {child for worker in self.workers() for child in child_pids(worker) if name_of(child) == FORKER}
        return {job for forker in forkers for job in child_pids(forker)}

    def as_token(self, token: str) -> httpx.Client:
        """Return another client that sends this token; the caller closes it."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=30)


@contextmanager
def running(command: Sequence[str], data: Path, env: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Start a service (two workers unless `env` sets another number), wait until it serves, and stop it at the end.

    The command takes its settings from WAYPOST_… variables. Fails with the log if the service does not start. For
    `waypost serve` the data directory is created first, without a user.
    """
    data.mkdir(parents=True, exist_ok=True)
    if command[-1] == WAYPOST[-1]:
        create_data(Settings.read({}, _environment(data, env or {})))
    log = data.parent / f"{data.name}.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, env=_environment(data, env or {}), stdout=sink, stderr=sink)
    try:
        url = wait_until(lambda: _address(process, log), START_SECONDS, f"{command[-1]} to listen")
        with httpx.Client(base_url=url, timeout=30) as client:
            wait_until(lambda: _answers(process, log, client), START_SECONDS, f"{command[-1]} to answer")
            yield Service(url, data, client, process, log)
    finally:
        stop(process)


def faults_in(log: Path, most: int = 40) -> str:
    """Return the last warnings, errors and refused requests of a service's log."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return "\n".join([line for line in lines if _is_fault(line)][-most:])


def stop(process: subprocess.Popen[bytes]) -> int:
    """Stop the service by its process id, and kill it if it does not end. Return its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def wait_until(probe: Callable[[], T | None], seconds: float, description: str) -> T:
    """Return the first truthy result of `probe`; fail after a deadline."""
    deadline = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {seconds:g} s waiting for {description}")
        time.sleep(STEP_SECONDS)


def child_pids(pid: int) -> set[int]:
    """Return the process ids of the children of a process, by whichever thread it started them; empty once it has ended."""
    found: set[int] = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):  # the kernel lists them by thread
        with suppress(OSError):
            found |= {int(child) for child in children.read_text(encoding="ascii").split()}
    return found


def name_of(pid: int) -> str:
    """Return the name of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def is_running(pid: int) -> bool:
    """Tell whether a process has not ended; one that has ended stays as a zombie until it is waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def open_files(pid: int) -> set[Path]:
    """Return the files that a process has open now."""
    found = set()
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(link.readlink())
    return found


def _is_fault(line: str) -> bool:
    try:
        entry = json.loads(line)
    except ValueError:  # a traceback
        return True
    return entry.get("level") not in {"debug", "info"} or entry.get("status", 0) >= _FIRST_REFUSAL


def _environment(data: Path, extra: Mapping[str, str]) -> dict[str, str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith("WAYPOST_")}
    settings = {"WAYPOST_DATA": str(data), "WAYPOST_BIND": "127.0.0.1:0", "WAYPOST_WORKERS": "2"}
    settings |= {
        "WAYPOST_LOGIN_ATTEMPTS": "100000",
        "WAYPOST_LOGIN_ATTEMPTS_TOTAL": "100000",
        "WAYPOST_WRITES_PER_MINUTE": "1000000",
        "WAYPOST_HEAVY_CALLS_PER_MINUTE": "1000000",
        "WAYPOST_INVALID_TOKENS_PER_MINUTE": "1000000",
    }  # all tests come from one address
    return {**own, **settings, **extra}


def _address(process: subprocess.Popen[bytes], log: Path) -> str | None:
    """Return the address in gunicorn's log line; the kernel chose the port, so no other test can have taken it."""
    text = log.read_text(encoding="utf-8")
    if process.poll() is not None:
        raise AssertionError(f"the service ended with {process.returncode}:\n{text}")
    _, found, rest = text.partition(_LISTENING)
    return rest.split(maxsplit=1)[0] if found and " " in rest else None


def _answers(process: subprocess.Popen[bytes], log: Path, client: httpx.Client) -> bool:
    if process.poll() is not None:
        raise AssertionError(f"the service ended with {process.returncode}:\n{log.read_text(encoding='utf-8')}")
    try:
        return client.get("/health/ping").status_code == httpx.codes.NO_CONTENT
    except httpx.TransportError:
        return False
