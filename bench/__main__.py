"""The benchmarks: `python -m bench [NAME…] [--quick]` measures, and prints the figures.

Everything runs on the loopback address of this machine, in a temporary folder.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import call_paths, machine
from bench.figure import Figure, print_figures, print_head
from bench.groups import (
    cloning,
    dashboard,
    histories,
    idling,
    keeping,
    listings,
    logins,
    matching,
    polling,
    previews,
    publishing,
    pushing,
    reads,
    rollbacks,
    starting,
    validation,
    waiting,
)
from bench.workbench import Workbench, prepare_environment

GROUPS: Mapping[str, Callable[[Workbench], Iterator[Figure]]] = {
    "reads": reads.measure,
    "validate": validation.measure,
    "preview": previews.measure,
    "publish": publishing.measure,
    "polls": polling.measure,
    "match": matching.measure,
    "list": listings.measure,
    "start": starting.measure,
    "history": histories.measure,
    "rollback": rollbacks.measure,
    "waits": waiting.measure,
    "disk": keeping.measure,
    "git": cloning.measure,
    "push": pushing.measure,
    "logins": logins.measure,
    "idle": idling.measure,
    "dashboard": dashboard.measure,
    "call_paths": call_paths.measure,
}


def main() -> None:
    """Measure the named groups, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Waypost on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(GROUPS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="shorter measurements and fewer repetitions")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in GROUPS]
    if unknown:
        parser.error(f"unknown group {unknown[0]!r}; choose from {', '.join(GROUPS)}")
    begun = time.monotonic()
    print(f"{machine.describe()}\n")
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as folder:
        prepare_environment(Path(folder))
        bench = Workbench(Path(folder), quick=given.quick)
        print_head()
        for name in given.names or GROUPS:
            print_figures(GROUPS[name](bench))
    print(f"\nmeasured in {time.monotonic() - begun:.0f} s{', quick mode' if given.quick else ''}")


if __name__ == "__main__":
    main()
