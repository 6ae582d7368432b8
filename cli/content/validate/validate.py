"""`waypost validate`: check files before they are merged."""

import gc
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.git import find_checkout, is_bare, looks_bare, open_git
from cli.console.output import count_noun, print_json, print_notes, print_rows
from cli.console.progress import show_status
from cli.console.suggestion import suggest
from cli.content.validate.changed_files import ChangedFiles, find_changed_files
from cli.content.validate.check_run import CheckRun, check_folder
from cli.content.validate.problem_output import (
    ProjectTests,
    Report,
    print_counts_by_code,
    print_for_ci,
    print_text,
    read_lines_in,
)
from content.records.problem import Problem, Severity
from content.records.problem_codes import CODES, NEVER_ANSWER, count_never_answering
from content.records.problem_report import ProblemFilter, never_answer_text, summarize
from gitstore.git.file_paths import printable_path
from gitstore.layout import PROJECT_FILE, FileRole, role_of
from gitstore.namespaces.checkout import Checkout

if TYPE_CHECKING:
    from gitstore.namespaces.folder_fixes import FolderFixes

FORMATS = ("text", "json", "github", "gitlab", "sarif", "junit")


_MOST_REASONS = 20
_RELEASE = "release"
_RULES = (FileRole.REDIRECTS, FileRole.PAGES)


@click.command("validate")
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=".")
@click.option("--format", "wanted", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--ref",
    metavar="BRANCH",
    help=f"The branch to check if PATH is a bare repository.  [default: {_RELEASE}]",
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
@click.option(
    "--changed-since",
    metavar="REV",
    help="Check only the projects with changes since this commit, branch or tag, and where the branches part.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="First fix what is safe to fix: chains, exact duplicates, hosts in upper case, and encoded characters.",
)
@click.option("--excerpt", is_flag=True, help="Show the line of each problem, also if the output is not a terminal.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
def command(  # noqa: PLR0913 - one parameter an option
    path: Path,
    wanted: str,
    ref: str | None,
    *,
    code: str,
    severity: str | None,
    place: str,
    never_answer: bool,
    limit: int | None,
    offset: int,
    counts: bool,
    cache: Path | None,
    changed_since: str | None,
    excerpt: bool,
    fix: bool,
    strict: bool,
) -> None:
    """Check files of rules before they are merged.

    PATH is the folder of a namespace or of a project, or a bare repository; by default the current folder. Of a file, its
    whole project is checked, and the problems in the file are shown. Prints every problem as FILE:LINE:COLUMN, on a
    terminal with its line, and exits with 1 if there is an error, shown or not.

    In JSON, file names are relative to PATH; in the formats of CI services, to the root of the Git repository: github
    (annotations), gitlab (Code Quality), sarif (2.1.0) and junit.
    """
    if path.is_file():
        path, place = _find_folder_of(path, place)
    codes = NEVER_ANSWER if never_answer else frozenset(filter(None, code.split(",")))
    bare = is_bare(path)
    if ref is not None and not bare:
        raise InvalidUsage(
            f"--ref is for a bare repository; of the checkout {path} the files are checked, as they are. Check out {ref} there, "
            "or leave --ref out."
        )
    branch = (ref or _RELEASE) if bare else ""
    _note_repository(path, branch)
    since = find_changed_files(open_git(path), changed_since, branch) if changed_since is not None else None
    with _pause_gc(), show_status(f"Reading {path}") as watch:
        run = check_folder(path, branch, since, cache, watch, is_fixing=fix)
    _note_unknown(codes, run.problems)
    _note_missing(path, place, run.problems, bare=bare)
    selected = ProblemFilter(codes, severity or "", place).select(run.problems)
    window = _Window(selected, offset, limit, is_counted=counts, is_chosen=never_answer)
    if wanted == "json":
        _print_json(path, run, window)
    elif counts:
        _print_counts(selected)
    else:
        tests = _tests(run.found, run.problems)
        report = Report(window.shown, tests, path, read_lines_in(path), is_bare=bare, strict=strict)
        _print_report(report, wanted, excerpts=excerpt)
        print_counts_by_code(run.problems)
        print_notes(*_untested_text(path, tests))
    if run.fixes:
        print_notes(_fixes_text(run.fixes), *_chains_text(run))
    _print_totals(run.found, run.problems, since)
    _print_hints(run.problems, window)
    errors, warnings = _count(run.problems)
    if errors or (strict and warnings):
        raise ProblemsFound


def _find_folder_of(file: Path, place: str) -> tuple[Path, str]:
    """Return the folder of the project of a file, and the file relative to it."""
    if place:
        raise InvalidUsage("--file is for a folder. Name the folder of the project as PATH, or leave --file out.")
    path = file.absolute()
    marked = (each for each in path.parents if (each / PROJECT_FILE).is_file())
    named = (each for each in path.parents if role_of(path.relative_to(each).as_posix()) in _RULES)
    folder = next(marked, None) or next(named, None)
    if folder is not None:
        return Path(os.path.relpath(folder)), path.relative_to(folder).as_posix()
    raise InvalidUsage(f"{file} is not in a project: a project is a folder with project.yaml, redirects or pages.")


def _untested_text(path: Path, tests: Sequence[ProjectTests]) -> Iterator[str]:
    """Say which tests were not run."""
    names = [each.project or path.resolve().name for each in tests if each.tests and not each.were_run]
    if names:
        yield f"The tests of {', '.join(names)} were not run, since there are errors. Fix these first."


@dataclass(frozen=True, slots=True)
class _Window:
    """The selected problems, of which some are shown."""

    selected: Sequence[Problem]
    offset: int
    limit: int | None
    is_counted: bool
    is_chosen: bool

    @property
    def shown(self) -> Sequence[Problem]:
        """The problems in the window."""
        return self.selected[self.offset : None if self.limit is None else self.offset + self.limit]


def _print_json(path: Path, run: CheckRun, window: _Window) -> None:
    shown = {"total": len(window.selected), "limit": window.limit, "offset": window.offset}
    names = [each.project or path.resolve().name for each in run.found.snapshots]
    since = {"changedSince": _changes_view(run.since, run.found)} if run.since else {}
    listed = [] if window.is_counted else [each.wire() for each in window.shown]
    fixed = {"fixed": _fixes_view(run.fixes)} if run.fixes else {}
    print_json({"projects": names, **since, **fixed, **summarize(run.problems), **shown, "problems": listed})


def _print_report(report: Report, wanted: str, *, excerpts: bool) -> None:
    if wanted == "text":
        print_text(report, excerpts=excerpts)
    else:
        print_for_ci(report, wanted)


def _fixes_view(fixes: "FolderFixes") -> dict[str, object]:
    return {"files": fixes.files, "counts": {kind.value: count for kind, count in fixes.counts.items() if count}}


def _fixes_text(fixes: "FolderFixes") -> str:
    """Describe the fixes, such as `Fixed in 2 files: 3 chains, 1 duplicate.`."""
    parts = [count_noun(count, kind.value) for kind, count in fixes.counts.items() if count]
    return f"Fixed in {count_noun(len(fixes.files), 'file')}: {', '.join(parts)}." if parts else "Nothing to fix."


def _chains_text(run: CheckRun) -> Iterator[str]:
    """Yield a line for each of the first chains that stay after the fixes, with the reason."""
    if not any(each.code == "chain" for each in run.problems):
        return
    from gitstore.namespaces.folder_fixes import explain_chains  # noqa: PLC0415 - only runs with --fix need it

    left = list(explain_chains(run.found, run.problems))
    for problem, reason in left[:_MOST_REASONS]:
        yield f"{problem.file}:{problem.line}: chain not fixed: {reason}."
    if len(left) > _MOST_REASONS:
        yield f"{len(left) - _MOST_REASONS:,} more chains not fixed."


def _tests(found: Checkout, problems: Sequence[Problem]) -> list[ProjectTests]:
    """Return the tests of each project; those of a project with errors were not run."""
    broken = {each.file for each in problems if each.severity is Severity.ERROR and each.code != "test_failed"}
    return [
        ProjectTests(
            each.project,
            each.expectations,
            were_run=not any(not each.project or file.startswith(f"{each.project}/") for file in broken),
        )
        for each in found.snapshots
    ]


def _changes_view(changes: ChangedFiles, found: Checkout) -> dict[str, object]:
    return {
        "revision": changes.revision,
        "commit": changes.commit,
        "files": sorted(map(printable_path, changes.paths)),
        "leftOut": list(found.left_out),
    }


def _print_totals(found: Checkout, problems: Sequence[Problem], changes: ChangedFiles | None) -> None:
    """Print the number of projects, errors and warnings; for a part of the projects, why these."""
    errors, warnings = _count(problems)
    if changes:
        names = [each.project for each in found.snapshots if each.project]
        looked_at = f"Checked: {', '.join(names) or 'this project' if found.snapshots else 'no project'}."
        rest = f" Left out, as no file of theirs changed: {', '.join(found.left_out)}." if found.left_out else ""
        print_notes(f"{count_noun(len(changes.paths), 'file')} changed since {changes.base}. {looked_at}{rest}")
    number = count_noun(len(found.snapshots), "project")
    print_notes(f"{number}: {count_noun(errors, 'error')}, {count_noun(warnings, 'warning')}.")


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


def _print_counts(problems: Sequence[Problem]) -> None:
    """Print the number of problems of each severity and code, the most frequent ones first."""
    counts = Counter((problem.severity, problem.code) for problem in problems)
    print_rows(("COUNT", "SEVERITY", "CODE"), ((number, *what) for what, number in counts.most_common()))


def _print_hints(problems: Sequence[Problem], window: _Window) -> None:
    """Print how to see the rules that can never answer, and the problems that were not shown."""
    number = count_never_answering(problems)
    if number and not window.is_chosen:
        print_notes(f"{never_answer_text(number)}; to list them, add --never-answer.")
    if not window.is_counted and len(window.shown) < len(window.selected):
        after = window.offset + len(window.shown)
        following = f"; to see the next ones, add --offset {after}" if after < len(window.selected) else ""
        print_notes(f"Shown: {len(window.shown):,} of {count_noun(len(window.selected), 'problem')}{following}.")


def _note_repository(path: Path, branch: str) -> None:
    """Say what is checked of a folder with the files of a bare repository; without a branch, these files are."""
    if branch:
        print_notes(f"{path} is a bare repository. Its branch {branch} is checked.")
    elif looks_bare(path):
        print_notes(
            f"{path} has the files of a bare repository, but is in the checkout {find_checkout(path)}: its files are checked, "
            "not its branches. To check a branch, move or clone the repository out of the checkout."
        )


def _note_unknown(codes: Iterable[str], problems: Iterable[Problem]) -> None:
    """Print each wanted code that no problem has and no check of rules makes, with the nearest one: it may be misspelled."""
    known = CODES.keys() | {each.code for each in problems}
    for code in sorted(set(codes) - known):
        print_notes(f"No problem has the code {code!r}.{suggest(code, known)}")


def _note_missing(path: Path, place: str, problems: Iterable[Problem], *, bare: bool) -> None:
    """Print that the wanted file or folder is not there: it may be misspelled."""
    if place and not bare and not (path / place).exists() and not any(each.file == place for each in problems):
        print_notes(f"{path} has no file or folder {place!r}, so no problem is in it. Name it relative to {path}.")


def _count(problems: Sequence[Problem]) -> tuple[int, int]:
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    return errors, len(problems) - errors
