"""Work on all cores: a list split among forked processes, for programs with one thread. A service never uses it."""

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from signal import SIGKILL
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def map_on_cores(
    function: Callable[[T], R],
    items: Sequence[T],
    pack: Callable[[R], Any] = lambda result: result,
    unpack: Callable[[Any], R] = lambda packed: packed,
) -> list[R]:
    """Return the result for each item; the other cores compute their share in copies of this process.

    `pack` makes a result small for its way through a pipe, and `unpack` is the reverse. If a copy fails, its share is
    computed here, so that an exception is raised here too.
    """
    # A copy has one thread only; a lock that another thread of ours holds would never be free in it.
    # https://docs.python.org/3/library/os.html#os.fork
    count = min(count_cores(), len(items)) if threading.active_count() == 1 else 1
    shares = [range(number, len(items), max(count, 1)) for number in range(max(count, 1))]
    children = [_start(partial(_compute, function, items, share, pack)) for share in shares[1:]]
    found: dict[int, R] = {}
    try:
        found.update((at, function(items[at])) for at in shares[0])
        for child, share in zip(children, shares[1:], strict=True):
            packed = child.receive()
            results = map(unpack, packed) if packed is not None else (function(items[at]) for at in share)
            found.update(zip(share, results, strict=True))
    finally:
        for child in children:
            child.end()
    return [found[at] for at in range(len(items))]


def _compute(function: Callable[[T], R], items: Sequence[T], share: range, pack: Callable[[R], Any]) -> list[Any]:
    return [pack(function(items[at])) for at in share]


class _Child(NamedTuple):
    """A copy of this process, and the pipe from it."""

    process: int
    pipe: int

    def receive(self) -> list[Any] | None:
        """Return the results; None if the copy failed."""
        with os.fdopen(self.pipe, "rb", closefd=False) as stream:
            data = stream.read()
        try:
            found: list[Any] = pickle.loads(data)  # noqa: S301 - written by a copy of this process
        except (EOFError, pickle.UnpicklingError):
            return None
        return found

    def end(self) -> None:
        """Remove the copy, also if it is still at work."""
        os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self.process, SIGKILL)
        os.waitpid(self.process, 0)


def _start(compute: Callable[[], list[Any]]) -> _Child:
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        return _Child(process, ours)
    try:
        os.close(ours)
        data = pickle.dumps(compute(), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(theirs, "wb") as stream:
            stream.write(data)
    finally:
        os._exit(0)  # no exit handler and no buffer of the original runs twice; without complete results, it failed
