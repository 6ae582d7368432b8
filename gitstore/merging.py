"""Merging a draft into release by rule: from three trees of a project to the files of the merged one.

A file that only one side touched is taken whole; where rules of it were merged, only their lines change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from content.decision import Decisions, digest
from content.merge import Conflict, merge
from content.problem import errors
from content.record import Placed, Record
from content.vocabulary import Kind
from gitstore.changes import differing
from gitstore.compiler import Compiler
from gitstore.dump import new_file
from gitstore.errors import Invalid
from gitstore.layout import BlobId, Role, TreeId, role_of
from gitstore.merged_bodies import merge_bodies
from gitstore.rewrite import rewrite
from gitstore.snapshot import Snapshot

Blobs = Mapping[str, BlobId]


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
        files: dict[str, BlobId | bytes | None] = {}
        conflicts: list[dict[str, object]] = []
        for path in sorted(set().union(*self._blobs)):
            if role_of(path) not in {Role.REDIRECTS, Role.PAGES}:
                conflicts += self._merge_whole(path, files)
        for kind in Kind:
            conflicts += [conflict.wire() for conflict in self._merge_rules(kind, files)]
        return MergedFiles(files, conflicts)

    def _merge_whole(self, path: str, files: dict[str, BlobId | bytes | None]) -> list[dict[str, object]]:
        """Merge a file that is one value. The content of a page is also a field of its page, and conflicts there."""
        base, ours, theirs = (blobs.get(path) for blobs in self._blobs)
        if theirs in (ours, base):
            return []
        if base == ours or self._is_settled(path, ours):
            files[path] = theirs
            return []
        return [] if role_of(path) is Role.CONTENT else [_file_conflict(self._project, path, (base, ours, theirs))]

    def _is_settled(self, path: str, release: BlobId | None) -> bool:
        return digest(release) in self._settled.of("file", f"{self._project}/{path}").get("", ())

    def _merge_rules(self, kind: Kind, files: dict[str, BlobId | bytes | None]) -> Sequence[Conflict]:
        self._must_be_readable(kind)
        base, ours, theirs = self._sides(kind)
        merged = merge(base, ours, theirs, self._settled)
        wanted: dict[str, list[Record]] = {}
        for placed in merged.placed:
            wanted.setdefault(placed.file, []).append(placed.record)
        touched = {placed.file for side in (base, ours, theirs) for placed in side.values()} | set(wanted)
        touched |= {f"{self._project}/{path}" for path in self._changed_paths(kind)}
        for full in touched:
            path = full.removeprefix(f"{self._project}/")
            content = self._file(kind, path, wanted.get(full))
            if content != self._blobs[1].get(path):
                files[path] = content
        if kind is Kind.PAGES:
            merge_bodies(files, merged.placed, self._snapshots, self._project)
        return merged.conflicts

    def _must_be_readable(self, kind: Kind) -> None:
        """Refuse to merge a file with errors: a rule that cannot be read would count as removed."""
        changed = self._changed_paths(kind)
        for snapshot in filter(None, self._snapshots[1:]):
            for file in snapshot.rule_files[kind]:
                found = errors(list(file.part.problems)) if file.path in changed else []
                if found:
                    path = snapshot.full_path(file.path)
                    placed = [replace(problem, file=path) for problem in found]
                    raise Invalid(f"{path} has to be mended before the draft can be merged.", placed)

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
