"""The cost of one call: processor time, calls of Python functions, and bytes read and written; only the first depends on load."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from types import FrameType
from typing import Any, NamedTuple

from bench.processes import transferred

_REPEAT = 5
_LIMIT_SECONDS = 60.0  # of the timed calls together; the first two calls are always made


class Operation(NamedTuple):
    """A call to measure; the argument is the number of the turn, from 0. `once`: it cannot be repeated."""

    name: str
    run: Callable[[int], object]
    once: bool = False


class Cost(NamedTuple):
    """Milliseconds of processor time (median), calls of Python functions, and bytes written and read by system calls."""

    milliseconds: float
    calls: int
    written: int
    read: int


def measure(operations: list[Operation]) -> dict[str, Cost]:
    """Return the costs of operations that follow each other in each turn: one turn to warm up, one counted, some timed."""
    once = {each.name: _measure_once(each) for each in operations if each.once}
    repeated = [each for each in operations if not each.once]
    if not repeated:
        return once
    for each in repeated:
        each.run(0)
    counts = {each.name: _count(each, 1) for each in repeated}
    times: dict[str, list[float]] = {each.name: [] for each in repeated}
    end = time.monotonic() + _LIMIT_SECONDS
    for turn in range(2, 2 + _REPEAT):
        for each in repeated:
            times[each.name].append(_time(each, turn))
        if time.monotonic() > end:
            break
    return once | {name: Cost(median(times[name]), *count) for name, count in counts.items()}


def _measure_once(operation: Operation) -> Cost:
    """Measure a call that is only made once; counting its calls would double its time, so they are 0."""
    before = _transferred()
    elapsed = _time(operation, 0)
    written, read = (after - start for after, start in zip(_transferred(), before, strict=True))
    return Cost(elapsed, 0, written, read)


def _time(operation: Operation, turn: int) -> float:
    begun = time.process_time()
    operation.run(turn)
    return 1000 * (time.process_time() - begun)


def _count(operation: Operation, turn: int) -> tuple[int, int, int]:
    before = _transferred()
    with _counted() as calls:
        operation.run(turn)
    written, read = (after - start for after, start in zip(_transferred(), before, strict=True))
    return calls[0], written, read


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Count the calls of Python functions in this thread."""
    count = [0]

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        count[0] += event == "call"

    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)


def _transferred() -> tuple[int, int]:
    """Return the bytes that this process has written and read so far."""
    found = transferred("self")
    return found["wchar"], found["rchar"]
