"""The publish of a folder's present state into a namespace that exists: what changed, as one commit, or nothing.

Its checks are those of `waypost validate` on the folder, so no policy of an earlier state applies.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from content.records.problem import Problem, Severity
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import ChangesByKind, changes_between
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, FileSource, Snapshot, take_snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.lint_cache import LintCache
from gitstore.errors import Invalid
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.history.numbering import project_trees
from gitstore.layout import PROJECT_FILE, CommitId, TreeId
from gitstore.namespaces.checkout import Checkout, read_checkout
from gitstore.namespaces.working_directory import WorkingDirectory, WorkingState, is_editor_file
from gitstore.publish.advance import PublishResult, ReleaseCommit, ReleaseUpdate, commit_together
from gitstore.publish.gate import find_blocking_problems


@dataclass(frozen=True, slots=True)
class FolderPublish:
    """The publish of each project that changed, by name; or, where the state was refused, all its problems."""

    published: Mapping[str, PublishResult]
    problems: Sequence[Problem] = ()
    was_refused: bool = False


def publish_folder(
    compiler: Compiler,
    transaction: Transaction,
    folder: WorkingDirectory,
    state: WorkingState,
    author: Author,
) -> FolderPublish:
    """Publish a state of a folder, read from it; nothing is published where any project has an error."""
    if state.has_other_files:
        return FolderPublish({}, _find_all_problems(compiler, folder, state), was_refused=True)
    release = transaction.release()
    before = project_trees(transaction, transaction.commit(release).tree)
    after = {
        name: _write_project(compiler, transaction, folder, before.get(name), files)
        for name, files in state.projects.items()
    }
    if any(problem.severity is Severity.ERROR for problem in state.problems) or _has_budget_problems(compiler, after):
        return _refused(compiler, state, after)
    try:
        return FolderPublish(_Publisher(compiler, transaction, author, before).publish(release, after))
    except Invalid:
        return _refused(compiler, state, after)


def lint_published(compiler: Compiler, state: WorkingState) -> Sequence[Problem]:
    """Return all warnings of the published projects, with the problems beside them in the state of the folder."""
    return _find_problems(compiler, state, _published_trees(compiler))


def compare_published(compiler: Compiler, baseline: Mapping[str, Snapshot]) -> dict[str, ChangesByKind]:
    """Return the changes of each published project since a baseline, also of projects that only one of the two has."""
    trees = _published_trees(compiler)
    return {
        name: changes_between(baseline.get(name), compiler.snapshot(name, trees[name]) if name in trees else None)
        for name in sorted(trees.keys() | baseline.keys())
    }


def read_published(compiler: Compiler) -> dict[str, Snapshot]:
    """Return the published state of each project."""
    return {name: compiler.snapshot(name, tree) for name, tree in _published_trees(compiler).items()}


def read_elsewhere(
    compiler: Compiler, projects: Mapping[str, Sequence[File]], source: FileSource
) -> dict[str, Snapshot]:
    """Return the state of projects whose files are elsewhere, such as those of a commit of another repository."""
    segments = SegmentStore(compiler.paths.segments)
    return {name: take_snapshot(name, TreeId(""), files, source, segments) for name, files in projects.items()}


class _Publisher:
    """The commits of one publish: mostly one; more where a state cannot follow the one before in a single commit."""

    def __init__(
        self, compiler: Compiler, transaction: Transaction, author: Author, before: Mapping[str, TreeId]
    ) -> None:
        self._compiler = compiler
        self._transaction = transaction
        self._author = author
        self._before = before

    def publish(self, release: CommitId, after: Mapping[str, TreeId]) -> dict[str, PublishResult]:
        changed = {name: tree for name, tree in after.items() if self._before.get(name) != tree}
        removed = dict.fromkeys(name for name in self._before if name not in after)
        first = {name: tree for name, tree in changed.items() if self._is_less_strict(name, tree)}
        collides = {name.lower() for name in removed} & {name.lower() for name in changed}
        if first or collides:
            self._require_valid(changed)
            release, _ = self._commit(release, {name: self._settings_only(name, tree) for name, tree in first.items()})
            release, done = self._commit(release, removed)
            return {**done, **self._commit(release, changed)[1]}
        return self._commit(release, {**removed, **changed})[1]

    def _commit(
        self, release: CommitId, trees: Mapping[str, TreeId | None]
    ) -> tuple[CommitId, dict[str, PublishResult]]:
        if not trees:
            return release, {}
        commit = ReleaseCommit(release, self._author, "Save of the folder")
        updates = [ReleaseUpdate(name, release, tree, self._author) for name, tree in trees.items()]
        return commit_together(self._compiler, self._transaction, commit, updates)

    def _is_less_strict(self, name: str, tree: TreeId) -> bool:
        """Tell whether a project asks for no strict lint any more: its rules then change in a later commit."""
        old = self._before.get(name)
        return bool(
            old
            and self._compiler.snapshot(name, old).settings.strict
            and not self._compiler.snapshot(name, tree).settings.strict
        )

    def _settings_only(self, name: str, tree: TreeId) -> TreeId | None:
        found = {file.path: file.blob for file in self._compiler.list_files(tree)}
        return self._transaction.write_files(self._before[name], {PROJECT_FILE: found[PROJECT_FILE]})

    def _require_valid(self, trees: Mapping[str, TreeId]) -> None:
        """Raise Invalid before the first of several commits if the last one would be refused."""
        problems = [find_blocking_problems(self._compiler, name, None, tree) for name, tree in trees.items()]
        if any(problems):
            raise Invalid("The folder has errors.", list(chain.from_iterable(problems)))


def _write_project(
    compiler: Compiler,
    transaction: Transaction,
    folder: WorkingDirectory,
    base: TreeId | None,
    files: Sequence[File],
) -> TreeId:
    """Write the tree of a project, from that of its published state; only files that differ are written."""
    old = {file.path: file.blob for file in compiler.list_files(base)} if base else {}
    differing = {file.path: file.blob for file in files if old.get(file.path) != file.blob}
    known = set(old.values())
    for blob in set(differing.values()) - known:
        transaction.write_blob(folder.blob(blob))
    gone = dict.fromkeys(old.keys() - {file.path for file in files})
    if not differing and not gone and base:
        return base
    written = transaction.write_files(base, {**gone, **differing})
    if written is None:
        raise ValueError("a project has a file")
    return written


def _has_budget_problems(compiler: Compiler, trees: Mapping[str, TreeId]) -> bool:
    """Tell whether the regular expressions of a project cost too much, counted as those of a new project."""
    snapshots = (compiler.snapshot(name, tree) for name, tree in trees.items())
    return any(find_budget_problems(None, snapshot, compiler.limits) for snapshot in snapshots)


def _refused(compiler: Compiler, state: WorkingState, trees: Mapping[str, TreeId]) -> FolderPublish:
    return FolderPublish({}, _find_problems(compiler, state, trees), was_refused=True)


def _find_problems(compiler: Compiler, state: WorkingState, trees: Mapping[str, TreeId]) -> Sequence[Problem]:
    snapshots = tuple(compiler.snapshot(name, tree) for name, tree in sorted(trees.items()))
    return list(Checkout(snapshots, state.problems).check(compiler.limits, LintCache(compiler.paths.lints)))


def _find_all_problems(compiler: Compiler, folder: WorkingDirectory, state: WorkingState) -> Sequence[Problem]:
    """Return the problems of a state that has files which Git does not store as plain ones: all of it is read."""
    checkout = read_checkout(folder.path, SegmentStore(compiler.paths.segments))
    found = (problem for snapshot in checkout.snapshots for problem in _check_alone(compiler, state, snapshot))
    return [*state.problems, *(problem for problem in found if not is_editor_file(problem.file))]


def _check_alone(compiler: Compiler, state: WorkingState, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield the problems of a project; those of one that is the whole folder get its name before their paths."""
    prefix = "" if snapshot.project else f"{next(iter(state.projects))}/"
    for problem in Checkout((snapshot,), ()).check(compiler.limits):
        yield replace(problem, file=f"{prefix}{problem.file}")


def _published_trees(compiler: Compiler) -> dict[str, TreeId]:
    repository = compiler.repository
    return project_trees(repository, repository.commit(repository.release()).tree)
