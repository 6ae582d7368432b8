"""The merge of a draft into release by rule: from three trees of a project to the files of the merged one.

A file that only one side changed is taken whole; in a file with merged rules, only their lines change.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from content.changes.decision import Decisions
from content.changes.diff import identity_field
from content.changes.merge import Conflict, Merge, merge
from content.records.problem import Problem
from content.records.record import Placed, Record
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import find_records_in_differing_files
from gitstore.compiled.segments.snapshot import Snapshot, body_path
from gitstore.errors import Invalid
from gitstore.git.file_paths import require_free_paths
from gitstore.layout import BlobId, FileRole, TreeId, role_of
from gitstore.merge.page_bodies import (
    MergedBodies,
    Side,
    find_unreachable_content,
    merge_body,
    merge_value,
    with_project_path,
    with_written_path,
)
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.rewrite import rewrite

_Changed = dict[str, BlobId | bytes | None]


def require_mergeable(snapshot: Snapshot, kind: Kind, paths: Collection[str]) -> None:
    """Raise Invalid where one of these files has an unreadable rule or the other kind, or a rule that another of them has too.

    The merge would count the first as removed, could write no rule to the second, and would drop one of the last two.
    """
    seen: dict[str, str] = {}
    for file in (file for file in snapshot.rule_files[kind] if file.path in paths):
        path = snapshot.full_path(file.path)
        found = file.segment.hiding_problems_for(kind)
        if found:
            placed = [replace(problem, file=path) for problem in found]
            raise Invalid(f"{path} has errors. Fix them, then merge the draft.", placed)
        for record, line in zip(file.segment.records, file.segment.lines, strict=True):
            if record.identity in seen:
                raise _twice(kind, record.identity, seen[record.identity], (path, line))
            seen[record.identity] = f"{path}, line {line}"


def _twice(kind: Kind, identity: str, first: str, place: tuple[str, int]) -> Invalid:
    name = identity_field(kind)
    message = f"{identity[:200]!r} is already in {first}; keep one of the two."
    return Invalid(
        f"Duplicate {name}. Remove one of the two, then merge the draft.",
        [Problem(f"duplicate_{name}", message, *place)],
    )


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """The changes to release's tree of the project, by path (None: remove), and the unresolved conflicts.

    A conflict of a file has the ids of its contents: `file_texts` adds the texts where they are shown.
    """

    files: Mapping[str, BlobId | bytes | None]
    conflicts: Sequence[dict[str, object]]


class MergeTrees(NamedTuple):
    """The three states of a project in a merge; None where the project does not exist."""

    base: TreeId | None
    release: TreeId
    draft: TreeId | None


def merge_trees(compiler: Compiler, project: str, trees: MergeTrees, decisions: Decisions) -> MergedFiles:
    """Merge the changes of release and of the draft since the base, with the decisions on conflicts.

    Raises Invalid where rules would be lost, because a differing file has errors.
    """
    return _TreeMerger(compiler, project, trees, decisions).merge()


class _TreeMerger:
    def __init__(self, compiler: Compiler, project: str, trees: MergeTrees, decisions: Decisions) -> None:
        self._compiler = compiler
        self._project = project
        self._decisions = decisions
        self._blobs = [_blobs(compiler, tree) for tree in trees]
        self._snapshots = [_snapshot(compiler, project, tree) for tree in trees]

    def merge(self) -> MergedFiles:
        files: _Changed = {}
        conflicts: list[dict[str, object]] = []
        for path in sorted(set().union(*self._blobs)):
            if role_of(path) not in {FileRole.REDIRECTS, FileRole.PAGES}:
                conflicts += self._merge_whole(path, files)
        for kind in Kind:
            conflicts += self._merge_rules(kind, files)
        require_free_paths(self._project, self._blobs[1], files)
        return MergedFiles(files, conflicts)

    def _merge_whole(self, path: str, files: _Changed) -> list[dict[str, object]]:
        """Merge a file as one value; the content file of a page is merged again by `_merge_bodies`."""
        base, ours, theirs = (blobs.get(path) for blobs in self._blobs)
        merged, disputed = merge_value(base, ours, theirs)
        if disputed and self._is_decided(path, ours):
            merged, disputed = theirs, False
        if merged != ours:
            files[path] = merged
        is_named = any(snapshot and path in snapshot.bodies for snapshot in self._snapshots)
        return [self._file_conflict(path, (base, ours, theirs))] if disputed and not is_named else []

    def _file_conflict(self, path: str, blobs: Sequence[BlobId | None]) -> dict[str, object]:
        base, release, draft = blobs
        ids = {"base": base, "release": release, "draft": draft}
        return {"kind": "file", "file": f"{self._project}/{path}", "field": "", **ids}

    def _is_decided(self, path: str, release: BlobId | None) -> bool:
        return self._decisions.covers("file", f"{self._project}/{path}", "", release)

    def _merge_rules(self, kind: Kind, files: _Changed) -> list[dict[str, object]]:
        for snapshot in filter(None, self._snapshots[1:]):
            require_mergeable(snapshot, kind, self._changed_paths(kind))
        raw = self._sides(kind)
        sides = [{key: with_project_path(self._project, placed) for key, placed in side.items()} for side in raw]
        base, ours, theirs = sides
        merged = merge(base, ours, theirs, self._decisions)
        conflicts = [*merged.conflicts, *self._find_unreachable(merged, sides)]
        wire_conflicts = [conflict.wire() for conflict in conflicts]
        if kind is Kind.PAGES:
            disputed = {conflict.identity for conflict in conflicts}
            wire_conflicts += self._merge_bodies(MergedBodies(merged.placed, frozenset(disputed)), sides, files)
        wanted: dict[str, list[Record]] = {}
        for placed in merged.placed:
            written = with_written_path(self._project, placed, (raw[1], raw[2]))
            wanted.setdefault(placed.file, []).append(written.record)
        touched = {placed.file for side in (base, ours, theirs) for placed in side.values()} | set(wanted)
        touched |= {f"{self._project}/{path}" for path in self._changed_paths(kind)}
        for full in touched:
            path = full.removeprefix(f"{self._project}/")
            content = self._file(kind, path, wanted.get(full))
            if content != self._blobs[1].get(path):
                files[path] = content
        return wire_conflicts

    def _find_unreachable(self, merged: Merge[Any], sides: Sequence[Side]) -> Iterator[Conflict]:
        """Yield the pages that cannot name their content file from their new place, without a decision on that."""
        disputed = {conflict.identity for conflict in merged.conflicts}
        for placed in merged.placed:
            found = (
                None if placed.record.identity in disputed else find_unreachable_content(self._project, placed, sides)
            )
            if found and not self._decisions.covers("page", found.identity, found.field, found.release):
                yield found

    def _merge_bodies(self, bodies: MergedBodies, sides: Sequence[Side], files: _Changed) -> list[dict[str, object]]:
        """Write the merged pages' texts to their content files, and remove files that no page names any more."""
        before = {placed.record.content_file for side in sides for placed in side.values()} - {""}
        after = {placed.record.content_file for placed in bodies.pages} - {""} | self._bodies_left_alone()
        conflicts = []
        for path in sorted(before | after):
            blobs = [of_side.get(path) for of_side in self._blobs]
            merged, disputed = merge_body(bodies.texts(path), blobs, self._compiler.repository.blob)
            if path not in after:
                merged, disputed = None, False
            elif disputed and self._is_decided(path, blobs[1]):
                merged, disputed = blobs[2], False
            if disputed and not bodies.is_disputed(path):
                conflicts.append(self._file_conflict(path, blobs))
            files.pop(path, None)
            if merged != blobs[1]:
                files[path] = merged
        return conflicts

    def _bodies_left_alone(self) -> set[str]:
        """Return the content files that release's pages name in files which are equal on all sides."""
        release, changed = self._snapshots[1], self._changed_paths(Kind.PAGES)
        files = (file for file in release.rule_files[Kind.PAGES] if file.path not in changed) if release else ()
        return {
            body_path(file.path, extra["file"])
            for file in files
            for extra in file.segment.extras.values()
            if extra.get("file")
        }

    def _sides(self, kind: Kind) -> list[dict[str, Placed[Any]]]:
        """Return the rules of each side in files that are not equal on all three."""
        base, ours, theirs = self._snapshots
        sides = []
        for one, others in ((base, (ours, theirs)), (ours, (base, theirs)), (theirs, (base, ours))):
            found = {
                **find_records_in_differing_files(kind, one, others[0]),
                **find_records_in_differing_files(kind, one, others[1]),
            }
            sides.append(dict(sorted(found.items(), key=lambda item: (item[1].file, item[1].position))))
        return sides

    def _changed_paths(self, kind: Kind) -> set[str]:
        role = FileRole.REDIRECTS if kind is Kind.REDIRECTS else FileRole.PAGES
        paths = {path for blobs in self._blobs for path in blobs if role_of(path) is role}
        return {path for path in paths if len({blobs.get(path) for blobs in self._blobs}) > 1}

    def _file(self, kind: Kind, path: str, wanted: Sequence[Record] | None) -> BlobId | bytes | None:
        """Return the merged file: the changed side's, with all other changes applied to it."""
        base, ours, theirs = (blobs.get(path) for blobs in self._blobs)
        start = theirs if base == ours else ours
        if start is None or (base and theirs is None and not wanted):  # a side that removed the file moved its rules
            return new_file(kind, wanted, "block") if wanted else None
        if list(wanted or ()) == self._records(kind, path, start):
            return start
        data = self._compiler.repository.blob(start)
        return rewrite(data, f"{self._project}/{path}", list(wanted or ()))

    def _records(self, kind: Kind, path: str, blob: BlobId) -> list[Record]:
        """Return the records of a file with the bytes that one of the sides has."""
        for snapshot in filter(None, self._snapshots):
            for file in snapshot.rule_files[kind]:
                if file.path == path and file.blob == blob:
                    return [snapshot.whole(file, record) for record in file.segment.records]
        return []


def _blobs(compiler: Compiler, tree: TreeId | None) -> dict[str, BlobId]:
    return {path: BlobId(entry.id) for path, entry in compiler.repository.files(tree)} if tree else {}


def _snapshot(compiler: Compiler, project: str, tree: TreeId | None) -> Snapshot | None:
    return compiler.snapshot(project, tree) if tree else None
