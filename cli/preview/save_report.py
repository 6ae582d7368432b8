"""The output of a preview: what is served after each save, what changed, and the problems."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from cli.console.output import count_noun, print_lines
from cli.content.validate.problem_output import Report, print_text, read_lines_in
from cli.preview.baseline import ChangesSince
from content.changes.diff import count
from content.records.problem import Problem, Severity
from gitstore.comparison.change_lines import text_lines
from gitstore.comparison.descriptions import count_text
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.publish.advance import PublishResult

_MOST_PROBLEMS = 20
_MOST_LINES = 12
_MOST_LISTED = 200  # changes: more are counted only
_MOST_FILES = 3


class Served(NamedTuple):
    """The numbers of what is served: projects, and their tests, which have passed."""

    projects: int
    tests: int


def files_text(files: Sequence[str]) -> str:
    """Name a few files; of more, the number of the others."""
    names = ", ".join(files[:_MOST_FILES])
    return f"{names} and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else names


def print_published(published: Mapping[str, PublishResult], before: Collection[str]) -> None:
    """Print what a save changed, project by project; `before` are the names of the projects that were served."""
    for name, result in published.items():
        what = "removed" if not result.tree else "added" if name not in before else ""
        counts = count_text(result.counts) if any(map(any, result.counts.values())) else ""
        text = counts or ("" if what else "no rule changed, but comments, settings or tests")
        print_lines(f"  {name}: {', '.join(filter(None, (what and f'project {what}', text)))}")


def print_projects(projects: Mapping[str, Mapping[str, int]]) -> None:
    """Print the projects that are served at first, with the numbers of their records."""
    for name, counts in projects.items():
        texts = (count_noun(number, kind.removesuffix("s")) for kind, number in counts.items())
        print_lines(f"  {name}: {', '.join(texts)}")


def print_since(changes: ChangesSince) -> None:
    """Print what changed since HEAD: the numbers of each project, and the first rules."""
    differing = {name: found for name, found in changes.projects.items() if any(found.values())}
    if not differing:
        print_lines(f"  No rule differs from {changes.since}.")
        return
    print_lines(f"  Since {changes.since}:")
    for name, found in differing.items():
        print_lines(f"    {name}: {count_text({kind: count(each) for kind, each in found.items()})}")
        print_lines(*(f"      {line}" for line in _change_lines(found)))


def print_problems(problems: Sequence[Problem], root: Path, shown_root: Path, served: Served | None) -> None:
    """Print the first problems as `waypost validate` does, errors first, and the numbers of all."""
    ordered = sorted(problems, key=lambda each: each.severity is not Severity.ERROR)
    shown = ordered[:_MOST_PROBLEMS]
    report = Report(shown, (), shown_root, read_lines_in(root), is_bare=False, strict=False)
    print_text(report, excerpts=False)
    if len(shown) < len(ordered):
        print_lines(f"  … and {len(ordered) - len(shown):,} more; `waypost validate` lists all.")
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    numbers = f"{count_noun(errors, 'error')}, {count_noun(len(problems) - errors, 'warning')}"
    passed = f"{count_noun(served.projects, 'project')}, {count_noun(served.tests, 'test')} passed: " if served else ""
    print_lines(f"  {passed}{numbers}.")


def _change_lines(found: ChangesByKind) -> list[str]:
    changes = list(chain.from_iterable(found.values()))
    if len(changes) > _MOST_LISTED:
        return []
    lines = list(islice(text_lines(changes), _MOST_LINES + 1))
    return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "…"]
