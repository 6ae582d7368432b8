"""Growth: `python -m bench.growth [SERIES…] [--most SIZE]` measures each series at sizes by tens, and prints the factors.

What was measured of this state of the code is in `build/growth.jsonl` and is not measured again, so that a run can be stopped and
continued. Each size runs in a process of its own, in a temporary folder.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import machine
from bench.figure import number
from bench.growth.cost import Cost, measure
from bench.growth.series import SERIES
from tests.service import ROOT

RESULTS = ROOT / "build" / "growth.jsonl"
_MOST_SECONDS = 900.0  # of one size; a longer one is reported as such, and larger ones are left out

Costs = Mapping[str, Cost]


def main() -> None:
    """Measure what is missing, then print all tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description="Measure how costs grow.")
    parser.add_argument("names", nargs="*", metavar="SERIES", help=f"one of {', '.join(SERIES)}; default: all")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="the largest size; default: all sizes")
    parser.add_argument("--one", nargs=2, metavar=("SERIES", "SIZE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        _measure_here(given.one[0], int(given.one[1]))
        return
    unknown = [name for name in given.names if name not in SERIES]
    if unknown:
        parser.error(f"unknown series {unknown[0]!r}; choose from {', '.join(SERIES)}")
    print(machine.describe())
    for name in given.names or SERIES:
        _print(name, list(_measured(name, given.most)))


def _measured(name: str, most: int) -> Iterator[tuple[int, Costs | None, int]]:
    """Yield each size with its costs (None: it took too long) and the process's largest memory in bytes."""
    state = _state_of_code()
    for size in SERIES[name].sizes:
        if size > most:
            return
        known = _find_result(state, name, size) or _run(state, name, size)
        costs = known["costs"]
        yield size, costs and {operation: Cost(*cost) for operation, cost in costs.items()}, known["memory"]
        if costs is None:
            return


def _run(state: str, name: str, size: int) -> dict[str, Any]:
    """Measure one size in a new process, and keep the result."""
    command = [sys.executable, "-m", "bench.growth", "--one", name, str(size)]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=_MOST_SECONDS)
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        found = {"costs": None, "memory": 0}
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"state": state, "series": name, "size": size, **found}) + "\n")
    return dict(found)


def _measure_here(name: str, size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="waypost-growth-") as folder:
        costs = measure(SERIES[name].operations(Path(folder), size))
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"costs": costs, "memory": memory}))


def _find_result(state: str, name: str, size: int) -> dict[str, Any] | None:
    if not RESULTS.exists():
        return None
    lines = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    wanted = {"state": state, "series": name, "size": size}
    return next((line for line in lines if wanted.items() <= line.items()), None)


def _state_of_code() -> str:
    """Return the commit of the code, with a digest of what is not committed."""
    head, change = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout
        for words in (("rev-parse", "HEAD"), ("diff", "HEAD"))
    )
    return f"{head.decode().strip()[:12]}-{_digest(change)}" if change else head.decode().strip()[:12]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _print(name: str, measured: Sequence[tuple[int, Costs | None, int]]) -> None:
    """Print a table: a row for each operation and size, with the factors against the size before."""
    print(f"\n## By {SERIES[name].noun}\n")
    print(
        "| operation | size | processor ms | calls | written | read | largest memory |\n|---|---|---|---|---|---|---|"
    )
    before: Costs = {}
    rows: list[tuple[str, str]] = []
    for size, costs, memory in measured:
        if costs is None:
            rows.append(("", f"| (all) | {size:,} | over {_MOST_SECONDS:,.0f} s | | | | |"))
            continue
        for operation, cost in costs.items():
            cells = [_cell(value, old) for value, old in zip(cost, before.get(operation, (0,) * 4), strict=True)]
            rows.append((operation, f"| {operation} | {size:,} | {' | '.join(cells)} | {memory / 1e6:,.0f} MB |"))
        before = costs
    order = list(dict.fromkeys(operation for operation, _ in rows))
    for _, row in sorted(rows, key=lambda each: order.index(each[0])):
        print(row)


def _cell(value: float, before: float) -> str:
    if not value:
        return ""
    return f"{number(value)} (x {number(value / before)})" if before else number(value)


if __name__ == "__main__":
    main()
