"""The process that hashes passwords: the same answers as here, at a low priority, and replaced if it was killed."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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
from api.auth.logins.idle_time import IdleTime

def work(question):
    return question + f" {os.sched_getscheduler(0)} {os.getpid() == mine}".encode()

mine = os.getpid()
idle_time = IdleTime(work, patience=30)
print([idle_time.run(question).decode() for question in (b"a", b"b\\n", b"c" * 9000)] == [
    f"{question} {os.SCHED_IDLE} False" for question in ("a", "b\\n", "c" * 9000)
])
"""
    assert _run(script) == "True"


def test_where_no_idle_time_is_left_work_is_done_at_once_and_for_a_while_not_tried_there() -> None:
    script = """
import os, signal
from api.auth.logins.idle_time import IdleTime

def work(question):
    if os.getpid() != mine:
        signal.pause()  # as on a machine whose cores are all taken
    return b"done here"

mine, forks = os.getpid(), []
fork = os.fork
os.fork = lambda: forks.append(fork()) or forks[-1]
idle_time = IdleTime(work, patience=0.1, busy_seconds=600)
print([idle_time.run(b"x").decode() for _ in range(3)], len(forks))
idle_time = IdleTime(work, patience=0.1, busy_seconds=0)
print([idle_time.run(b"x").decode() for _ in range(3)], len(forks))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no process is left")
"""
    done = ["done here"] * 3
    assert _run(script) == f"{done} 1\n{done} 4\nno process is left"


@pytest.mark.parametrize("fault", ["raise OSError(11, 'no more')", "os._exit(1)", "raise ValueError"])
def test_a_copy_that_fails_costs_no_answer(fault: str) -> None:
    script = f"""
import os
from api.auth.logins.idle_time import IdleTime

def work(question):
    if os.getpid() != mine:
        {fault}
    return b"done here"

def no_fork():
    raise OSError(11, "no more")

mine = os.getpid()
print(IdleTime(work, patience=30).run(b"x").decode())
os.fork = no_fork
print(IdleTime(work, patience=30).run(b"x").decode())
"""
    assert _run(script) == "done here\ndone here"


def test_a_copy_that_was_killed_since_the_last_hash_costs_no_answer_and_is_replaced() -> None:
    script = """
import os, signal
from api.auth.logins.idle_time import IdleTime

mine = os.getpid()
idle_time = IdleTime(lambda question: str(os.getpid()).encode(), patience=30, busy_seconds=0)
first = int(idle_time.run(b"x"))
os.kill(first, signal.SIGKILL)
found = [int(idle_time.run(b"x")) for _ in range(2)]
print(first != mine, found[0] == mine, found[1] not in (first, mine))
"""
    assert _run(script) == "True True True"


def test_a_copy_ends_with_the_process_whatever_ends_that(process: HashProcess) -> None:
    copy = _idle_copy(process)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not _is_running(copy), 30, "the copy to end")


def test_one_that_is_killed_during_a_hash_is_noticed_at_once(
    process: HashProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = _idle_copy(process)
    assert os.sched_getscheduler(copy) == os.SCHED_IDLE
    os.kill(copy, signal.SIGSTOP)
    is_asked, wait = threading.Event(), select.select

    def select_after_asking(*given: Any) -> Any:
        is_asked.set()
        return wait(*given)

    monkeypatch.setattr(select, "select", select_after_asking)
    with ThreadPoolExecutor(1) as pool:
        try:
            answer = pool.submit(process.verify, STORED, "correct horse battery")
            assert is_asked.wait(60)
            os.kill(process.pid, signal.SIGKILL)
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


def _idle_copy(process: HashProcess) -> int:
    """Return the copy that hashes in idle time; on a machine that has none, it is ended, and made again later."""

    def is_there() -> bool:
        process.verify(STORED, "wrong")
        return bool(_copies(process))

    wait_until(is_there, 60, "a copy that hashed in idle time")
    (copy,) = _copies(process)
    return copy


def _copies(process: HashProcess) -> list[int]:
    """Return the ids of the processes that compute in idle time for a process: one, after its first hash."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(number) for number in children.split()]


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123 - a file that may go away
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
