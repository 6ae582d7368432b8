"""System calls that fail, one after another, in each write of the store: it reports success exactly if the change is made.

`strace` attaches to a process that is about to write, and lets one of its calls fail.
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from gitstore.git.refs import read_ref
from gitstore.layout import RELEASE_REF, draft_ref
from tests.gitstore.fault_driver import OPERATIONS
from tests.gitstore.fixtures import SHOP, SPACE
from tests.rounds import rounds
from tests.service import ROOT

CALLS = "openat,fsync,fdatasync,rename,unlink,unlinkat,rmdir,mkdir,ftruncate,pwrite64,write,close,flock,getdents64,newfstatat"
ERRORS = ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EMFILE", "EIO")
_CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")
_SECONDS = 30
_BEFORE = 6  # calls before the commit point that fail too


class Call(NamedTuple):
    """A system call of an operation: the `number`-th of its name, from 1."""

    name: str
    number: int
    arguments: str


class Fault(NamedTuple):
    """A failure of a system call: of the one with this number or, with `+` after the number, also of all later ones."""

    call: str
    when: str
    error: str


class Driver:
    """The process that forks one child for each operation."""

    def __init__(self, root: Path, process: "subprocess.Popen[str]") -> None:
        self._root = root
        self._process = process
        self._number = 0

    @property
    def data(self) -> Path:
        """The data that every operation gets a copy of."""
        return self._root / "data"

    def run(self, operation: str, fault: Fault | None = None) -> tuple[int, Path, str]:
        """Run an operation on a copy of the data; return its exit code, the copy, and the trace of its system calls."""
        self._number += 1
        data, trace = self._root / f"data-{self._number}", self._root / f"trace-{self._number}"
        shutil.copytree(self.data, data)
        self._send(json.dumps([str(data), operation]))
        pid = self._receive()
        options = ("-e", f"inject={fault.call}:error={fault.error}:when={fault.when}") if fault else ()
        command = ("strace", "-p", pid, "-s", "200", "-o", str(trace), "-e", f"trace={CALLS}", *options)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr
            attached = tracer.stderr.readline()
            assert "attached" in attached, attached
            subprocess.run(("kill", "-USR1", pid), check=True)
            code = int(self._receive())
            tracer.wait(_SECONDS)
        return code, data, trace.read_text(encoding="utf-8", errors="replace")

    def _send(self, line: str) -> None:
        assert self._process.stdin
        print(line, file=self._process.stdin, flush=True)

    def _receive(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory, strace: Path) -> Iterator[Driver]:
    """Start the process that forks, with its data."""
    assert strace.exists()
    root = tmp_path_factory.mktemp("faults")
    command = (sys.executable, "-m", "tests.gitstore.fault_driver", str(root / "data"))
    with (root / "stderr").open("w") as errors, _started(command, errors.fileno()) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n", (root / "stderr").read_text()
        yield Driver(root, process)


@contextmanager
def _started(command: tuple[str, ...], errors: int) -> "Iterator[subprocess.Popen[str]]":
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=errors, text=True) as process:
        yield process


def _release(data: Path) -> object:
    return read_ref(data / f"repos/{SPACE}.git", RELEASE_REF)


def _main(data: Path) -> object:
    return read_ref(data / f"repos/{SPACE}.git", draft_ref(SHOP, "main"))


def _new(data: Path) -> object:
    return read_ref(data / f"repos/{SPACE}.git", draft_ref(SHOP, "new"))


def _namespaces(data: Path) -> object:
    return sorted(path.name for path in (data / "repos").glob("*.git"))


def _description(data: Path) -> object:
    return (data / f"repos/{SPACE}.git/description").read_text()


_REF = r'rename\(.*refs/heads/{}.lock", '
_MOVE_OF_RELEASE = _REF.format("release")
_MOVE_OF_DRAFT = _REF.format("draft/shop/main")
_START_OF_DRAFT = _REF.format("draft/shop/new")
# The commit point of each operation: the system call, and the state on disk that it changes.
COMMIT_POINTS = {
    **dict.fromkeys(("publish", "publish_selected", "publish_all_selected", "roll_back"), (_MOVE_OF_RELEASE, _release)),
    **dict.fromkeys(("create_project", "change_project", "delete_project"), (_MOVE_OF_RELEASE, _release)),
    **dict.fromkeys(("edit", "write", "revert", "replace"), (_MOVE_OF_DRAFT, _main)),
    **dict.fromkeys(("edit_first", "import", "reopen"), (_START_OF_DRAFT, _new)),
    "discard": (r'unlink\(".*refs/heads/draft/shop/main"\)', _main),
    "create_namespace": (r'rename\(.*other\.git"', _namespaces),
    "import_folder": (r'rename\(.*other\.git"', _namespaces),
    "describe_namespace": (r'rename\(.*/description"', _description),
    "delete_namespace": (r'rename\(.*repos/acme\.git"', _namespaces),
}


def _calls(trace: str) -> list[Call]:
    counts: Counter[str] = Counter()
    found = []
    for line in trace.splitlines():
        if match := _CALL.match(line):
            counts[match[1]] += 1
            found.append(Call(match[1], counts[match[1]], match[0]))
    return found


def _around_commit_point(calls: list[Call], pattern: str) -> list[Call]:
    place = max(index for index, call in enumerate(calls) if re.search(pattern, call.arguments))
    return calls[max(place - _BEFORE, 0) :]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_write_reports_success_exactly_if_its_change_is_made(driver: Driver, operation: str) -> None:
    """Each call (or each fifth, see `rounds`) since shortly before the commit point fails once; then all of a kind fail."""
    pattern, state = COMMIT_POINTS[operation]
    code, data, trace = driver.run(operation)
    assert code == 0
    calls = _around_commit_point(_calls(trace), pattern)
    before = state(driver.data)
    assert state(data) != before
    errors = cycle(ERRORS)
    faults = [Fault(call.name, str(call.number), next(errors)) for call in calls]
    faults = faults[:: rounds(5, 1)]
    first = {call.name: call.number for call in reversed(calls[_BEFORE + 1 :])}
    faults += [Fault(name, f"{number}+", error) for name, number in first.items() for error in ("ENOSPC", "EMFILE")]
    found = {}
    for fault in faults:
        code, data, trace = driver.run(operation, fault)
        if code != (0 if state(data) != before else 1):
            found[fault] = (code, [line for line in trace.splitlines() if "INJECTED" in line])
    assert found == {}


@pytest.mark.parametrize(("operation", "count"), [("edit", 3), ("edit_first", 3), ("write", 3), ("publish", 5)])
def test_an_operation_syncs_only_what_git_needs(driver: Driver, operation: str, count: int) -> None:
    """One sync for all objects, two for a ref and its folder; a publish also syncs its manifest and the served commit."""
    _, _, trace = driver.run(operation)
    assert sum(call.name in {"fsync", "fdatasync"} for call in _calls(trace)) == count
