"""The difference between release and the upstream's branch: the commits that one side alone has, and what they do to rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from content.changes.diff import Counts, count
from content.records.names import is_name
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.drafts.drafts import project_tree
from gitstore.drafts.revisions import require_readable
from gitstore.errors import Broken, Invalid
from gitstore.git.repository import CommitInfo, TreeEntry
from gitstore.layout import CommitId

_MOST_COMMITS = 20


@dataclass(frozen=True, slots=True)
class Side:
    """The part of one side alone: its newest commits, and the counts of changed records by project, None for unreadable ones.

    `changes_files` is true where files beside the projects differ.
    """

    commits: Sequence[CommitInfo] = ()
    projects: Mapping[str, Mapping[Kind, Counts] | None] = field(default_factory=dict)
    changes_files: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """The part of release alone (`ahead`) and that of the upstream (`behind`), from the commit where they parted."""

    ahead: Side
    behind: Side


def find_difference(compiler: Compiler, tip: CommitId) -> Difference | None:
    """Return the difference; None for the same commit, and where the upstream's commit is not here."""
    repository = compiler.repository
    release = repository.release()
    if tip == release or not repository.has(tip):
        return None
    try:
        base = repository.merge_base(release, tip)
        return Difference(_side(compiler, base, release), _side(compiler, base, tip))
    except Broken:  # the upstream's objects were fetched in part
        return None


def _side(compiler: Compiler, base: CommitId | None, end: CommitId) -> Side:
    if base == end:
        return Side()
    repository = compiler.repository
    own = takewhile(lambda info: info.id != base, repository.first_parents(end))
    old = repository.commit(base).tree if base else None
    names = repository.differing_entries(old, repository.commit(end).tree)
    projects = {name: _compare(compiler, name, base, end) for name in sorted(names) if _is_project(name, names[name])}
    return Side(list(islice(own, _MOST_COMMITS)), projects, changes_files=len(projects) < len(names))


def _is_project(name: str, sides: Sequence[TreeEntry | None]) -> bool:
    return is_name(name) and any(side and side.is_folder for side in sides)


def _compare(compiler: Compiler, name: str, base: CommitId | None, end: CommitId) -> Mapping[Kind, Counts] | None:
    """Count the changes of a project; None where a file of it cannot be read."""
    trees = (project_tree(compiler.repository, commit, name) if commit else None for commit in (base, end))
    try:
        before, after = (compiler.snapshot(name, tree) if tree else None for tree in trees)
        if after:
            require_readable(before, after)
        return {kind: count(changes) for kind, changes in changes_between(before, after).items()}
    except Invalid:
        return None
