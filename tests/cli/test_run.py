"""`waypost run`: the same arguments, output, exit code and traceback as with Python."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import SECONDS, Outcome, environment, invoke, run, start

FILES = {
    "arguments": "import sys; print(sys.argv, __name__, __file__, __package__, __spec__)",
    "neighbours": "import neighbour; print(neighbour.NAME)",
    "packages": "import gitstore, schemas; print(len(schemas.openapi()))",
    "itself": "import pickle\nclass Rule: pass\nprint(pickle.loads(pickle.dumps(Rule())).__class__)",
    "code": "raise SystemExit(7)",
    "words": "import sys; sys.exit('out of paint')",
    "traceback": "def paint():\n    raise ValueError('no paint')\ntry:\n    {}['red']\nexcept KeyError:\n    paint()\n",
    "syntax": "colours = (\n",
    "encoding": "# coding: latin-1\nprint('h\xe9')",
    "hook": "import sys\nsys.excepthook = lambda *found: print(found[0], found[2].tb_lineno)\n1 / 0\n",
    "at_exit": "import atexit\natexit.register(lambda: print('done', neighbour))\nimport neighbour as found\nneighbour = 1\n",
    "thread": "import threading\ndef end():\n    threading.main_thread().join()\n    print(__import__('__main__').LATE)\n"
    "threading.Thread(target=end).start()\nLATE = 1\n",
}


@pytest.fixture
def folder(work_folder: Path) -> Path:
    """Create a module beside the files that are run."""
    (work_folder / "tools").mkdir()
    (work_folder / "tools" / "neighbour.py").write_text("NAME = 'neighbour'\n")
    return work_folder


@pytest.mark.parametrize("name", FILES)
def test_a_file_does_what_it_does_with_python(name: str, folder: Path) -> None:
    file = folder / "tools" / f"{name}.py"
    file.write_text(FILES[name], "latin-1")
    words = [str(file.relative_to(folder)), "one", "--help", "--", "-x"]
    outcome = run("run", *words)
    assert outcome == by_python(words, {})
    assert outcome != Outcome(0, "", "")


def test_a_character_that_the_output_cannot_encode_is_an_error_of_the_file(folder: Path) -> None:
    (folder / "umlaut.py").write_text("print('\\xfc')\n")
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    outcome = run("run", "umlaut.py", env=ascii_only)
    assert outcome == by_python(["umlaut.py"], ascii_only)
    assert outcome.err.splitlines()[-1].startswith("UnicodeEncodeError: ")


def by_python(words: list[str], env: dict[str, str]) -> Outcome:
    """Run a file by Python itself."""
    command = [sys.executable, *words]
    found = subprocess.run(command, env=environment(env), capture_output=True, timeout=SECONDS, check=False)
    return Outcome(found.returncode, found.stdout.decode(), found.stderr.decode())


def test_an_interrupt_ends_the_file_with_its_own_traceback_and_130(folder: Path) -> None:
    (folder / "wait.py").write_text("import signal\nprint('ready', flush=True)\nsignal.pause()\n")
    with start("run", "wait.py", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGINT
    assert err.splitlines()[-1] == b"KeyboardInterrupt"
    assert b"cli/" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.py"], "waypost: Invalid value for 'FILE': File 'nowhere.py' does not exist."),
        (["tools"], "waypost: Invalid value for 'FILE': File 'tools' is a directory."),
        ([], "waypost: Missing argument 'FILE'."),
        (["--quick", "nowhere.py"], "waypost: No such option '--quick'."),
    ],
)
def test_a_missing_file_is_a_usage_error(words: list[str], message: str, folder: Path) -> None:
    assert (folder / "tools").is_dir()
    outcome = invoke("run", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1].startswith(message)
