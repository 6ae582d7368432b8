"""The command line for tests: in this process if possible, otherwise as a process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from click.testing import CliRunner

from cli.console.exits import run_command
from cli.main import waypost
from tests.service import ROOT

WAYPOST = (sys.executable, "-m", "cli.main")
SAMPLE = ROOT / "sample-repo"
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return orjson.loads(self.out)


def invoke(*words: object, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> Outcome:
    """Run `waypost` with these arguments in this process; exit codes and messages are those of the real command."""
    with CliRunner().isolation(input=stdin, env=env) as (out, err, _):
        try:
            run_command(lambda: waypost.main([str(word) for word in words], "waypost", standalone_mode=False))
        except SystemExit as ex:
            return Outcome(int(ex.code or 0), _text(out.getvalue()), _text(err.getvalue()))


def invoke_ok(*words: object, stdin: bytes = b"") -> Outcome:
    """Run a command that has to succeed."""
    outcome = invoke(*words, stdin=stdin)
    assert outcome.code == 0, outcome.err
    return outcome


def start(*words: object, env: Mapping[str, str] | None = None, **streams: Any) -> subprocess.Popen[bytes]:
    """Start `waypost` as a process of its own; the caller waits for it."""
    with interruptible_children():
        return subprocess.Popen([*WAYPOST, *map(str, words)], env=environment(env or {}), **streams)


@contextmanager
def interruptible_children() -> Iterator[None]:
    """Let new processes begin with SIGINT as in a terminal; if a script runs the tests in the background, it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run(*words: object, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> Outcome:
    """Run `waypost` as a process of its own."""
    found = subprocess.run(
        [*WAYPOST, *map(str, words)],
        env=environment(env or {}),
        input=stdin,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return Outcome(found.returncode, _text(found.stdout), _text(found.stderr))


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without settings of ours, with the sources on the path."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("WAYPOST_")}
    return {**own, "PYTHONPATH": str(ROOT), **extra}


def table(text: str) -> list[list[str]]:
    """Return the rows below the head of a printed table, split into columns at two spaces."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()[1:]]


def unwrap(lines: str | Sequence[str]) -> str:
    """Return text without line breaks, so that a test does not depend on the width of help."""
    return " ".join(" ".join(lines if not isinstance(lines, str) else [lines]).split())


def _text(data: bytes) -> str:
    return data.decode()
