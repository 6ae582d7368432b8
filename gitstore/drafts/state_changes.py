"""The changes between two states of a project, with their impact and the results of the checks and tests of the new one."""

from collections.abc import Callable, Sequence

from content.changes.diff import Change, change_type
from content.records.pattern_limits import PatternLimits
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.comparison.project_changes import NO_IMPACT, ProjectChanges
from gitstore.comparison.state_impact import compare_lints
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.lint import Lint
from gitstore.drafts.revisions import require_readable
from gitstore.errors import Invalid
from gitstore.layout import TreeId

LintFunction = Callable[[Snapshot, Lint | None], Lint]  # the state, and the lint of a similar one for speed


def compare_trees(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> ProjectChanges:
    """Compare two trees of a project in a repository; None is a project that does not exist."""
    before, after = (compiler.snapshot(project, tree) if tree else None for tree in (old, new))
    files = file_changes(compiler, project, old, new)
    return compare_states(
        project,
        (before, after),
        files,
        lambda state, near: compiler.lint_state(state.project, state.tree, near),
        compiler.limits,
    )


def compare_states(
    project: str,
    states: tuple[Snapshot | None, Snapshot | None],
    files: Sequence[FileChange],
    lint: LintFunction,
    limits: PatternLimits,
) -> ProjectChanges:
    """Compare two states. The rules of files with errors are unknown: then there are no changes and no impact."""
    before, after = states
    change = change_type(before, after)
    tests = len(after.expectations) if after else 0
    over_budget = find_budget_problems(None, after, limits) if after else []
    if over_budget and after:
        problems = [*over_budget, *after.problems]
        found = _changes(before, after)
        return ProjectChanges(project, change, found or (), files, None, problems, tests, found is not None)
    old = lint(before, None) if before else None
    new = lint(after, old) if after else None
    changes, problems = _changes(before, after), new.problems() if new else []
    if changes is None:
        return ProjectChanges(project, change, (), files, None, problems, tests, is_compared=False)
    impact = compare_lints((before, old), (after, new), changes) if changes else NO_IMPACT
    return ProjectChanges(project, change, changes, files, impact, problems, tests)


def _changes(before: Snapshot | None, after: Snapshot | None) -> list[Change] | None:
    """Return the changes of all kinds; None where a differing file has errors."""
    try:
        if after:
            require_readable(before, after)
    except Invalid:
        return None
    found = changes_between(before, after)
    return [change for kind in Kind for change in found[kind]]
