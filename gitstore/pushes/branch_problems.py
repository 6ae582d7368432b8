"""The problems of a pushed draft or proposal, which is accepted with them: they would stop its publish."""

from contextlib import suppress

from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import MAX_UNLINTED_RULES, Compiler
from gitstore.errors import Invalid, StoreError
from gitstore.git.repository import CommitInfo
from gitstore.layout import TreeId
from gitstore.publish.gate import find_blocking_problems
from gitstore.pushes.answer import problem_lines
from gitstore.pushes.branch_changes import ProjectChange, changed_projects
from gitstore.pushes.change_size import count_changed_bytes

_MOST_BYTES = 8 << 20  # of the files that differ, in a whole push: about 100,000 rules


class BranchProblems:
    """The look for problems in the branches of one push, which is bounded for all of them together."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._room = _MOST_BYTES

    def list_lines(self, base: TreeId, head: CommitInfo, verb: str) -> list[str]:
        """Return a line for each problem between the base and the head of a branch, and their number; `verb` names the goal.

        A project with so much new that its check would take long is named instead.
        """
        compiler, problems, unchecked = self._compiler, list[Problem](), list[str]()
        for change in changed_projects(compiler.repository, base, head.tree):
            self._room -= count_changed_bytes(compiler.repository, change, max(self._room, 0))
            if self._room >= 0 and _is_quick(compiler, change):
                problems += _find_problems(compiler, change)
            elif change.after:
                unchecked.append(f"{change.project} has too many changes to be checked here, so it may have problems.")
        lines = problem_lines(compiler.repository, head.tree, problems)
        if problems:
            count, they = ("1 problem", "it is") if len(problems) == 1 else (f"{len(problems):,} problems", "they are")
            lines.append(f"{count}; it cannot be {verb} until {they} fixed.")
        return [*lines, *unchecked]


def _find_problems(compiler: Compiler, change: ProjectChange) -> list[Problem]:
    if change.after is None:
        return []
    try:
        return find_blocking_problems(compiler, change.project, change.before, change.after)
    except Invalid as ex:
        return list(ex.problems)
    except StoreError:  # a reader of the proposal gets it
        return []


def _is_quick(compiler: Compiler, change: ProjectChange) -> bool:
    """Tell whether a check is of few rules, or only of the change to a state that passed."""
    if change.after is None or (change.before and compiler.is_validated(change.before)):
        return True
    with suppress(StoreError):
        return sum(map(compiler.snapshot(change.project, change.after).count, Kind)) <= MAX_UNLINTED_RULES
    return False
