"""The rule-level difference between two trees of a project, reading only the files that differ.

The result equals that of `changes.changes_between` for the two whole states. The cost depends on the change, not on the
project, if only rule files differ. If files that pages name differ too, the whole states are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from content.changes.diff import Change
from content.records.record import Record, identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import ChangesByKind, changes_between
from gitstore.compiled.segments.segment import id_number
from gitstore.compiled.segments.snapshot import File, Snapshot
from gitstore.errors import Invalid
from gitstore.git.file_paths import MAX_FOLDER_DEPTH
from gitstore.git.modes import FILE_MODE
from gitstore.git.repository import Repository, TreeEntry
from gitstore.layout import BlobId, FileRole, TreeId, role_of

_ROLES_WITHOUT_RULES = {FileRole.PROJECT, FileRole.TESTS}
_RULES = {FileRole.REDIRECTS, FileRole.PAGES}


class _NeedsWholeProject(Exception):
    """The difference depends on the rest of the project."""


def tree_changes(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> ChangesByKind:
    """Return the differences between two trees; None is a project that does not exist."""
    try:
        return changes_between(*_differing_snapshots(compiler, project, old, new))
    except _NeedsWholeProject:
        return changes_between(*(compiler.snapshot(project, tree) if tree else None for tree in (old, new)))


def read_tree_changes(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> ChangesByKind:
    """Return the differences, like `tree_changes`; a tree that cannot be read as a project has no rules."""
    trees = (tree if tree and _is_readable(compiler, project, tree) else None for tree in (old, new))
    try:
        return tree_changes(compiler, project, old, new)
    except Invalid:
        return tree_changes(compiler, project, *trees)


def find_change(
    compiler: Compiler, project: str, trees: tuple[TreeId | None, TreeId | None], kind: Kind, identity: str
) -> Change | None:
    """Return the change of one record from the first tree to the second; None if it is unchanged.

    Of the differing files only this record is built, so that one of 100,000 imported at once is found quickly.
    """
    try:
        sides = _differing_snapshots(compiler, project, *trees)
    except (_NeedsWholeProject, Invalid):
        changes = read_tree_changes(compiler, project, *trees)[kind]
        return next((change for change in changes if change.identity == identity), None)
    old, new = (_last(side, kind, identity) for side in sides)
    return Change(kind, old, new) if old != new else None


def build_changes(
    compiler: Compiler, project: str, trees: tuple[TreeId | None, TreeId | None], ids: Mapping[Kind, Sequence[int]]
) -> list[Change]:
    """Build the changes of the records with these ids (numbers), in their order, and no other records."""
    try:
        sides = _differing_snapshots(compiler, project, *trees)
    except (_NeedsWholeProject, Invalid):
        old, new = (
            compiler.snapshot(project, tree) if tree else compiler.snapshot_files(project, ()) for tree in trees
        )
        sides = old, new
    found = []
    for kind, numbers in ids.items():
        before, after = (_chosen(side, kind, frozenset(numbers)) for side in sides)
        found += [Change(kind, before.get(number), after.get(number)) for number in numbers]
    return found


def _chosen(snapshot: Snapshot, kind: Kind, wanted: frozenset[int]) -> dict[int, Record]:
    files = [file for file in snapshot.rule_files[kind] if not wanted.isdisjoint(file.segment.ids)]
    return {
        number: snapshot.whole(file, file.segment.record(at))
        for file in files
        for at, number in enumerate(file.segment.ids)
        if number in wanted
    }


def _last(snapshot: Snapshot, kind: Kind, identity: str) -> Record | None:
    """Return the record with an identity; of duplicates, which are invalid, the last one, as in a whole difference."""
    wanted = id_number(identity_id(identity))
    files = [file for file in snapshot.rule_files[kind] if wanted in file.segment.id_set]
    last = [(file, at) for file in files for at, number in enumerate(file.segment.ids) if number == wanted][-1:]
    return next((snapshot.whole(file, file.segment.record(at)) for file, at in last), None)


def _is_readable(compiler: Compiler, project: str, tree: TreeId) -> bool:
    try:
        compiler.snapshot(project, tree)
    except Invalid:
        return False
    return True


class _Sides(NamedTuple):
    """The files that the other tree does not have unchanged, by side."""

    old: list[File]
    new: list[File]


def _differing_snapshots(
    compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None
) -> tuple[Snapshot, Snapshot]:
    sides = _Sides([], [])
    for at, file in _differing(compiler.repository, (old, new), "", 1):
        role = role_of(file.path)
        if file.mode != FILE_MODE or role not in _ROLES_WITHOUT_RULES | _RULES:
            raise _NeedsWholeProject
        if role in _RULES:
            sides[at].append(file)
    before, after = (compiler.snapshot_files(project, files) for files in sides)
    if old and new and (sides.old or sides.new) and not (compiler.is_validated(old) and compiler.is_validated(new)):
        shared = _find_shared(compiler, project, new, (before, after))
        before, after = (compiler.snapshot_files(project, [*files, *shared]) for files in sides)
    if _names_files(before) or _names_files(after):
        raise _NeedsWholeProject
    return before, after


def _find_shared(compiler: Compiler, project: str, tree: TreeId, differing: tuple[Snapshot, Snapshot]) -> list[File]:
    """Return the unchanged files with a record of the differing ones: only a tree with duplicates has any."""
    paths = {file.path for side in differing for kind in Kind for file in side.rule_files[kind]}
    others = [file for file in compiler.list_files(tree) if file.path not in paths and role_of(file.path) in _RULES]
    found = compiler.snapshot_files(project, [file for file in others if file.mode == FILE_MODE])
    shared = set()
    for kind in Kind:
        touched = frozenset[int]().union(*(file.segment.id_set for side in differing for file in side.rule_files[kind]))
        shared |= {file.path for file in found.rule_files[kind] if not touched.isdisjoint(file.segment.id_set)}
    return [file for file in others if file.path in shared]


def _names_files(snapshot: Snapshot) -> bool:
    files = (file for of_kind in snapshot.rule_files.values() for file in of_kind)
    return any("file" in extra for file in files for extra in file.segment.extras.values())


def _differing(
    repository: Repository, trees: tuple[TreeId | None, TreeId | None], prefix: str, depth: int
) -> Iterator[tuple[int, File]]:
    """Yield the files that differ, each with its side (0: old, 1: new)."""
    if depth > MAX_FOLDER_DEPTH:
        raise _NeedsWholeProject
    sides = [_entries(repository, tree) for tree in trees]
    for key in sides[0].keys() | sides[1].keys():
        pair = [side.get(key) for side in sides]
        if pair[0] == pair[1]:
            continue
        if key[1]:
            below = [TreeId(entry.id) if entry else None for entry in pair]
            yield from _differing(repository, (below[0], below[1]), f"{prefix}{key[0]}/", depth + 1)
            continue
        for at, entry in enumerate(pair):
            if entry:
                yield at, File(prefix + entry.name, entry.mode, BlobId(entry.id))


def _entries(repository: Repository, tree: TreeId | None) -> dict[tuple[str, bool], TreeEntry]:
    """Return the entries of a folder, by name and by whether they are folders."""
    return {(entry.name, entry.is_folder): entry for entry in repository.entries(tree)} if tree else {}
