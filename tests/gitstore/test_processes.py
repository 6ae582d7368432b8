"""Work on all cores: each result in its place, failures as on one core, and no process left over.

Each test runs in a program of its own, since copies of a process with several threads are refused.
"""

import subprocess
import sys

import pytest

from tests.service import ROOT

_HEAD = """
import os, sys
from gitstore.processes import count_cores, map_on_cores
main = os.getpid()
def no_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
"""


def outcome(code: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", _HEAD + code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    return found.stdout.split()


def test_every_core_computes_a_share_and_results_keep_their_order() -> None:
    code = (
        "found = map_on_cores(lambda n: (n, os.getpid()), range(50))\n"
        "print([n for n, _ in found] == list(range(50)), len({p for _, p in found}) == count_cores(), no_children())"
    )
    assert outcome(code) == ["True"] * 3


def test_results_are_packed_for_their_way() -> None:
    code = "print(map_on_cores(str, range(20), int, lambda n: f'{n}') == [str(n) for n in range(20)])"
    assert outcome(code) == ["True"]


@pytest.mark.parametrize("item", range(4))
def test_an_exception_is_raised_as_on_one_core(item: int) -> None:
    code = (
        f"def work(n):\n    if n == {item}: raise KeyError(n)\n    return n\n"
        "try:\n    map_on_cores(work, range(4))\nexcept KeyError as ex:\n    print(ex.args[0], no_children())"
    )
    assert outcome(code) == [str(item), "True"]


@pytest.mark.parametrize("failure", ["os._exit(1)", "os.kill(os.getpid(), 9)", "sys.exit()"])
def test_the_share_of_a_process_that_ends_early_is_computed_here(failure: str) -> None:
    code = (
        f"def work(n):\n    if os.getpid() != main: {failure}\n    return n\n"
        "print(map_on_cores(work, range(20)) == list(range(20)), no_children())"
    )
    assert outcome(code) == ["True", "True"]


def test_a_process_with_threads_is_not_copied() -> None:
    code = (
        "import threading\nstop = threading.Event()\nother = threading.Thread(target=stop.wait)\nother.start()\n"
        "print({pid == main for pid in map_on_cores(lambda n: os.getpid(), range(20))} == {True})\nstop.set()"
    )
    assert outcome(code) == ["True"]
