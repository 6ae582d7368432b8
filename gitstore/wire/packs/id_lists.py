"""Lists of objects in files: all that some roots reach, or that a pack has."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gitstore.git.atomic_io import replace_file

SUFFIX = ".ids"
_ID_BYTES = 20
_TITLE = b"waypost objects 2"


class Contents(NamedTuple):
    """The subject of a list: the kind of request, the roots, and how many objects were added since its first form."""

    form: str
    roots: frozenset[bytes]
    added: int = 0


class Ids(Collection[bytes]):
    """Sorted ids, as bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data) // _ID_BYTES

    def __iter__(self) -> Iterator[bytes]:
        return (self._data[at : at + _ID_BYTES] for at in range(0, len(self._data), _ID_BYTES))

    def __getitem__(self, place: int) -> bytes:
        return self._data[place * _ID_BYTES : (place + 1) * _ID_BYTES]

    def __contains__(self, object_id: object) -> bool:
        at = bisect_left(self, object_id)  # type: ignore[call-overload]  # it has what bisect needs: a length and items in order
        return at < len(self) and self[at] == object_id


class IdList(NamedTuple):
    """A list of objects."""

    contents: Contents
    ids: Collection[bytes]


def write_list(path: Path, contents: Contents, ids: Iterable[bytes]) -> None:
    """Write a list, in place of an earlier one."""
    roots = b"".join(sorted(contents.roots)).hex().encode()
    data = b"\n".join([contents.form.encode(), b"%d" % contents.added, roots, b"".join(sorted(ids))])
    replace_file(path, b"\n".join([_TITLE, _digest(data), data]), sync=False)


def read_list(path: Path) -> IdList:
    """Read a list. Raises OSError, or ValueError for another file."""
    title, digest, data = path.read_bytes().split(b"\n", 2)
    if title != _TITLE or digest != _digest(data):  # a power cut may leave a part
        raise ValueError(f"{path.name} is no list of objects")
    form, added, roots, ids = data.split(b"\n", 3)
    named = Ids(bytes.fromhex(roots.decode()))
    return IdList(Contents(form.decode(), frozenset(named), int(added)), Ids(ids))


def _digest(data: bytes) -> bytes:
    return sha256(data).hexdigest().encode()
