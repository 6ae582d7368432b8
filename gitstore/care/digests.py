"""Digests of refs and of the ids of objects, so that two repositories are compared object by object without a list."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from heapq import merge
from typing import NamedTuple

from gitstore.git.packs.stored_objects import Marks, StoredObjects


class IdsDigest(NamedTuple):
    """The number of some objects, and the SHA-256 of their ids in order, in hex digits."""

    number: int
    sha256: str


class RefsDigest(NamedTuple):
    """The number of refs, and the SHA-256 of their names and targets in order, in hex digits."""

    number: int
    sha256: str


def digest_refs(refs: Mapping[str, str]) -> RefsDigest:
    """Return the digest of refs with the objects that they name."""
    lines = "".join(f"{target} {ref}\n" for ref, target in sorted(refs.items()))
    return RefsDigest(len(refs), sha256(lines.encode(errors="surrogateescape")).hexdigest())


def digest_marked(objects: StoredObjects, marks: Marks) -> IdsDigest:
    """Return the digest of the marked objects."""
    packed = [_list_marked(objects, marks, number) for number in range(len(objects.packs))]
    return digest_ids(merge(*packed, marks.loose()))


def _list_marked(objects: StoredObjects, marks: Marks, number: int) -> Iterator[bytes]:
    """Yield the ids of the marked objects in one pack, in order."""
    index = objects.packs[number].index
    return (index.id_at(at) for at in range(index.count) if marks.packed(number, at))


def digest_ids(ids: Iterable[bytes]) -> IdsDigest:
    """Return the digest of ids that are in order."""
    count, digest = 0, sha256()
    for object_id in ids:
        count += 1
        digest.update(object_id)
    return IdsDigest(count, digest.hexdigest())
