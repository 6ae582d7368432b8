"""The rule-level difference between two trees of a project, reading only what differs between them.

The same as `changes.changes_between` gives for the two whole states. What it costs follows the change, not the project,
where only files of rules differ; where files that pages name differ too, the whole states are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from content.diff import Change
from content.record import Record, identity_id
from content.vocabulary import Kind
from gitstore.changes import ChangesByKind, changes_between
from gitstore.compiler import Compiler
from gitstore.errors import Invalid
from gitstore.file_paths import DEEPEST
from gitstore.layout import BlobId, Role, TreeId, role_of
from gitstore.part import id_number
from gitstore.repository import FILE_MODE, Entry, Repository
from gitstore.snapshot import File, Snapshot

_SETTLED = {Role.PROJECT, Role.TESTS}
"""Files without rules."""
_RULES = {Role.REDIRECTS, Role.PAGES}


class _Whole(Exception):
    """What differs can only be understood with the rest of the project."""


def tree_changes(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> ChangesByKind:
    """What leads from one tree to another; None is a project that does not exist."""
    try:
        return changes_between(*_excerpts(compiler, project, old, new))
    except _Whole:
        return changes_between(*(compiler.snapshot(project, tree) if tree else None for tree in (old, new)))


def known_changes(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> ChangesByKind:
    """The same; a tree that cannot even be read as a project has no rules."""
    trees = (tree if tree and _is_readable(compiler, project, tree) else None for tree in (old, new))
    try:
        return tree_changes(compiler, project, old, new)
    except Invalid:
        return tree_changes(compiler, project, *trees)


def change_of(
    compiler: Compiler, project: str, trees: tuple[TreeId | None, TreeId | None], kind: Kind, identity: str
) -> Change | None:
    """What one record went through from the first tree to the second; None where it stayed as it was.

    Of a file that differs only this record is built, so that one of 100,000 that were imported at once is found quickly.
    """
    try:
        sides = _excerpts(compiler, project, *trees)
    except (_Whole, Invalid):
        changes = known_changes(compiler, project, *trees)[kind]
        return next((change for change in changes if change.identity == identity), None)
    old, new = (_last(side, kind, identity) for side in sides)
    return Change(kind, old, new) if old != new else None


def chosen_changes(
    compiler: Compiler, project: str, trees: tuple[TreeId | None, TreeId | None], ids: Mapping[Kind, Sequence[int]]
) -> list[Change]:
    """The changes of the records with these ids, as numbers, in their order; of a file that differs only these are built."""
    try:
        sides = _excerpts(compiler, project, *trees)
    except (_Whole, Invalid):
        old, new = (compiler.snapshot(project, tree) if tree else compiler.excerpt(project, ()) for tree in trees)
        sides = old, new
    found = []
    for kind, numbers in ids.items():
        before, after = (_chosen(side, kind, frozenset(numbers)) for side in sides)
        found += [Change(kind, before.get(number), after.get(number)) for number in numbers]
    return found


def _chosen(snapshot: Snapshot, kind: Kind, wanted: frozenset[int]) -> dict[int, Record]:
    files = [file for file in snapshot.rule_files[kind] if not wanted.isdisjoint(file.part.ids)]
    return {
        number: snapshot.whole(file, file.part.record(at))
        for file in files
        for at, number in enumerate(file.part.ids)
        if number in wanted
    }


def _last(snapshot: Snapshot, kind: Kind, identity: str) -> Record | None:
    """The record with an identity; of several, which only wrong content has, the last one, as in a whole difference."""
    wanted = id_number(identity_id(identity))
    files = [file for file in snapshot.rule_files[kind] if wanted in file.part.id_set]
    last = [(file, at) for file in files for at, number in enumerate(file.part.ids) if number == wanted][-1:]
    return next((snapshot.whole(file, file.part.record(at)) for file, at in last), None)


def _is_readable(compiler: Compiler, project: str, tree: TreeId) -> bool:
    try:
        compiler.snapshot(project, tree)
    except Invalid:
        return False
    return True


class _Sides(NamedTuple):
    """The files that only the one, or only the other tree has just so."""

    old: list[File]
    new: list[File]


def _excerpts(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> tuple[Snapshot, Snapshot]:
    sides = _Sides([], [])
    for at, file in _differing(compiler.repository, (old, new), "", 1):
        role = role_of(file.path)
        if file.mode != FILE_MODE or role not in _SETTLED | _RULES:
            raise _Whole
        if role in _RULES:
            sides[at].append(file)
    before, after = (compiler.excerpt(project, files) for files in sides)
    if _names_files(before) or _names_files(after):
        raise _Whole
    return before, after


def _names_files(snapshot: Snapshot) -> bool:
    files = (file for of_kind in snapshot.rule_files.values() for file in of_kind)
    return any("file" in extra for file in files for extra in file.part.extras.values())


def _differing(
    repository: Repository, trees: tuple[TreeId | None, TreeId | None], prefix: str, depth: int
) -> Iterator[tuple[int, File]]:
    """The files that differ, each with the side (0: old, 1: new) that it is of."""
    if depth > DEEPEST:
        raise _Whole
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


def _entries(repository: Repository, tree: TreeId | None) -> dict[tuple[str, bool], Entry]:
    """The entries of a folder by name and by whether they are folders."""
    return {(entry.name, entry.is_folder): entry for entry in repository.entries(tree)} if tree else {}
