"""The output of problems in each format of `waypost validate`."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from cli.console.colors import Palette, is_terminal, palette_of
from cli.console.git import find_checkout
from cli.console.output import count_noun, hide_commands, print_commands, print_json, print_lines, print_notes
from cli.console.streams import write
from cli.version import __version__
from content.checks.expectations import Expectation
from content.records.printable import escape_unprintable
from content.records.problem import Problem, Severity
from content.records.problem_report import count_by_code
from gitstore.yamlfiles.yaml_reader import LINE_BREAK

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


@dataclass(frozen=True, slots=True)
class ProjectTests:
    """The tests of a project; `were_run` unless it has errors."""

    project: str
    tests: Sequence[Expectation]
    were_run: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The problems to print, with files relative to `folder`, and the tests of each project.

    In a bare repository, files are relative to the root of a branch. `read_lines` returns the lines of a file for
    excerpts, none if it cannot be read.
    """

    problems: Sequence[Problem]
    projects: Sequence[ProjectTests]
    folder: Path
    read_lines: Callable[[str], Sequence[str]]
    is_bare: bool
    strict: bool

    @property
    def shown_folder(self) -> Path:
        """The path from the current folder, so that an editor can open the files."""
        return Path() if self.is_bare else self.folder

    @property
    def folder_in_repository(self) -> Path:
        """The path from the root of the repository, or from the current folder where there is none."""
        root = find_checkout(self.folder)
        return Path() if self.is_bare else Path(os.path.relpath(self.folder.resolve(), root))


def read_lines_in(root: Path) -> Callable[[str], Sequence[str]]:
    """Return a reader of the lines of a file below a folder, for excerpts.

    It returns none of a file that cannot be read or that Git does not store: it follows no link, which may lead outside.
    """

    def read(file: str) -> Sequence[str]:
        path = root / file
        below = path.parents[: len(Path(file).parts) - 1]
        try:
            if not path.is_file() or any(each.is_symlink() for each in (path, *below)):
                return ()
            data = path.read_bytes()
        except OSError:
            return ()
        return LINE_BREAK.split(data.decode(errors="replace").removeprefix("\ufeff"))

    return read


def print_text(report: Report, *, excerpts: bool) -> None:
    """Print a line for each problem, or on a terminal its line in the file; paths are relative to the current folder."""
    if excerpts or is_terminal(sys.stdout):
        _print_excerpts(report)
        return
    print_lines(*(_placed(each, report.shown_folder).text() for each in report.problems))


def _placed(problem: Problem, folder: Path) -> Problem:
    return replace(problem, file=str(folder / problem.file)) if problem.file else problem


def _print_excerpts(report: Report) -> None:
    from content.formats.excerpt import excerpt  # noqa: PLC0415 - only a terminal needs it

    palette, width = palette_of(sys.stdout), shutil.get_terminal_size().columns
    for file, problems in groupby(report.problems, lambda each: each.file):
        source = report.read_lines(file) if file else ()
        for each in problems:
            lines = [_head_line(each, palette)]
            if each.file:
                lines.append(_place_line(_placed(each, report.shown_folder), palette))
            if 0 < each.line <= len(source):
                number, margin = str(each.line), " " * len(str(each.line))
                shown = excerpt(source[each.line - 1], each.column, width - len(number) - 3)
                bar = palette.paint("|", "blue", bold=True)
                marker = palette.paint(shown.marker.lstrip(" "), _COLORS[each.severity], bold=True)
                indent = " " * (len(shown.marker) - len(shown.marker.lstrip(" ")))
                lines += [
                    f"{margin} {bar}",
                    f"{palette.paint(number, 'blue', bold=True)} {bar} {shown.text}",
                    f"{margin} {bar} {indent}{marker}",
                ]
            write(hide_commands("".join(f"{line}\n" for line in [*lines, ""])), colors=palette.has_colors)


def _head_line(problem: Problem, palette: Palette) -> str:
    head = palette.paint(f"{problem.severity.value}[{problem.code}]", _COLORS[problem.severity], bold=True)
    return f"{head}{palette.paint(f': {escape_unprintable(problem.message)}', bold=True)}"


def _place_line(problem: Problem, palette: Palette) -> str:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    return f"{palette.paint(' -->', 'blue', bold=True)} {escape_unprintable(place)}"


def print_for_ci(report: Report, wanted: str) -> None:
    """Print one of the formats for CI services; paths are relative to the root of the repository."""
    if wanted == "junit":
        _print_junit(report)
        return
    prefix = report.folder_in_repository
    problems = [_placed(each, prefix) for each in report.problems]
    if wanted == "github":
        from content.formats.github_annotations import annotation_lines  # noqa: PLC0415 - one format a run

        print_commands(*annotation_lines(problems))
    elif wanted == "gitlab":
        from content.formats.gitlab_code_quality import code_quality  # noqa: PLC0415 - as above

        print_json(code_quality(problems))
    else:
        from content.formats.sarif import sarif_log  # noqa: PLC0415 - as above

        print_json(sarif_log(problems, __version__))


def _print_junit(report: Report) -> None:
    from content.formats.junit import ProjectReport, junit_xml  # noqa: PLC0415 - as above

    prefix, folder = report.folder_in_repository, report.folder.resolve().name
    by_project: dict[str, list[Problem]] = {each.project: [] for each in report.projects}
    for problem in report.problems:
        project = problem.file.partition("/")[0]
        by_project.setdefault(project if project in by_project else "", []).append(_placed(problem, prefix))
    tests = {each.project: each for each in report.projects}
    reports = [
        ProjectReport(
            name or folder,
            problems,
            [replace(test, file=str(prefix / test.file)) for test in tests[name].tests] if name in tests else (),
            were_tested=name in tests and tests[name].were_run,
        )
        for name, problems in by_project.items()
    ]
    write(junit_xml(reports, strict=report.strict).replace("##[", "#&#35;["))  # a runner takes `##[` for a command


def print_counts_by_code(problems: Sequence[Problem]) -> None:
    """Print the number of problems of each code on standard error, errors first."""
    rows = [(count_noun(count, severity), code) for severity, code, count in count_by_code(problems)]
    width = max((len(count) for count, _ in rows), default=0)
    print_notes(*(f"{count.rjust(width)}  {code}" for count, code in rows))
