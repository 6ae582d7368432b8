"""The process that hashes passwords: the same answers as here, at a low priority, and replaced if it was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


def test_work_is_done_in_idle_time_as_long_as_there_is_enough_of_it() -> None:
    script = """
import os
from api.auth.logins.hash_process import IdleTime

def work():
    return f"{os.sched_getscheduler(0)} {os.getpid() == mine}".encode()

mine = os.getpid()
idle_time = IdleTime(patience=30)
print([idle_time.run(work).decode() for _ in range(3)])
"""
    assert _run(script) == str([f"{os.SCHED_IDLE} False"] * 3)


def test_where_no_idle_time_is_left_work_is_done_at_once_and_for_a_while_not_tried_there() -> None:
    script = """
import os, signal
from api.auth.logins.hash_process import IdleTime

def work():
    if os.getpid() != mine:
        signal.pause()  # as on a machine whose cores are all taken
    return b"done here"

mine, forks = os.getpid(), []
fork = os.fork
os.fork = lambda: forks.append(fork()) or forks[-1]
idle_time = IdleTime(patience=0.1, busy_seconds=600)
print([idle_time.run(work).decode() for _ in range(3)], len(forks))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no process is left")
"""
    assert _run(script) == f"{['done here'] * 3} 1\nno process is left"


@pytest.mark.parametrize("fault", ["raise OSError(11, 'no more')", "os._exit(1)", "raise ValueError"])
def test_a_copy_that_fails_costs_no_answer(fault: str) -> None:
    script = f"""
import os
from api.auth.logins.hash_process import IdleTime

def work():
    if os.getpid() != mine:
        {fault}
    return b"done here"

def no_fork():
    raise OSError(11, "no more")

mine = os.getpid()
print(IdleTime(patience=30).run(work).decode())
os.fork = no_fork
print(IdleTime(patience=30).run(work).decode())
"""
    assert _run(script) == "done here\ndone here"


def test_one_that_is_killed_during_a_hash_is_noticed_at_once(process: HashProcess) -> None:
    process.verify(STORED, "wrong")
    with ThreadPoolExecutor(1) as pool:
        copy = 0
        while not copy:
            answer = pool.submit(process.verify, STORED, "correct horse battery")
            while not answer.done() and not copy:
                copy = _stop_idle_copy(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        try:
            assert answer.result(timeout=20), "the copy holds no end of the pipes"
        finally:
            os.kill(copy, signal.SIGKILL)


def test_a_process_that_was_killed_is_replaced(process: HashProcess) -> None:
    process.verify(STORED, "wrong")
    first = process.pid
    os.kill(first, signal.SIGKILL)
    assert process.verify(STORED, "correct horse battery")
    assert process.pid != first


def test_one_that_was_killed_since_the_last_hash_costs_no_attempt(
    process: HashProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_process, "_ATTEMPTS", 1)
    process.verify(STORED, "wrong")
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process.verify(STORED, "correct horse battery")


def test_one_that_is_stopped_delays_the_end_of_its_worker_for_a_bounded_time(
    process: HashProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_process, "_END_SECONDS", 0.1)
    process.verify(STORED, "wrong")
    pid = process.pid
    os.kill(pid, signal.SIGSTOP)
    process.close()
    assert not _is_running(pid)


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


def _run(script: str) -> str:
    """Return what a script prints, in a process without threads."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def _stop_idle_copy(pid: int) -> int:
    """Stop the copy of a process that computes in idle time and return its id; 0 if there is none at this moment."""
    try:
        for number in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            if os.sched_getscheduler(int(number)) == os.SCHED_IDLE:
                os.kill(int(number), signal.SIGSTOP)
                return int(number)
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        pass
    return 0


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123 - a file that may go away
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
