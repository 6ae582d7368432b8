"""The gate of release: the checks of a project's next state, which is compiled with them.

Publishes of drafts and pushed commits go through it alike, each with the state that is on release before.
"""

from itertools import chain
from typing import NamedTuple

from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler, is_rewritten, require_publishable
from gitstore.compiled.segments.changes import ChangesByKind, changes_between, files_only_in
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.checks import MANY_RULES, check_snapshot
from gitstore.history.manifests import ensure_manifest
from gitstore.history.numbering import PublishDelta, build_publish_delta
from gitstore.history.table_changes import build_delta_from_tables
from gitstore.layout import CommitId, TreeId
from gitstore.publish.approval import require_same_policy


class Served(NamedTuple):
    """The state of a project that is served before: its folder, if any, and whether it is the newest on release."""

    tree: TreeId | None = None
    is_newest: bool = False


class NextState(NamedTuple):
    """The next state of a project: its folder on release before and after, None where it does not exist.

    With `requires_same_policy` it may not change the policy (reviews, lint, signatures). With `is_rollback` the rules were
    published before; project.yaml does not change.
    """

    project: str
    before: TreeId | None
    after: TreeId | None
    served: Served
    requires_same_policy: bool = False
    is_rollback: bool = False


def read_served_state(compiler: Compiler, release: CommitId, project: str) -> Served:
    """Return the state of a project that a release commit serves; that is not its newest where that is refused."""
    known = ensure_manifest(compiler, release, waits=False).projects.get(project)
    return Served(known.tree, is_newest=bool(known.tree) and not known.failed) if known else Served()


def find_blocking_problems(
    compiler: Compiler, project: str, before: TreeId | None, after: TreeId | None
) -> list[Problem]:
    """Return the problems that would stop the publish of a branch's folder of a project; `before` is that of its base."""
    if after is None:
        return []
    old, new = compiler.snapshot(project, before) if before else None, compiler.snapshot(project, after)
    return [*find_budget_problems(old, new, compiler.limits), *compiler.find_blocking_problems(old, new)]


def check_and_compile(compiler: Compiler, state: NextState) -> PublishDelta:
    """Check and compile the next state of a project; raises Invalid for its problems, or NotAllowed for its policy."""
    reused = _reuse_validated(compiler, state) if state.is_rollback else None
    return reused or _check_and_compile(compiler, state)


def _reuse_validated(compiler: Compiler, state: NextState) -> PublishDelta | None:
    """Return the delta to a state that is already validated, compared by its tables; None for any other state."""
    if state.before is None or state.after is None or compiler.find_validated(state.project, state.after) is None:
        return None
    return build_delta_from_tables(compiler, state.project, (state.before, state.after))


def _check_and_compile(compiler: Compiler, state: NextState) -> PublishDelta:
    old, new = (compiler.snapshot(state.project, tree) if tree else None for tree in (state.before, state.after))
    served = _find_served(compiler, state, old)
    if served:
        compiler.accept(served)
    if old and new and not state.is_rollback and _differs_much(old, new):
        delta = build_delta_from_tables(compiler, state.project, (old.tree, new.tree))
        if is_rewritten(new, len(delta.entries.codes)):
            _compile_rewritten(compiler, state, (old, new), served)
            return delta
    changes = changes_between(old, new)
    if new:
        if not state.is_rollback:  # its rules were published before
            require_publishable(new, find_budget_problems(served, new, compiler.limits))
        _keep_policy(old, new, changes)
        _compile(compiler, state, (old, new), changes)
    if state.requires_same_policy:
        require_same_policy(old, new)
    return build_publish_delta(state.project, (state.before, state.after), changes)


def _differs_much(old: Snapshot, new: Snapshot) -> bool:
    """Tell whether the files that differ have so many rules that these are compared by their tables first."""
    return sum(len(file.segment) for file in files_only_in(Kind.REDIRECTS, new, old)) > MANY_RULES


def _compile_rewritten(
    compiler: Compiler, state: NextState, states: tuple[Snapshot, Snapshot], served: Snapshot | None
) -> None:
    """Check and compile a state of which so much is new that all rules are checked; their changes are not needed."""
    old, new = states
    require_publishable(new, find_budget_problems(served, new, compiler.limits))
    if old.settings.strict and not new.settings.strict:
        require_publishable(new, check_snapshot(new), strict=True)
    if state.served.is_newest:
        compiler.compile_rewritten(old, new)
    else:
        compiler.validated_release(new.project, new.tree)
    if state.requires_same_policy:
        require_same_policy(old, new)


def _find_served(compiler: Compiler, state: NextState, old: Snapshot | None) -> Snapshot | None:
    """Return the state that is served: not that of release where it was pushed and is refused."""
    if old is None or state.served.tree in {None, old.tree}:
        return old
    return compiler.snapshot(state.project, TreeId(str(state.served.tree)))


def _keep_policy(old: Snapshot | None, new: Snapshot, changes: ChangesByKind) -> None:
    """Apply release's lint to changed rules, even where their new project.yaml asks for less."""
    if old and old.settings.strict and not new.settings.strict and any(changes.values()):
        require_publishable(new, check_snapshot(new), strict=True)


def _compile(
    compiler: Compiler, state: NextState, states: tuple[Snapshot | None, Snapshot], changes: ChangesByKind
) -> None:
    """Compile the new state: all of it where the old one was never valid, else the changes."""
    old, new = states
    if old is None or not state.served.is_newest:
        compiler.validated_release(state.project, new.tree)
    else:
        compiler.compile_change(old, new, list(chain.from_iterable(changes.values())))
