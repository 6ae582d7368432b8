"""The words of the answer to a push, as lines for the pusher's terminal.

Text that comes from content or from names of refs is escaped, so that it cannot control the terminal.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from content.changes.impact import Effect, Impact
from content.records.printable import escape_unprintable
from content.records.problem import Problem
from content.records.problem_codes import NEVER_ANSWER
from gitstore.git.repository import Repository
from gitstore.layout import BRANCH_PREFIX, CommitId, TreeId

MOST_PROBLEMS = 50
_MOST_IMPACTS = 10
_MAX_LENGTH = 500  # characters of a line
_SHORT = 12
# What is before the first field of a rule in its line: blanks, and the dash of an entry in a list.
_INDENT = re.compile(rb"[ \t]*(?:-[ \t]+)?")


class Refused(Exception):
    """A change of a ref is refused: the short reason for its status line, and lines with the problems and the way on."""

    def __init__(self, reason: str, *lines: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lines = lines


def show(text: str) -> str:
    """Return a text as one line that cannot control a terminal."""
    line = escape_unprintable(text)
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"


def short(commit: CommitId) -> str:
    """Return the first digits of a commit's id."""
    return commit[:_SHORT]


def branch_name(ref: str) -> str:
    """Return the name of a branch as it is typed."""
    return show(ref.removeprefix(BRANCH_PREFIX))


def first(lines: Iterable[str], most: int) -> list[str]:
    """Return the first lines, and one with the number of the others where there are more."""
    found = list(lines)
    more = len(found) - most
    return [*found[:most], f"… and {more:,} more"] if more > 0 else found


def in_commit(problems: int, commit: CommitId, *, is_tip: bool) -> str:
    """Return the line under the problems of a commit: how many there are, and how to change the commit."""
    count, them = ("1 problem", "it") if problems == 1 else (f"{problems:,} problems", "them")
    fix = f"Fix {them}, then: git commit --amend" if is_tip else f"Fix {them} there: git rebase -i {commit}~1"
    return f"{count} in commit {short(commit)}. {fix}"


def problem_lines(repository: Repository, root: TreeId, problems: Sequence[Problem]) -> list[str]:
    """Return a line for each problem of a namespace's folder, at most 50, and one with the number of the others."""
    shown = [_with_column(repository, root, problem) for problem in problems[:MOST_PROBLEMS]]
    more = len(problems) - len(shown)
    return [*map(_problem_line, shown), *([f"… and {more:,} more"] if more else [])]


def _problem_line(problem: Problem) -> str:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    return show(f"{place}: {problem.code}: {problem.message}" if place else f"{problem.code}: {problem.message}")


def _with_column(repository: Repository, root: TreeId, problem: Problem) -> Problem:
    """Add to the problem of a whole rule, which has a line only, the column at which the rule begins."""
    if not problem.line or problem.column:
        return problem
    lines = _read(repository, root, problem.file).split(b"\n", problem.line)
    found = _INDENT.match(lines[problem.line - 1]) if len(lines) >= problem.line else None
    return replace(problem, column=found.end() + 1) if found else problem


def _read(repository: Repository, root: TreeId, path: str) -> bytes:
    """Return the bytes of a file; none for a path that is not one."""
    *folders, name = path.split("/")
    tree: TreeId | None = root
    for folder in folders:
        tree = repository.folder(tree, folder) if tree else None
    entries = repository.files_named(tree, name) if tree else {}
    return repository.raw(entries[name].id)[1] if name in entries else b""


def impact_lines(impact: Impact) -> Iterator[str]:
    """Yield the impact of changes: problems that appear or go, then requests that get another answer."""
    yield from first((f"appears: {_effect_text(each)}" for each in impact.added_effects), _MOST_IMPACTS)
    yield from first((f"gone: {_effect_text(each)}" for each in impact.removed_effects), _MOST_IMPACTS)
    yield from first((f"answers: {each.text}" for each in impact.changed_responses), _MOST_IMPACTS)


def _effect_text(effect: Effect) -> str:
    never = ", so it never answers" if effect.problem.code in NEVER_ANSWER else ""
    place = f"{effect.rule.file}:{effect.rule.line}"
    return f"{place}: {effect.problem.code}: {effect.problem.message}{never}"
