"""Mutation tests: which changes of the code no test notices. `make mutants`, which is not part of `make test`.

mutmut makes the mutants, mypy takes out those that no check would let pass, and each of the others runs through the
quick tests of its area. Decorated functions and module constants have no mutants: mutmut leaves them alone.
"""

import argparse
import fnmatch
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mutmut.configuration import reset_config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name

from tests.service import DATASETS, ROOT

WORK = ROOT / "build" / "mutants"
PACKAGES = ("content", "schemas", "gitstore", "api", "cli")
SEED = 20261122
STATUSES = ("not checked", "caught by type check", "killed", "timeout", "no tests", "survived")
# In seconds, and a factor of the usual time. mutmut takes the usual time from the tests alone, without their fixtures.
_TIMEOUT = "timeout_constant = 20.0\ntimeout_multiplier = 3.0\n"
_HEADINGS = ("mutants", "sample", "left", "by mypy", "killed", "timeout", "no test", "lived")


class Area(NamedTuple):
    """Modules that are mutated together, by glob; the folders and files of their tests; and tests too slow to run each time."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    slow: tuple[str, ...] = ()


AREAS = (
    Area(
        "rules",
        ("content/records/*.py", "content/checks/*.py"),
        ("tests/content/records", "tests/content/checks"),
        ("tests/content/checks/test_real_lists.py",),
    ),
    Area(
        "matching",
        ("content/matching/*.py",),
        ("tests/content/matching", "tests/content/checks"),
        ("tests/content/checks/test_real_lists.py",),
    ),
    Area("changes", ("content/changes/*.py",), ("tests/content/changes",)),
    Area("formats", ("content/formats/*.py",), ("tests/content/formats",)),
    Area(
        "merge",
        ("gitstore/merge/*.py", "gitstore/drafts/decisions.py"),
        ("tests/gitstore/merge", "tests/gitstore/drafts/test_shared_bodies.py"),
        ("tests/gitstore/merge/test_merge_laws.py",),
    ),
    Area(
        "publish",
        (
            "gitstore/publish/*.py",
            "gitstore/drafts/selection.py",
            "gitstore/history/numbering.py",
            "gitstore/history/manifests.py",
        ),
        (
            "tests/gitstore/publish",
            "tests/gitstore/drafts/test_selection.py",
            "tests/gitstore/history/test_numbering.py",
            "tests/gitstore/history/test_name_collisions.py",
            "tests/gitstore/store/test_writers.py",
        ),
        ("tests/gitstore/publish/test_crash.py", "tests/gitstore/publish/test_plain_git.py"),
    ),
    Area(
        "identity",
        ("api/auth/*.py", "api/auth/*/*.py"),
        ("tests/api/auth", "tests/api/app/test_services.py", "tests/api/resources/accounts"),
        (
            "tests/api/auth/logins/test_refresh.py::test_of_many_processes_with_one_token_all_get_the_one_successor",
            "tests/api/auth/logins/test_throttle.py::test_of_many_processes_at_once_exactly_as_many_pass_as_may",
            "tests/api/auth/logins/test_keyring.py::test_processes_that_start_at_once_have_the_same_ring",
        ),
    ),
    Area(
        "fast path",
        ("api/http/fast_path.py", "api/http/response/replies.py", "api/http/response/compression.py"),
        ("tests/api/http/test_fast_path.py", "tests/api/http/test_fast_path_access.py", "tests/api/http/response"),
    ),
)


class Result(NamedTuple):
    """Mutants of a module: how many there are, what became of those that were run, and the differences of those that lived."""

    module: str
    total: int
    statuses: Counter[str]
    lived: list[str]


def run_area(area: Area, patterns: Sequence[str], most: int, until: float) -> list[Result]:
    """Run the mutants of an area's modules that match a pattern, at most `most` a module, until a time of the clock."""
    modules = sorted(path for path in _matching(area.modules) if any(fnmatch.fnmatch(path, each) for each in patterns))
    if not modules:
        return []
    work = WORK / area.name.replace(" ", "-")
    _prepare(work, area, modules)
    os.chdir(work)
    reset_config()
    names = {module: list(_names(module)) for module in modules}
    chosen = {name for each in names.values() for name in _sample(each, most)}
    with (work / "log").open("wb") as log:
        command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", "1", *sorted(chosen)]
        process = subprocess.Popen(command, env=_environment(), stdout=log, stderr=log)
        try:
            if code := process.wait(max(until - time.monotonic(), 0)):
                raise SystemExit(f"mutmut stopped with {code}; see {work / 'log'}")
        except subprocess.TimeoutExpired:  # what was run until now is written down
            process.send_signal(signal.SIGINT)
            process.wait()
    return [_read_result(module, names[module], chosen) for module in modules]


def _matching(globs: Iterable[str]) -> set[str]:
    found = (path for each in globs for path in ROOT.glob(each))
    return {str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"}


def _prepare(work: Path, area: Area, modules: Sequence[str]) -> None:
    """Make a folder that looks like the project to mutmut, with settings of its own; it copies all sources from there."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name in (*PACKAGES, "tests", "sample-repo"):
        (work / name).symlink_to(ROOT / name)
    (work / DATASETS.parent.name).symlink_to(DATASETS.parent)
    skipped = [f"--{'deselect' if '::' in each else 'ignore'}={each}" for each in area.slow]
    mypy = ["mypy", *(f"--package={each}" for each in PACKAGES), "--output=json", f"--cache-dir={WORK / 'mypy'}"]
    settings = {
        "source_paths": PACKAGES,
        "only_mutate": modules,
        "also_copy": ("sample-repo",),
        "pytest_add_cli_args": ("-p", "no:randomly", *skipped),
        "pytest_add_cli_args_test_selection": area.tests,
        # The wording of messages and of the log is no matter of these tests.
        "do_not_mutate_patterns": (r"raise \w+", r"_log\."),
        # The copies of a method declare the attributes that it declares.
        "type_check_command": (*mypy, "--disable-error-code=no-redef", "--disable-error-code=unused-ignore"),
    }
    lines = "".join(f"{key} = {json.dumps(list(value))}\n" for key, value in settings.items())
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (work / "pyproject.toml").write_text(f"{project}\n[tool.mutmut]\n{_TIMEOUT}{lines}", "utf-8")


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _names(module: str) -> Iterator[str]:
    """Name the mutants of a module, as mutmut will."""
    for name in mutate_file_contents(module, Path(module).read_text("utf-8")).mutant_names:
        yield get_mutant_name(Path(module), name)


def _sample(names: Sequence[str], most: int) -> Sequence[str]:
    """Choose the same names each time."""
    return random.Random(SEED).sample(names, most) if 0 < most < len(names) else names  # noqa: S311 - no secret


def _read_result(module: str, names: Sequence[str], chosen: set[str]) -> Result:
    data = SourceFileMutationData(path=Path(module))
    data.load()
    statuses = {name: status_by_exit_code[data.exit_code_by_key.get(name)] for name in names if name in chosen}
    lived = [_difference(module, name) for name, status in statuses.items() if status in {"survived", "no tests"}]
    return Result(module, len(names), Counter(statuses.values()), lived)


def _difference(module: str, name: str) -> str:
    """Show a mutant: its name, and the lines that differ."""
    lines = get_diff_for_mutant(name, path=Path(module)).splitlines()[2:]
    return "\n".join([name, *(f"    {line}" for line in lines if line[:1] in {"-", "+"})])


def _row(name: str, total: int, statuses: Counter[str]) -> str:
    numbers = (total, statuses.total(), *(statuses[each] for each in STATUSES))
    others = statuses.total() - sum(statuses[each] for each in STATUSES)
    return f"{name:44}{''.join(f'{number:>9}' for number in numbers)}{f'  {others} other' if others else ''}\n"


def report(area: str, results: Sequence[Result]) -> Iterator[str]:
    """Yield a table of an area's modules, and all that lived."""
    yield f"{area:44}{''.join(f'{heading:>9}' for heading in _HEADINGS)}\n"
    for each in results:
        yield _row(each.module, each.total, each.statuses)
    yield _row("together", sum(each.total for each in results), sum((each.statuses for each in results), Counter()))
    for each in results:
        yield from (f"\n{lived}\n" for lived in each.lived)
    yield "\n"


def main() -> None:
    """Run the areas, and print what lived."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=25, help="mutants to run of each module; 0: all")
    parser.add_argument("--minutes", type=float, default=90, help="when to stop, and to report how far it came")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="modules, such as 'content/changes/*'")
    asked = parser.parse_args()
    until = time.monotonic() + asked.minutes * 60
    for area in AREAS:
        if time.monotonic() > until:
            sys.stdout.write(f"{area.name}: not run, the time is over\n")
            continue
        results = run_area(area, asked.patterns or ["*"], asked.most, until)
        sys.stdout.writelines(report(area.name, results) if results else ())
        sys.stdout.flush()


if __name__ == "__main__":
    main()
