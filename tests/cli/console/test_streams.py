"""The command as a process: closed pipes, full disks, terminals, and interruptions. Never a stack trace."""

import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.rule_folders import flow, project
from tests.cli.terminal import SECONDS, environment, run, start

MORE_THAN_A_PIPE_HOLDS = 4 << 20


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Open a terminal; yield the end of the user, and the end of the process."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def seen(ours: int) -> bytes:
    """Return the whole output on a terminal until the process at its other end ended."""
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: how Linux reports that the other end is closed
            return shown
        if not part:
            return shown
        shown += part


def test_a_reader_that_goes_away_changes_neither_the_exit_code_nor_says_anything(work_folder: Path) -> None:
    shutil.rmtree(work_folder / "data")
    project(work_folder / "shop", {"redirects.yaml": flow(*(f"x{number}" for number in range(2000)))})
    process = start("validate", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline().startswith(b"shop/redirects.yaml:2:")
    process.stdout.close()
    assert process.stderr.read() == b"2,000 errors  missing_slash\n1 project: 2,000 errors, 0 warnings.\n"
    assert process.wait(SECONDS) == 1
    process.stderr.close()


@pytest.mark.parametrize("words", [("log", "sample", "shop"), ("--version",)])
def test_a_full_disk_is_a_failure_in_one_line(data: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start(*words, env={"WAYPOST_DATA": str(data)}, stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert (err.startswith(b"waypost: "), err.count(b"\n")) == (True, 1)


def test_without_any_output_stream_the_exit_code_is_right() -> None:
    with Path("/dev/full").open("wb") as full:
        assert start("frobnicate", stdout=full, stderr=full).wait(SECONDS) == 2
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$0" -m cli.main frobnicate >&- 2>&-', sys.executable],
        env=environment({}),
        timeout=SECONDS,
        check=False,
    )
    assert closed.returncode == 2


def test_a_file_that_cannot_be_read_is_a_failure_that_names_it(data: Path) -> None:
    outcome = run("import", "sample", "shop", "/proc/self/mem", env={"WAYPOST_DATA": str(data)})
    assert outcome.code == 3
    assert outcome.err == "waypost: /proc/self/mem cannot be read: Input/output error.\n"


def test_an_interruption_stops_the_command_and_leaves_nothing_half_done(data: Path) -> None:
    env = {"WAYPOST_DATA": str(data)}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start("import", "sample", "shop", "-", env=env, **streams)
    assert process.stdin
    process.stdin.write(bytes(MORE_THAN_A_PIPE_HOLDS))  # returns only because the command reads
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (3, b"")
    assert err.strip() == b"waypost: stopped."
    assert run("publish", "sample", "shop", env=env).code == 1


def test_a_terminal_sees_what_long_work_is_at_and_a_pipe_does_not(work_folder: Path) -> None:
    shutil.rmtree(work_folder / "data")
    project(work_folder / "shop")
    with terminal() as (ours, theirs):
        process = start("validate", env={"TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = seen(ours)
        assert process.wait(SECONDS) == 0
    assert b"Reading ." in shown
    assert b"Checking 1 project" in shown
    assert shown.endswith(b"\x1b[K1 project: 0 errors, 0 warnings.\r\n")
    assert run("validate", env={"TERM": "xterm"}).err == "1 project: 0 errors, 0 warnings.\n"


def test_a_password_is_asked_for_twice_and_never_shown() -> None:
    with terminal() as (ours, theirs):
        process = start("user", "create", "ada", stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        shown = b""
        for asked in (1, 2):
            while shown.lower().count(b"password: ") + shown.lower().count(b"confirmation: ") < asked:
                shown += os.read(ours, 4096)
            os.write(ours, b"correct horse battery\n")
        shown += seen(ours)
        assert process.wait(SECONDS) == 0
    assert b"horse" not in shown
    assert b"Created the user ada" in shown


def test_the_output_is_readable_text_whatever_the_locale_is(work_folder: Path) -> None:
    shutil.rmtree(work_folder / "data")
    project(work_folder / "shop", {"redirects.yaml": flow("häuser")})
    (work_folder / "shop" / os.fsdecode(b"\xff.txt")).touch()
    outcome = run(
        "validate", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    )
    assert outcome.code == 1
    assert outcome.err == "1 error  bad_name\n1 error  missing_slash\n1 project: 2 errors, 0 warnings.\n"
