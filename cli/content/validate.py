"""`waypost validate`: check files before they are merged."""

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from cli.console.exits import ProblemsFound
from cli.console.output import count_noun, print_json, print_lines, print_notes, print_rows
from cli.console.progress import show_status
from cli.console.setup import read_settings
from content.records.problem import Problem, Severity
from content.records.problem_codes import NEVER_ANSWER, count_never_answering
from content.records.problem_report import ProblemFilter, summarize
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.validation.lint_cache import LintCache
from gitstore.history.messages import never_answer_text
from gitstore.namespaces.checkout import ProgressCallback, read_checkout, read_release


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
@click.option("--code", default="", metavar="CODE", help="Only problems with this code, or with several: A,B.")
@click.option(
    "--severity", type=click.Choice([each.value for each in Severity]), help="Only problems of this severity."
)
@click.option("--file", "place", default="", metavar="FILE", help="Only problems in this file or folder below PATH.")
@click.option("--never-answer", is_flag=True, help="Only problems of rules that can never answer.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Show at most N problems.")
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N problems.")
@click.option("--counts", is_flag=True, help="Print the number of problems by code in place of the problems.")
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep results in this folder; a later run reads and checks only what changed.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
def command(  # noqa: PLR0913 - one parameter an option
    path: Path,
    wanted: str,
    ref: str,
    *,
    code: str,
    severity: str | None,
    place: str,
    never_answer: bool,
    limit: int | None,
    offset: int,
    counts: bool,
    cache: Path | None,
    strict: bool,
) -> None:
    """Check files of rules before they are merged.

    PATH is the folder of a namespace or of a project, or a bare repository; by default the current folder. Prints every
    problem as FILE:LINE:COLUMN, and exits with 1 if there is an error, shown or not. In JSON, file names are relative to
    PATH.
    """
    codes = NEVER_ANSWER if never_answer else frozenset(filter(None, code.split(",")))
    chosen = ProblemFilter(codes, severity or "", place)
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    with _pause_gc(), show_status(f"Reading {path}") as watch:
        segments = SegmentStore(cache / "segments") if cache else None
        settings = read_settings()
        allowed = settings.allowed_files
        found = (
            read_release(path, ref, allowed)
            if is_bare
            else read_checkout(path, segments, _report_reading(watch), allowed)
        )
        watch(f"Checking {count_noun(len(found.snapshots), 'project')}")
        problems = list(found.check(settings.pattern_limits, LintCache(cache / "lint") if cache else None))
    selected = chosen.select(problems)
    shown = selected[offset : None if limit is None else offset + limit]
    summary = summarize(problems)
    if wanted == "json":
        window = {"total": len(selected), "limit": limit, "offset": offset}
        names = [each.project or path.resolve().name for each in found.snapshots]
        print_json(
            {"projects": names, **summary, **window, "problems": [] if counts else [each.wire() for each in shown]}
        )
    elif counts:
        print_counts(selected)
    else:
        _print(shown, Path() if is_bare else path)
    errors, warnings = _count(problems)
    print_notes(
        f"{count_noun(len(found.snapshots), 'project')}: {count_noun(errors, 'error')}, {count_noun(warnings, 'warning')}."
    )
    _print_hints(problems, selected, shown, offset, is_counted=counts, is_chosen=never_answer)
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


def print_counts(problems: Sequence[Problem]) -> None:
    """Print the number of problems of each severity and code, the most frequent ones first."""
    counts = Counter((problem.severity, problem.code) for problem in problems)
    print_rows(("COUNT", "SEVERITY", "CODE"), ((number, *what) for what, number in counts.most_common()))


def _print_hints(
    problems: Sequence[Problem],
    selected: Sequence[Problem],
    shown: Sequence[Problem],
    offset: int,
    *,
    is_counted: bool,
    is_chosen: bool,
) -> None:
    """Print how to see the rules that can never answer, and the problems that were not shown."""
    number = count_never_answering(problems)
    if number and not is_chosen:
        print_notes(f"{never_answer_text(number)}; to list them, add --never-answer.")
    if not is_counted and len(shown) < len(selected):
        after = offset + len(shown)
        following = f"; to see the next ones, add --offset {after}" if after < len(selected) else ""
        print_notes(f"Shown: {len(shown):,} of {count_noun(len(selected), 'problem')}{following}.")


def _count(problems: Sequence[Problem]) -> tuple[int, int]:
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    return errors, len(problems) - errors
