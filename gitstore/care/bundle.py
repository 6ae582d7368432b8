"""Git bundles: written from all packs and files of a repository, and unpacked into a new one.

The entries of packs are copied as they are, each checked against its index, so that a backup costs about as much as a copy
of the files. `git clone` and `git bundle verify` read the result. See https://git-scm.com/docs/gitformat-bundle
"""

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from hashlib import sha1
from pathlib import Path
from struct import Struct

from gitstore.care.streams import CheckedReader, CountedWriter
from gitstore.errors import Broken
from gitstore.git.atomic_io import sync_directory
from gitstore.git.packs.pack_entry import dump_delta_header, dump_whole
from gitstore.git.packs.pack_index import IndexEntry, write_index
from gitstore.git.packs.stored_objects import LOOSE, Marks, StoredObjects
from gitstore.git.packs.stored_pack import PackEntries, StoredPack, scan_pack
from gitstore.layout import RELEASE_REF

_TITLE = b"# v2 git bundle\n"
_HEADER = Struct(">4sII")
_MOST_HEAD_BYTES = 256 << 20
_CHUNK = 1 << 20


def write_bundle(file: CountedWriter, refs: Mapping[str, str], objects: StoredObjects, marks: Marks) -> None:
    """Write a bundle of refs with all marked objects. Raises DamagedObject."""
    file.write(_TITLE)
    if RELEASE_REF in refs:  # `git clone` checks out the branch that HEAD names
        file.write(f"{refs[RELEASE_REF]} HEAD\n".encode())
    for ref, object_id in sorted(refs.items()):
        file.write(f"{object_id} {ref}\n".encode(errors="surrogateescape"))
    file.write(b"\n")
    pack = _PackCopy(file)
    pack.write(_HEADER.pack(b"PACK", 2, marks.count()))
    for number, stored in enumerate(objects.packs):
        pack.copy(stored, number, marks)
    for loose in marks.loose():
        pack.write(dump_whole(*objects.read(loose, LOOSE)))
    pack.finish()


class _PackCopy:
    """The pack of a bundle while it is written."""

    def __init__(self, file: CountedWriter) -> None:
        self._file = file
        self._digest = sha1(usedforsecurity=False)
        self._offset = 0

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)
        self._offset += len(data)

    def finish(self) -> None:
        self._file.write(self._digest.digest())

    def copy(self, stored: StoredPack, number: int, marks: Marks) -> None:
        """Copy the marked entries of a pack; a delta stays one where its base was copied before it."""
        before, after = array("Q"), array("Q")
        for place, offset, end in stored.in_order():
            if not marks.packed(number, place):
                continue
            before.append(offset)
            after.append(self._offset)
            entry = stored.entries.entry(offset)
            raw = stored.checked_raw(place, offset, end)
            if entry.base is None:
                self.write(raw)
                continue
            base = stored.entries.base_offset(entry, stored.index.locate)
            at = bisect_left(before, base, 0, len(before) - 1) if base is not None else len(before) - 1
            if at < len(before) - 1 and before[at] == base:
                self.write(dump_delta_header(self._offset - after[at], entry.size) + raw[entry.start - offset :])
            else:
                self.write(dump_whole(*stored.read(place)))


def read_head(file: CheckedReader) -> dict[str, str]:
    """Read the refs of a bundle. Raises Broken for a file that is no complete bundle."""
    refs, size = dict[str, str](), 0
    if file.readline(len(_TITLE)) != _TITLE:
        raise Broken("The bundle is damaged: its first line is not that of a Git bundle.")
    while (line := file.readline(65_536)) != b"\n":
        size += len(line)
        object_id, _, ref = line.rstrip(b"\n").partition(b" ")
        if not line.endswith(b"\n") or len(object_id) != 40 or size > _MOST_HEAD_BYTES:  # noqa: PLR2004 - hex digits of an id
            raise Broken("The bundle is damaged: its list of refs cannot be read, or it needs objects of another one.")
        if ref != b"HEAD":
            refs[ref.decode(errors="surrogateescape")] = object_id.decode()
    return refs


def unpack_bundle(file: CheckedReader, repository: Path) -> dict[str, str]:
    """Write the objects of a bundle into a new repository as one pack, and return its refs; every object is checked.

    Raises Broken for a damaged bundle.
    """
    refs = read_head(file)
    folder = repository / "objects" / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / "tmp_pack_restored"
    with temporary.open("xb") as target:
        for chunk in _chunks(file):
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    index_new_pack(temporary)
    return refs


def index_new_pack(path: Path) -> Path:
    """Write the index of a pack that no other file names yet, and give both their names; return the pack's new path."""
    entries = PackEntries(path)
    try:
        entries.check()
        found = scan_pack(entries)
        checksum = entries.checksum
    finally:
        entries.close()
    target = path.with_name(f"pack-{checksum.hex()}.pack")
    store_index(target.with_suffix(".idx"), found, checksum)
    path.chmod(0o444)
    path.rename(target)
    sync_directory(target.parent)
    return target


def store_index(path: Path, entries: list[IndexEntry], checksum: bytes) -> None:
    """Write the index of a pack, durably."""
    temporary = path.with_name(f"tmp_idx_{checksum.hex()}")
    temporary.unlink(missing_ok=True)  # of a killed process
    write_index(temporary, entries, checksum)
    temporary.chmod(0o444)
    temporary.rename(path)


def _chunks(file: CheckedReader) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
