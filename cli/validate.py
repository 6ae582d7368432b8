"""`waypost validate`: what is wrong with files, before they are merged."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from cli.exits import ProblemsFound
from cli.output import count_noun, print_json, print_lines, print_notes
from cli.status import shown_status
from content.problem import Problem, Severity
from gitstore.bare import read_release
from gitstore.checkout import Checkout, Watch, read_checkout


@click.command("validate")
@click.argument("path", type=click.Path(path_type=Path, exists=True, file_okay=False), default=".")
@click.option("--format", "wanted", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--ref",
    default="release",
    show_default=True,
    metavar="BRANCH",
    help="The branch to check where PATH is a bare repository.",
)
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
def command(path: Path, wanted: str, ref: str, *, strict: bool) -> None:
    """Check files of rules before they are merged.

    PATH is a namespace's folder, one project's, or a bare repository; the current folder if left out. Prints every problem as FILE:LINE:COLUMN, and exits with 1 if there is an error. In JSON, files are named from
    PATH on.
    """
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    with _without_collector(), shown_status(f"Reading {path}") as watch:
        found = read_release(path, ref) if is_bare else read_checkout(path, watch=_reading(watch))
        watch(f"Checking {count_noun(len(found.snapshots), 'project')}")
        problems = list(found.check())
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
def _without_collector() -> Iterator[None]:
    """Keep Python from looking for cycles among a million new objects, of which none is in one: an eighth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _reading(watch: Watch) -> Watch:
    return lambda name: watch(f"Reading {name}")


def _print(problems: Sequence[Problem], folder: Path) -> None:
    """Each problem in a line that editors and terminals can follow from where the command was run."""
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
