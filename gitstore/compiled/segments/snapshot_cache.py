"""The last snapshots of projects in one process, and new ones from them: a state that differs in few files reads only these.

A snapshot is found by the id of its tree, so it is never out of date.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from content.cache import LruCache
from content.records.vocabulary import Kind
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.layout import BlobId, TreeId

CACHED_RULES = 150_000  # rules in memory
BYTES_PER_RULE = 400
_RULES_PER_FILE = 10  # that take as much memory as a file whose rules are not in memory
MOST_FILES = 64  # of rules in memory for one snapshot, derived from others: then it is read, with outlines


class _Kept(NamedTuple):
    snapshot: Snapshot
    weight: int


class SnapshotCache:
    """The last snapshots of the projects of all namespaces; `repository` is the path of the namespace's."""

    def __init__(self) -> None:
        self._snapshots: LruCache[tuple[Path, str, TreeId], _Kept] = LruCache(CACHED_RULES, lambda kept: kept.weight)
        self._newest: LruCache[tuple[Path, str], TreeId] = LruCache(CACHED_RULES // _RULES_PER_FILE)

    def find(self, repository: Path, project: str, tree: TreeId) -> Snapshot | None:
        """Return the snapshot of a tree; None if it is not cached."""
        found = self._snapshots.find((repository, project, tree))
        return found.snapshot if found else None

    def find_near(self, repository: Path, project: str) -> Snapshot | None:
        """Return the newest snapshot of a project; None for none."""
        tree = self._newest.find((repository, project))
        return self.find(repository, project, tree) if tree else None

    def put(self, repository: Path, snapshot: Snapshot) -> None:
        """Keep a snapshot."""
        self._snapshots.put((repository, snapshot.project, snapshot.tree), _Kept(snapshot, weigh(snapshot)))
        self._newest.put((repository, snapshot.project), snapshot.tree)


def weigh(snapshot: Snapshot) -> int:
    """Return the memory that a snapshot takes, as a number of rules in memory."""
    weight = 1 + sum(map(len, snapshot.bodies.values())) // BYTES_PER_RULE
    for kind, files in snapshot.rule_files.items():
        in_memory = snapshot.finder(kind).unindexed
        weight += _RULES_PER_FILE * len(files) + sum(len(files[at].segment) for at in in_memory)
    return weight


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
    new = {at: CompiledFile(path, changed[path], load(changed[path])) for path, at in places.items()}
    if any(_has_faults(segment) for at, each in new.items() for segment in (files[at].segment, each.segment)):
        return None
    finder = near.finder(Kind.REDIRECTS).replaced({at: (each.blob, each.segment) for at, each in new.items()})
    if len(finder.unindexed) > MOST_FILES and len(files) > MOST_FILES:
        return None
    pairs = [(files[at].segment, each.segment) for at, each in new.items()]
    for at, each in new.items():
        files[at] = each
    found = replace(near, tree=tree, rule_files={**near.rule_files, Kind.REDIRECTS: files})
    finders = {Kind.REDIRECTS: finder, Kind.PAGES: near.finder(Kind.PAGES)}
    vars(found).update(_finders=finders, **_derive_sums(near, pairs))
    return found


def _derive_sums(near: Snapshot, pairs: Sequence[tuple[Segment, Segment]]) -> dict[str, object]:
    """Return those of the cached properties that follow from the ones of the near snapshot."""
    grown = sum(len(new) - len(old) for old, new in pairs)
    found: dict[str, object] = {"counts": {**near.counts, Kind.REDIRECTS: near.counts[Kind.REDIRECTS] + grown}}
    if all(old.hosts == new.hosts for old, new in pairs):
        found["hosts"] = near.hosts
    if all(old.has_canonical == new.has_canonical for old, new in pairs):
        found["canonical_kinds"] = near.canonical_kinds
    if not any(old.costs or new.costs for old, new in pairs):
        found |= {"pattern_files": near.pattern_files, "pattern_cost": near.pattern_cost}
    return found


def _has_faults(segment: Segment) -> bool:
    """Tell whether a file has problems in the snapshot: of its rules, or as a whole."""
    return bool(segment.problems) or segment.kind is not Kind.REDIRECTS
