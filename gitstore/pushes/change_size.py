"""The size of a change to a project, in bytes of the new files: it says whether its check takes long, before anything is parsed."""

from collections.abc import Iterator

from gitstore.git.repository import Repository
from gitstore.layout import TreeId
from gitstore.pushes.branch_changes import ProjectChange


def count_changed_bytes(repository: Repository, change: ProjectChange, most: int) -> int:
    """Count the bytes of a project's new files, until there are more than `most`."""
    total = 0
    for blob in _differing_blobs(repository, change.before, change.after) if most >= 0 else ():
        total += len(repository.raw(blob)[1])
        if total > most:
            break
    return total


def _differing_blobs(repository: Repository, old: TreeId | None, new: TreeId | None) -> Iterator[str]:
    """Yield the ids of the new files that differ, folder by folder."""
    if new is None:
        return
    for before, after in repository.differing_entries(old, new).values():
        if after and after.is_folder:
            folder = TreeId(before.id) if before and before.is_folder else None
            yield from _differing_blobs(repository, folder, TreeId(after.id))
        elif after:
            yield after.id
