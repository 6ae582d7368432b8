"""The modules and functions of the product on the path of one operation, from its request to its response.

python -m bench.call_paths [--list]

They are counted in a real service with one worker, in all its threads and in the processes that work for it; nothing is timed.
A function is a code object of a file in the product's packages, so lambdas and comprehensions count (Python 3.12 and later
compile most comprehensions into their function, and give smaller figures). A coroutine that waits is one call. The background
tasks of the worker are not recorded (see `bench/recorder.py`); the few calls that complete a request after its response are.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any, NamedTuple

from bench.figure import Figure
from bench.recorder import RECORD
from bench.rules import FEW, exact_rules, table
from bench.workbench import NAMESPACE, Workbench, bearer, make_token, prepare_environment, scope
from tests.service import ROOT, WAYPOST, Service, running

# Functions that read a draft, beginning with its branch, as `module:function`. At least one of the names must exist.
DRAFT_READERS = (
    "gitstore.drafts:read_draft",
    "gitstore.drafts.drafts:read_draft",
)

_PLAIN, _REVIEWED = "plain", "reviewed"
_WARM = 2  # runs of an operation after which a process has imported all modules and filled all caches for it
_COUNTED = 2
_MOST = 30
# Seconds before each run. The first request after one second asks the database whether a token changed: here that is a
# request right before the counted ones. Background tasks, which run once a second, have seen the last run by then.
_REST = 1.2
_QUIET = 0.1  # seconds without a call after which a run is over
_STEP = 0.01
_PATIENCE = 60.0


class Function(NamedTuple):
    """A function of the product: its file, below the project's folder, its first line and its qualified name."""

    path: str
    line: int
    name: str


class CallPath(NamedTuple):
    """The functions on the path of an operation, and the number of calls of each."""

    operation: str
    calls: Counter[Function]
    draft_reads: int

    @property
    def modules(self) -> int:
        """The number of files."""
        return len({function.path for function in self.calls})


class _Request(NamedTuple):
    token: str
    method: str
    path: str
    body: object = None


class _Run(NamedTuple):
    """The calls of one run (0 for a function that only resumed), and the processes that made them."""

    calls: Counter[Function]
    processes: frozenset[int]


# Prepares the run of this number, and returns the requests to count.
Prepare = Callable[[int], Sequence[_Request]]


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield a figure for each operation."""
    for path in count_call_paths(bench.new_folder("call-paths")):
        detail = f"in {path.modules} modules; {path.calls.total():,} calls; draft reads: {path.draft_reads}"
        yield Figure(f"functions on the path of one {path.operation}", len(path.calls), "functions", None, detail)


def count_call_paths(folder: Path) -> Iterator[CallPath]:
    """Count the operations in projects of 1,000 rules."""
    data, record = folder / "data", folder / "record"
    data.mkdir(parents=True)
    command = (sys.executable, "-m", "bench.recorded_service", *WAYPOST[2:])
    # The order of a set can decide how many calls a comparison needs.
    settings = {"WAYPOST_WORKERS": "1", "PYTHONHASHSEED": "0", RECORD: str(record)}
    readers = _draft_readers()
    with running(command, data, settings) as service:
        recorded = _Recorded(service, record)
        for operation, prepare in _Operations(service).all.items():
            calls = recorded.count(prepare)
            yield CallPath(operation, calls, sum(calls[function] for function in readers))


def _draft_readers() -> set[Function]:
    found = {function for name in DRAFT_READERS if (function := _find(*name.split(":")))}
    if not found:
        raise AssertionError(f"none of {', '.join(DRAFT_READERS)} exists; correct DRAFT_READERS")
    return found


def _find(module: str, name: str) -> Function | None:
    try:
        function = getattr(import_module(module), name, None)
    except ModuleNotFoundError:
        return None
    code = unwrap(function).__code__ if function else None
    return Function(str(Path(code.co_filename).relative_to(ROOT)), code.co_firstlineno, name) if code else None


class _Operations:
    """The operations, on two projects of one namespace, of which one requires an approval to publish."""

    def __init__(self, service: Service) -> None:
        self._port = service.port
        self._admin, self._reviewer, self._agent = (
            make_token(service.data, role) for role in ("admin", "publisher", "agent")
        )
        self._rules = exact_rules(FEW)
        self._ask("POST", "/api/namespaces", {"name": NAMESPACE})
        first = {"override": "The first rules need no approval"}
        for project, review, body in ((_PLAIN, "optional", {}), (_REVIEWED, "required", first)):
            self._ask("POST", f"/api/namespace/{NAMESPACE}/projects", {"name": project, "review": review})
            self._ask("POST", f"{scope(project)}/import", table(self._rules))
            self._ask("POST", f"{scope(project)}/publish", body)

    @property
    def all(self) -> Mapping[str, Prepare]:
        """The operations, by name."""
        return {
            "edit of a redirect": self._edit,
            "addition of a redirect": self._add,
            "publish": self._publish,
            "read by an agent": self._read,
            "approval": self._approve,
            "rollback": self._roll_back,
        }

    def _edit(self, turn: int) -> Sequence[_Request]:
        self._begin_draft(_PLAIN, turn)
        return [self._change(_PLAIN, turn)]

    def _add(self, turn: int) -> Sequence[_Request]:
        self._begin_draft(_PLAIN, turn)
        body = {"type": "BASIC", "source": f"/new/{turn}", "target": "/", "status": "MOVED_PERMANENT"}
        return [_Request(self._admin, "POST", f"{scope(_PLAIN)}/draft/redirects", body)]

    def _publish(self, turn: int) -> Sequence[_Request]:
        self._begin_draft(_PLAIN, turn)
        return [_Request(self._admin, "POST", f"{scope(_PLAIN)}/publish", {})]

    def _read(self, _: int) -> Sequence[_Request]:
        paths = (f"{scope(_PLAIN)}/redirects?limit=50&offset=100", f"{scope(_PLAIN)}/version")
        return [_Request(self._agent, "GET", path) for path in paths]

    def _approve(self, turn: int) -> Sequence[_Request]:
        self._begin_draft(_REVIEWED, turn)
        head = self._ask("GET", f"{scope(_REVIEWED)}/draft")["head"]
        body = {"action": "approve", "head": head}
        return [_Request(self._reviewer, "POST", f"{scope(_REVIEWED)}/draft/review", body)]

    def _roll_back(self, turn: int) -> Sequence[_Request]:
        return [_Request(self._admin, "POST", f"{scope(_PLAIN)}/rollback", {"version": 2 + turn % 2})]

    def _begin_draft(self, project: str, turn: int) -> None:
        """Begin a draft, and change one rule in it."""
        if self._ask("GET", f"{scope(project)}/draft")["head"]:
            self._ask("DELETE", f"{scope(project)}/draft")
        _ask_alone(self._port, self._change(project, turn))

    def _change(self, project: str, turn: int) -> _Request:
        path = f"{scope(project)}/draft/redirects/{self._rules[FEW // 2].id}"
        return _Request(self._admin, "PATCH", path, {"target": f"/edited/{time.monotonic_ns()}/{turn}"})

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        return _ask_alone(self._port, _Request(self._admin, method, path, body))


class _Recorded:
    """The record of a service, divided into runs."""

    def __init__(self, service: Service, record: Path) -> None:
        self._service = service
        self._record = record

    def count(self, prepare: Callable[[int], Sequence[_Request]]) -> Counter[Function]:
        """Return the calls of a run whose processes all made two runs before; of several runs, the one with the fewest functions."""
        runs: Counter[int] = Counter()
        counted: list[_Run] = []
        for turn in range(_MOST):
            run = self._run(prepare(turn))
            if all(runs[process] >= _WARM for process in run.processes):
                counted.append(run)
            runs.update(run.processes)
            if len(counted) == _COUNTED:
                return min((each.calls for each in counted), key=lambda calls: (len(calls), calls.total()))
        raise AssertionError(
            f"Fewer than {_COUNTED} of {_MOST} runs were in processes with {_WARM} earlier runs. Run the benchmark again."
        )

    def _run(self, requests: Sequence[_Request]) -> _Run:
        time.sleep(_REST)
        with closing(HTTPConnection("127.0.0.1", self._service.port, timeout=_PATIENCE)) as connection:
            _ask(connection, _Request(requests[0].token, "GET", f"{scope(_PLAIN)}/version"))
            begin = self._wait_until_quiet()
            for request in requests:
                _ask(connection, request)
            end = self._wait_until_quiet()
        with self._record.open("rb") as file:
            file.seek(begin)
            return _load(file.read(end - begin))

    def _wait_until_quiet(self) -> int:
        """Wait until no more calls are recorded; return the size of the record in bytes."""
        size, since = -1, time.monotonic()
        while time.monotonic() - since < _QUIET:
            time.sleep(_STEP)
            now = self._record.stat().st_size
            if now != size:
                size, since = now, time.monotonic()
        return size


def _load(record: bytes) -> _Run:
    calls: Counter[Function] = Counter()
    processes = set()
    for text in record.decode().splitlines():
        process, event, path, line, name = text.split(" ", 4)
        calls[Function(path, int(line), name)] += event == "call"
        processes.add(int(process))
    if not calls:
        raise AssertionError("The service recorded no call. Check that bench/recorder.py still hooks its connections.")
    return _Run(calls, frozenset(processes))


def _ask(connection: HTTPConnection, request: _Request) -> Any:
    """Return the JSON of the response; raise AssertionError for an error."""
    body, headers = _dump(request.body), bearer(request.token)
    if body is not None:
        headers["Content-Type"] = "text/tab-separated-values" if isinstance(request.body, bytes) else "application/json"
    connection.request(request.method, request.path, body, headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status >= 400:
        raise AssertionError(f"{request.method} {request.path} returned {response.status}: {answer[:500]!r}")
    return json.loads(answer) if answer else None


def _ask_alone(port: int, request: _Request) -> Any:
    """Send a request over a new connection, and close it: an idle connection would have timers, which are recorded."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)) as connection:
        return _ask(connection, request)


def _dump(body: object) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body).encode()


def main() -> None:
    """Print a table of the operations; with `--list` also the functions of each."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.call_paths", description="Count the functions on the paths of operations."
    )
    parser.add_argument("--list", action="store_true", help="also list the functions, with their calls")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as folder:
        prepare_environment(Path(folder))
        paths = list(count_call_paths(Path(folder) / "call-paths"))
    print("| operation | modules | functions | calls | draft reads |\n|---|---|---|---|---|")
    for path in paths:
        print(
            f"| {path.operation} | {path.modules} | {len(path.calls)} | {path.calls.total():,} | {path.draft_reads} |"
        )
    for path in paths if given.list else ():
        print(f"\n{path.operation}:")
        for function, count in sorted(path.calls.items()):
            print(f"  {function.path}:{function.line} {function.name} {count}")


if __name__ == "__main__":
    main()
