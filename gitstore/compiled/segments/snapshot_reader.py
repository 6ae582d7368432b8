"""The snapshots of one namespace's trees, for one operation: kept, derived from a near one, or read from Git."""

from collections.abc import Sequence
from contextlib import suppress

from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, Snapshot, take_snapshot
from gitstore.compiled.segments.snapshot_cache import MOST_FILES, SnapshotCache, derive_snapshot
from gitstore.errors import Broken
from gitstore.git.file_paths import printable_path
from gitstore.git.repository import Repository
from gitstore.layout import BlobId, FileRole, TreeId, role_of


class SnapshotReader:
    """A reader of snapshots over a repository that is open; `cache` has those that the process keeps."""

    def __init__(self, repository: Repository, segments: SegmentStore, cache: SnapshotCache | None) -> None:
        self._repository = repository
        self._segments = segments
        self._cache = cache
        self._read: dict[tuple[str, TreeId], Snapshot] = {}

    def snapshot(self, project: str, tree: TreeId) -> Snapshot:
        """Return the snapshot of a project's tree, read once."""
        found = self._read.get((project, tree))
        if found is None:
            found = self._read[project, tree] = self._find(project, tree)
        return found

    def clear(self) -> None:
        """Drop the snapshots that were read."""
        self._read.clear()

    def list_files(self, tree: TreeId) -> list[File]:
        """List the files of a project's tree, in path order."""
        files = self._repository.files(tree)
        return [File(printable_path(path), entry.mode, BlobId(entry.id)) for path, entry in files]

    def snapshot_files(self, project: str, files: Sequence[File]) -> Snapshot:
        """Return a snapshot of some files of a project, as if no others existed."""
        return take_snapshot(project, TreeId(""), files, self._repository, self._segments)

    def _find(self, project: str, tree: TreeId) -> Snapshot:
        """Return a snapshot from the cache, derived from a cached one with few other files, or as read."""
        if self._cache is None:
            return self._take(project, tree)
        path = self._repository.path
        found = self._cache.find(path, project, tree)
        if found is None:
            near = self._cache.find_near(path, project)
            found = (near and self._derive(near, tree)) or self._take(project, tree)
            self._cache.put(path, found)
        return found

    def _take(self, project: str, tree: TreeId) -> Snapshot:
        return take_snapshot(project, tree, self.list_files(tree), self._repository, self._segments)

    def _derive(self, near: Snapshot, tree: TreeId) -> Snapshot | None:
        """Return the snapshot of a tree that differs little from a cached one; None where it must be read.

        The other tree may be missing: pruned since, or of an earlier namespace of the name.
        """
        changed = None
        with suppress(Broken):
            changed = self._repository.changed_files(near.tree, tree, MOST_FILES)
        if changed is None or any(role_of(path) is not FileRole.REDIRECTS for path in changed):
            return None
        blobs = {path: BlobId(entry.id) for path, (_, entry) in changed.items()}
        return derive_snapshot(near, tree, blobs, self._load)

    def _load(self, blob: BlobId) -> Segment:
        found = self._segments.find_cached(blob)
        return self._segments.get(blob, self._repository.blob(blob)) if found is None else found
