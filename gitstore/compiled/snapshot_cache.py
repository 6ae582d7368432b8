"""The last snapshots of projects in one process, and new ones from them: a state that differs in few files reads only these.

A snapshot is found by the id of its tree, so it is never out of date.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from content.cache import LruCache
from content.records.vocabulary import Kind
from gitstore.compiled.segment import Segment
from gitstore.compiled.snapshot import CompiledFile, Snapshot
from gitstore.layout import BlobId, TreeId

_CACHED_RULES = 150_000  # rules in memory, some 400 bytes each
_RULES_PER_FILE = 10  # that take as much memory as a file whose rules are not in memory
MOST_FILES = 64  # of rules in memory for one snapshot, derived from others: then it is read, with outlines


class SnapshotCache:
    """The last snapshots of the projects of all namespaces; `repository` is the path of the namespace's."""

    def __init__(self) -> None:
        self._snapshots: LruCache[tuple[Path, str, TreeId], Snapshot] = LruCache(_CACHED_RULES, _weigh)
        self._newest: LruCache[tuple[Path, str], TreeId] = LruCache(_CACHED_RULES // _RULES_PER_FILE)

    def find(self, repository: Path, project: str, tree: TreeId) -> Snapshot | None:
        """Return the snapshot of a tree; None for one that is not cached."""
        return self._snapshots.find((repository, project, tree))

    def find_near(self, repository: Path, project: str) -> Snapshot | None:
        """Return the newest snapshot of a project; None for none."""
        tree = self._newest.find((repository, project))
        return self.find(repository, project, tree) if tree else None

    def put(self, repository: Path, snapshot: Snapshot) -> None:
        """Keep a snapshot."""
        self._snapshots.put((repository, snapshot.project, snapshot.tree), snapshot)
        self._newest.put((repository, snapshot.project), snapshot.tree)


def _weigh(snapshot: Snapshot) -> int:
    files = [file.segment for files in snapshot.rule_files.values() for file in files]
    rules = sum(len(segment) for segment in files if segment.id_index is None)
    return rules + sum(map(len, snapshot.bodies.values())) // 400 + _RULES_PER_FILE * len(files) + 1


def derive_snapshot(
    near: Snapshot, tree: TreeId, changed: Mapping[str, BlobId], load: Callable[[BlobId], Segment]
) -> Snapshot | None:
    """Return the snapshot of a tree that differs from a near one in these files of redirects; None where it must be read.

    It must be where a changed file has or had a problem, or where many rules would be in memory.
    """
    files = list(near.rule_files[Kind.REDIRECTS])
    places = {file.path: at for at, file in enumerate(files) if file.path in changed}
    if len(places) != len(changed):
        return None
    for path, at in places.items():
        segment = load(changed[path])
        if files[at].segment.problems or segment.problems or segment.kind is not Kind.REDIRECTS:
            return None
        files[at] = CompiledFile(path, changed[path], segment)
    if sum(1 for file in files if file.segment.id_index is None) > MOST_FILES and len(files) > MOST_FILES:
        return None
    return replace(near, tree=tree, rule_files={**near.rule_files, Kind.REDIRECTS: files})
