"""How many files differ between two trees, whatever is in them: cheap to know of any publish, for no file is read."""

from collections.abc import Iterator
from functools import lru_cache

from content.diff import ChangeType, Counts
from gitstore.file_paths import DEEPEST
from gitstore.layout import TreeId
from gitstore.repository import Entry, Repository

_REMEMBERED = 512
"""Folders that are kept at hand: from one publish to the next most of them stay."""


class FileCounter:
    """Counts files of one repository; held for one operation."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._entries = lru_cache(_REMEMBERED)(self._read)

    def between(self, old: TreeId | None, new: TreeId | None) -> Counts:
        """How many files were added, changed and removed from one tree to the other; None is one without any."""
        found = list(self._differing(old, new, 1))
        return Counts(*(found.count(change) for change in (ChangeType.ADDED, ChangeType.CHANGED, ChangeType.REMOVED)))

    def _differing(self, old: TreeId | None, new: TreeId | None, depth: int) -> Iterator[ChangeType]:
        if old == new or depth > DEEPEST:  # what only a push of what is never served can bring
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
                yield ChangeType.ADDED if one is None else ChangeType.REMOVED if other is None else ChangeType.CHANGED

    def _read(self, tree: TreeId) -> dict[tuple[str, bool], Entry]:
        """The entries of a folder by name, and by whether they are folders."""
        return {(entry.name, entry.is_folder): entry for entry in self._repository.entries(tree)}
