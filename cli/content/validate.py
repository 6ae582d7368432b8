"""`waypost validate`: check files before they are merged."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from cli.console.exits import ProblemsFound
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.setup import read_settings
from content.records.problem import Problem, Severity
from gitstore.namespaces.checkout import Checkout, ProgressCallback, read_checkout, read_release


def _require_folder(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    if path.is_file():
        raise click.BadParameter(f"'{path}' is a file; name its folder.")
    return path


@click.command("validate")
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=".", callback=_require_folder)
@click.option("--format", "wanted", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--ref",
    default="release",
    show_default=True,
    metavar="BRANCH",
    help="The branch to check if PATH is a bare repository.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
def command(path: Path, wanted: str, ref: str, *, strict: bool) -> None:
    """Check files of rules before they are merged.

    PATH is the folder of a namespace or of a project, or a bare repository; by default the current folder. Prints every
    problem as FILE:LINE:COLUMN, and exits with 1 if there is an error. In JSON, file names are relative to PATH.
    """
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    with _pause_gc(), show_status(f"Reading {path}") as watch:
        found = read_release(path, ref) if is_bare else read_checkout(path, watch=_report_reading(watch))
        watch(f"Checking {count_noun(len(found.snapshots), 'project')}")
        problems = list(found.check(read_settings().pattern_limits))
    if wanted == "json":
        print_json(_report(found, path, problems))
    else:
        _print(problems, Path() if is_bare else path)
    errors, warnings = _count(problems)
    print_notes(
        f"{count_noun(len(found.snapshots), 'project')}: {count_noun(errors, 'error')}, {count_noun(warnings, 'warning')}."
    )
    if errors or (strict and warnings):
        raise ProblemsFound


@contextmanager
def _pause_gc() -> Iterator[None]:
    """Pause the garbage collector, which spends an eighth of the time on a million new objects without any cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _report_reading(watch: ProgressCallback) -> ProgressCallback:
    return lambda name: watch(f"Reading {name}")


def _print(problems: Sequence[Problem], folder: Path) -> None:
    """Print a line for each problem, with a path relative to the current folder, so that editors can open it."""
    print_lines(
        *(replace(each, file=str(folder / each.file)).text() if each.file else each.text() for each in problems)
    )


def _report(found: Checkout, path: Path, problems: Sequence[Problem]) -> dict[str, object]:
    errors, warnings = _count(problems)
    names = [each.project or path.resolve().name for each in found.snapshots]
    return {
        "projects": names,
        "errors": errors,
        "warnings": warnings,
        "problems": [each.wire() for each in problems],
    }


def _count(problems: Sequence[Problem]) -> tuple[int, int]:
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    return errors, len(problems) - errors
