"""The process that hashes passwords: the same answers as here, at a low priority, and replaced if it was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from api.auth.logins import hash_process
from api.auth.logins.hash_process import NICENESS, HashProcess
from api.auth.logins.passwords import (
    hash_elsewhere,
    hash_here,
    hash_password,
    is_outdated,
    verify_dummy,
    verify_password,
)
from api.errors import Unavailable
from tests.service import ROOT, wait_until

STORED = hash_password("correct horse battery")


@pytest.fixture
def process() -> Iterator[HashProcess]:
    found = HashProcess()
    yield found
    found.close()


@pytest.mark.parametrize(
    "stored", [STORED, "plain", "", "$argon2id$v=19$m=1,t=1,p=1$$"], ids=["hash", "plain", "empty", "no salt"]
)
@pytest.mark.parametrize("password", ["correct horse battery", "wrong", "", "\n", "\x00", "é😀", "\ud800" * 8])
def test_it_verifies_as_the_caller_would(process: HashProcess, stored: str, password: str) -> None:
    assert process.verify(stored, password) == (stored == STORED and password == "correct horse battery")


def test_it_hashes_with_the_parameters_that_were_chosen(process: HashProcess) -> None:
    found = process.hash("correct horse battery")
    assert not is_outdated(found)
    assert found != STORED
    assert verify_password("correct horse battery", found)
    with pytest.raises(UnicodeEncodeError):
        process.hash("\ud800" * 8)
    assert process.verify(found, "correct horse battery")


def test_everything_else_on_the_machine_goes_first(process: HashProcess) -> None:
    process.verify(STORED, "wrong")
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == os.getpriority(os.PRIO_PROCESS, 0) + NICENESS


def test_a_process_that_was_killed_is_replaced(process: HashProcess) -> None:
    process.verify(STORED, "wrong")
    first = process.pid
    os.kill(first, signal.SIGKILL)
    assert process.verify(STORED, "correct horse battery")
    assert process.pid != first


def test_signals_to_the_group_of_its_worker_do_not_end_it(process: HashProcess) -> None:
    process.verify(STORED, "wrong")
    first = process.pid
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(first, number)
    assert process.verify(STORED, "correct horse battery")
    assert process.pid == first


def test_one_that_hangs_is_an_error_and_never_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    monkeypatch.setattr(hash_process, "_start", start)
    with pytest.raises(Unavailable, match="does not answer"):
        HashProcess(patience=0.1).verify(STORED, "wrong")
    assert len(started) == 2, "it is asked again once"
    assert [process.poll() for process in started] == [-signal.SIGKILL] * 2


def test_it_ends_with_its_worker_whatever_ends_that() -> None:
    code = (
        "import sys, time; from api.auth.logins.hash_process import HashProcess\n"
        "process = HashProcess(); process.verify('', ''); print(process.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        os.kill(pid, 0)
        worker.kill()
    wait_until(lambda: not _is_running(pid), 30, "the process to end")


def test_all_hashes_of_a_worker_are_computed_there() -> None:
    process = HashProcess()
    hash_elsewhere(process)
    try:
        for work in (lambda: verify_password("x", STORED), lambda: verify_dummy("x"), lambda: hash_password("x")):
            process.close()
            assert process.pid == 0
            work()
            assert process.pid
    finally:
        hash_here()
        process.close()


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123 - a file that may go away
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
