"""`waypost validate` of 100,000 rules in files of 500, against CSafeLoader and jsonschema; its start, and `waypost diff`."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure, at_least, at_most
from bench.rules import MANY, PER_FILE, exact_rules
from bench.workbench import Workbench
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.yamlfiles.dump import Layout, new_file
from tests.service import ROOT

_TARGETS: tuple[tuple[Layout, str, float], ...] = (("block", "blocks", 4), ("flow", "one rule a line", 12))

_MOST_SECONDS, _MOST_START = 1.5, 0.3  # on two cores
_CHANGED = 10_000
_IDENTITY = ("-c", "user.name=Bench", "-c", "user.email=bench@tests.example", "-c", "commit.gpgsign=false")


class Duration(NamedTuple):
    """The duration of a program, in seconds of the clock and of processor time."""

    clock: float
    processor: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield a figure for each layout."""
    for layout, name, bound in _TARGETS:
        folder = bench.new_folder(layout)
        write_files(folder, exact_rules(MANY), layout)
        ours, usual = [], []
        for _ in bench.rounds(2, 40):
            ours += [_run("cli.main", "validate", str(folder)) for _ in range(2)]
            usual.append(_run("bench.plain_validator", str(folder)))
        yield _compare(name, min(ours), min(usual), bound)
        if layout == "flow":
            yield _absolute(f"waypost validate of 100,000 rules, {name}", min(ours), _MOST_SECONDS)
            yield from _measure_diff(bench, folder)
    yield _measure_start(bench)


def _measure_start(bench: Workbench) -> Figure:
    """Measure a project of one rule: what is left is the start."""
    folder = bench.new_folder("one")
    write_files(folder, exact_rules(1), "flow")
    times = [_run("cli.main", "validate", str(folder)) for _ in bench.rounds(5, 20)]
    return _absolute("waypost validate of one rule", min(times), _MOST_START)


def _measure_diff(bench: Workbench, folder: Path) -> Iterator[Figure]:
    """Change the target of 10,000 rules, in as many files as they are in, and print the comment on a pull request."""
    begin: tuple[tuple[str, ...], ...] = (("init", "-q"), ("add", "-A"), (*_IDENTITY, "commit", "-q", "-m", "Begin"))
    for words in begin:
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    lists = sorted((folder / "big/redirects").iterdir())[: _CHANGED // PER_FILE]
    for path in lists:
        path.write_text(path.read_text("utf-8").replace('"target": "', '"target": "/moved'), encoding="utf-8")
    command = ("cli.main", "diff", str(folder), "--base", "HEAD", "--format", "markdown")
    times = [_run(*command) for _ in bench.rounds(2, 10)]
    yield _absolute("waypost diff --base of 10,000 changes among 100,000 rules", min(times), None)


def write_files(folder: Path, rules: Sequence[Redirect], layout: Layout) -> None:
    """Write a namespace's folder with one project of these rules."""
    lists = folder / "big" / "redirects"
    lists.mkdir(parents=True)
    (folder / "big" / "project.yaml").write_text("project:\n  title: Big\n", encoding="utf-8")
    for start in range(0, len(rules), PER_FILE):
        data = new_file(Kind.REDIRECTS, rules[start : start + PER_FILE], layout)
        (lists / f"{start // PER_FILE:03d}.yaml").write_bytes(data)


def _compare(name: str, ours: Duration, usual: Duration, bound: float) -> Figure:
    detail = (
        f"{ours.clock:.2f} s ({ours.processor:.2f} s of processor), "
        f"CSafeLoader + jsonschema {usual.clock:.2f} s ({usual.processor:.2f} s)"
    )
    label = f"waypost validate of 100,000 rules, {name}"
    return Figure(label, usual.clock / ours.clock, "times faster", at_least(bound), detail)


def _absolute(label: str, found: Duration, bound: float | None) -> Figure:
    return Figure(label, found.clock, "s", at_most(bound) if bound else None, f"{found.processor:.2f} s of processor")


def _run(*words: str) -> Duration:
    before, begun = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=True, capture_output=True)
    clock, after = time.perf_counter() - begun, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return Duration(clock, used)
