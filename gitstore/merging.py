"""Merging a draft into release by rule: from three trees of a project to the files of the merged one.

A file that only one side touched is taken whole; where rules of it were merged, only their lines change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from content.decision import Decisions
from content.merge import Conflict, Merge, merge
from content.record import Placed, Record
from content.vocabulary import Kind
from gitstore.changes import differing
from gitstore.compiler import Compiler
from gitstore.dump import new_file
from gitstore.file_paths import must_be_free
from gitstore.layout import BlobId, Role, TreeId, role_of
from gitstore.mergeable import must_be_mergeable
from gitstore.page_bodies import Bodies, Side, as_written, located, merge_body, merge_value, out_of_reach
from gitstore.rewrite import rewrite
from gitstore.snapshot import Snapshot, body_path

Blobs = Mapping[str, BlobId]
_Changed = dict[str, BlobId | bytes | None]


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """What to change in release's tree of the project, by path (None: remove), and what has to be settled first."""

    files: Mapping[str, BlobId | bytes | None]
    conflicts: Sequence[dict[str, object]]


class Trees(NamedTuple):
    """The three states of a project that are merged; None is a project that is not there."""

    base: TreeId | None
    release: TreeId
    draft: TreeId | None


def merge_trees(compiler: Compiler, project: str, trees: Trees, settled: Decisions) -> MergedFiles:
    """Merge what release and the draft made of the base, with what was settled before.

    Raises Invalid where rules would be lost, because a file that differs cannot be read whole.
    """
    return _Merging(compiler, project, trees, settled).merge()


class _Merging:
    def __init__(self, compiler: Compiler, project: str, trees: Trees, settled: Decisions) -> None:
        self._compiler = compiler
        self._project = project
        self._settled = settled
        self._blobs = [_blobs(compiler, tree) for tree in trees]
        self._snapshots = [_snapshot(compiler, project, tree) for tree in trees]

    def merge(self) -> MergedFiles:
        files: _Changed = {}
        conflicts: list[dict[str, object]] = []
        for path in sorted(set().union(*self._blobs)):
            if role_of(path) not in {Role.REDIRECTS, Role.PAGES}:
                conflicts += self._merge_whole(path, files)
        for kind in Kind:
            conflicts += self._merge_rules(kind, files)
        must_be_free(self._project, self._blobs[1], files)
        return MergedFiles(files, conflicts)

    def _merge_whole(self, path: str, files: _Changed) -> list[dict[str, object]]:
        """Merge a file that is one value; for one that a page names, the page has the last word afterwards."""
        base, ours, theirs = (blobs.get(path) for blobs in self._blobs)
        merged, disputed = merge_value(base, ours, theirs)
        if disputed and self._is_settled(path, ours):
            merged, disputed = theirs, False
        if merged != ours:
            files[path] = merged
        is_named = any(snapshot and path in snapshot.bodies for snapshot in self._snapshots)
        return [_file_conflict(self._project, path, (base, ours, theirs))] if disputed and not is_named else []

    def _is_settled(self, path: str, release: BlobId | None) -> bool:
        return self._settled.holds("file", f"{self._project}/{path}", "", release)

    def _merge_rules(self, kind: Kind, files: _Changed) -> list[dict[str, object]]:
        for snapshot in filter(None, self._snapshots[1:]):
            must_be_mergeable(snapshot, kind, self._changed_paths(kind))
        raw = self._sides(kind)
        sides = [{key: located(self._project, placed) for key, placed in side.items()} for side in raw]
        base, ours, theirs = sides
        merged = merge(base, ours, theirs, self._settled)
        conflicts = [*merged.conflicts, *self._out_of_reach(merged, sides)]
        told = [conflict.wire() for conflict in conflicts]
        if kind is Kind.PAGES:
            disputed = {conflict.identity for conflict in conflicts}
            told += self._merge_bodies(Bodies(merged.placed, frozenset(disputed)), sides, files)
        wanted: dict[str, list[Record]] = {}
        for placed in merged.placed:
            written = as_written(self._project, placed, (raw[1], raw[2]))
            wanted.setdefault(placed.file, []).append(written.record)
        touched = {placed.file for side in (base, ours, theirs) for placed in side.values()} | set(wanted)
        touched |= {f"{self._project}/{path}" for path in self._changed_paths(kind)}
        for full in touched:
            path = full.removeprefix(f"{self._project}/")
            content = self._file(kind, path, wanted.get(full))
            if content != self._blobs[1].get(path):
                files[path] = content
        return told

    def _out_of_reach(self, merged: Merge[Any], sides: Sequence[Side]) -> Iterator[Conflict]:
        """The pages that cannot name their content where they come to stand, unless that was settled."""
        disputed = {conflict.identity for conflict in merged.conflicts}
        for placed in merged.placed:
            found = None if placed.record.identity in disputed else out_of_reach(self._project, placed, sides)
            if found and not self._settled.holds("page", found.identity, found.field, found.release):
                yield found

    def _merge_bodies(self, bodies: Bodies, sides: Sequence[Side], files: _Changed) -> list[dict[str, object]]:
        """Make the files that pages name hold what the merged pages say, and let go those that none names any more."""
        before = {placed.record.content_file for side in sides for placed in side.values()} - {""}
        after = {placed.record.content_file for placed in bodies.pages} - {""} | self._bodies_left_alone()
        conflicts = []
        for path in sorted(before | after):
            blobs = [of_side.get(path) for of_side in self._blobs]
            merged, disputed = merge_body(bodies.texts(path), blobs, self._compiler.repository.blob)
            if path not in after:
                merged, disputed = None, False
            elif disputed and self._is_settled(path, blobs[1]):
                merged, disputed = blobs[2], False
            if disputed and not bodies.is_disputed(path):
                conflicts.append(_file_conflict(self._project, path, blobs))
            files.pop(path, None)
            if merged != blobs[1]:
                files[path] = merged
        return conflicts

    def _bodies_left_alone(self) -> set[str]:
        """The files that pages name in files of release which are the same on all sides."""
        release, changed = self._snapshots[1], self._changed_paths(Kind.PAGES)
        files = (file for file in release.rule_files[Kind.PAGES] if file.path not in changed) if release else ()
        return {
            body_path(file.path, extra["file"])
            for file in files
            for extra in file.part.extras.values()
            if extra.get("file")
        }

    def _sides(self, kind: Kind) -> list[dict[str, Placed[Any]]]:
        """The rules of each side in files that are not the same on all three."""
        base, ours, theirs = self._snapshots
        sides = []
        for one, others in ((base, (ours, theirs)), (ours, (base, theirs)), (theirs, (base, ours))):
            found = {**differing(kind, one, others[0]), **differing(kind, one, others[1])}
            sides.append(dict(sorted(found.items(), key=lambda item: (item[1].file, item[1].position))))
        return sides

    def _changed_paths(self, kind: Kind) -> set[str]:
        role = Role.REDIRECTS if kind is Kind.REDIRECTS else Role.PAGES
        paths = {path for blobs in self._blobs for path in blobs if role_of(path) is role}
        return {path for path in paths if len({blobs.get(path) for blobs in self._blobs}) > 1}

    def _file(self, kind: Kind, path: str, wanted: Sequence[Record] | None) -> BlobId | bytes | None:
        """The merged file: the side's that was changed, with whatever else has to change in it."""
        base, ours, theirs = (blobs.get(path) for blobs in self._blobs)
        start = theirs if base == ours else ours
        if start is None or (base and theirs is None and not wanted):  # a side that removed it has moved what it held
            return new_file(kind, wanted, "block") if wanted else None
        if list(wanted or ()) == self._records(kind, path, start):
            return start
        data = self._compiler.repository.blob(start)
        return rewrite(data, f"{self._project}/{path}", list(wanted or ()))

    def _records(self, kind: Kind, path: str, blob: BlobId) -> list[Record]:
        """The records of a file as one of the sides has it."""
        for snapshot in filter(None, self._snapshots):
            for file in snapshot.rule_files[kind]:
                if file.path == path and file.blob == blob:
                    return [snapshot.whole(file, record) for record in file.part.records]
        return []


def _blobs(compiler: Compiler, tree: TreeId | None) -> dict[str, BlobId]:
    return {path: BlobId(entry.id) for path, entry in compiler.repository.files(tree)} if tree else {}


def _snapshot(compiler: Compiler, project: str, tree: TreeId | None) -> Snapshot | None:
    return compiler.snapshot(project, tree) if tree else None


def _file_conflict(project: str, path: str, blobs: Sequence[BlobId | None]) -> dict[str, object]:
    base, release, draft = blobs
    return {"kind": "file", "file": f"{project}/{path}", "field": "", "base": base, "release": release, "draft": draft}
