"""The counts of changed records in versions of a long history, computed on request and then stored."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from content.changes.diff import ChangeType, Counts, change_type, count
from gitstore.comparison.tree_changes import read_tree_changes
from gitstore.compiled.compiler import Compiler, hold_compile_lock
from gitstore.compiled.indexes.versions import Version, VersionIndex
from gitstore.errors import Busy, OutOfSpace
from gitstore.git.file_paths import MAX_FOLDER_DEPTH
from gitstore.git.repository import Repository, TreeEntry
from gitstore.layout import TreeId

_FOLDER_CACHE_SIZE = 512  # folders; most of them stay the same from one publish to the next


class FileCounter:
    """A counter of the changed files in one repository, for one operation."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._entries = lru_cache(_FOLDER_CACHE_SIZE)(self._read)

    def between(self, old: TreeId | None, new: TreeId | None) -> Counts:
        """Count the files that were added, changed and removed from one tree to the other; None is an empty one."""
        found = list(self._differing(old, new, 1))
        return Counts(*(found.count(change) for change in (ChangeType.ADDED, ChangeType.CHANGED, ChangeType.REMOVED)))

    def _differing(self, old: TreeId | None, new: TreeId | None, depth: int) -> Iterator[ChangeType]:
        if old == new or depth > MAX_FOLDER_DEPTH:  # so deep only in a push that is never served
            return
        before, after = (self._entries(tree) if tree else {} for tree in (old, new))
        for key in before.keys() | after.keys():
            one, other = before.get(key), after.get(key)
            if one == other:
                continue
            if key[1]:
                folders = [TreeId(entry.id) if entry else None for entry in (one, other)]
                yield from self._differing(folders[0], folders[1], depth + 1)
            else:
                yield change_type(one, other)

    def _read(self, tree: TreeId) -> dict[tuple[str, bool], TreeEntry]:
        """Read the entries of a folder, by name and by whether they are folders."""
        return {(entry.name, entry.is_folder): entry for entry in self._repository.entries(tree)}


def with_counts(compiler: Compiler, project: str, index: VersionIndex, versions: Sequence[Version]) -> list[Version]:
    """Return the versions, each with its counts."""
    newly_counted = {
        version.number: _count(compiler, project, index, version) for version in versions if not version.counts
    }
    if newly_counted:
        with suppress(Busy, OutOfSpace, OSError), hold_compile_lock(compiler.paths):
            index.amend(newly_counted.values())
    return [newly_counted.get(version.number, version) for version in versions]


def _count(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> Version:
    changes = read_tree_changes(compiler, project, index.tree_before(version), version.tree)
    return replace(version, counts={kind: count(of_kind) for kind, of_kind in changes.items()})
