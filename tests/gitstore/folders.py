"""Projects in memory: files by path, read as the store reads them, without a repository."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1

from content.matching.matcher import Matcher
from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.releases.canonical_list import Splice
from gitstore.compiled.releases.release import Listing, Release
from gitstore.compiled.releases.release_dump import PreviousRelease, list_release_parts
from gitstore.compiled.releases.release_file import ReleaseFile
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, Snapshot, take_snapshot
from gitstore.git.modes import FILE_MODE
from gitstore.layout import BlobId, TreeId
from gitstore.yamlfiles.dump import new_file

SETTINGS = {"project.yaml": b"project: {}\n"}


class Folder:
    """Files of a project, with a project.yaml unless `settings` replaces it, as the store reads them."""

    def __init__(self, files: Mapping[str, bytes], settings: Mapping[str, bytes] = SETTINGS) -> None:
        self.files = {**settings, **files}
        self._blobs = {_blob_id(data): data for data in self.files.values()}

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file."""
        return self._blobs[blob_id]

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of these files as the project `shop`."""
        return self.part(self.listed)

    @property
    def listed(self) -> list[File]:
        """The files, as in a tree."""
        return [File(path, FILE_MODE, _blob_id(data)) for path, data in self.files.items()]

    def part(self, files: Sequence[File]) -> Snapshot:
        """Return the snapshot of some of the files."""
        return take_snapshot("shop", TreeId("0" * 40), files, self, SegmentStore(None))

    def changed(self, files: Mapping[str, bytes | None]) -> "Folder":
        """Return the folder with files written or (None) removed."""
        kept = {path: data for path, data in self.files.items() if path not in files}
        return Folder({**kept, **{path: data for path, data in files.items() if data is not None}}, {})


def folder_of(redirects: Iterable[Record], pages: Iterable[Record] = ()) -> Folder:
    """Return a folder with one file of each kind."""
    records = {Kind.REDIRECTS: tuple(redirects), Kind.PAGES: tuple(pages)}
    return Folder({f"{kind}.yaml": new_file(kind, found, "flow") for kind, found in records.items()})


def dump_release(snapshot: Snapshot, before: PreviousRelease | None = None) -> bytes:
    """Return the file of a whole release."""
    return b"".join(list_release_parts(snapshot, before))


def release_of(snapshot: Snapshot) -> Release:
    """Return the compiled release of a snapshot, read back."""
    return Release(snapshot.project, ReleaseFile(memoryview(dump_release(snapshot)), "whole"))


def join_window(listing: Listing, offset: int = 0, limit: int | None = None) -> bytes:
    """Return the items of a window, without the end of the list all of them."""
    parts, _ = listing.window(offset, listing.total if limit is None else limit)
    return b"".join(piece for part in parts for piece in (part.pieces(1 << 20) if isinstance(part, Splice) else [part]))


def matcher_of_release(snapshot: Snapshot) -> Matcher:
    """Return a matcher that uses the compiled tables, as a service does."""
    return release_of(snapshot).matcher


def _blob_id(data: bytes) -> BlobId:
    return BlobId(sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest())
