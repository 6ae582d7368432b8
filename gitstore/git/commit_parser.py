"""A fast parser of commits in the plain form that Git and this product write.

A page of a history reads a thousand commits: 30 microseconds each here, 100 with dulwich, which parses each one twice.
A commit in any other form is left to dulwich.
"""

import re
import zlib
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

_PLAIN = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)"
    rb"author ([^<>\n]*) <([^<>\n]*)> [0-9]{1,10} [+-][0-9]{4}\n"
    rb"committer [^<>\n]* <[^<>\n]*> ([0-9]{1,10}) [+-][0-9]{4}\n"
    rb"(?:encoding UTF-8\n)?(?:gpgsig [^\n]*\n(?: [^\n]*\n)*)?\n"
)
_PARENT = len("parent ")
_LINE = _PARENT + 41
_MAX_BYTES = 1_048_576  # of a commit; a longer one is left to dulwich


class ParsedCommit(NamedTuple):
    """The fields of a commit; `time` is the committer's, in seconds since 1970."""

    tree: str
    parents: tuple[str, ...]
    name: str
    email: str
    time: int
    message: str


def read_loose(repository: Path, object_id: str) -> bytes | None:
    """Read the bytes of an object file as those of a commit, unchecked; None if another reader is needed."""
    name = f"{repository}/objects/{object_id[:2]}/{object_id[2:]}"
    stream = zlib.decompressobj()
    try:
        with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - a thousand per page, and pathlib takes twice as long
            data = stream.decompress(file.read(), _MAX_BYTES)
    except (OSError, zlib.error):
        return None
    return data.partition(b"\0")[2]


def read_checked(repository: Path, object_id: str, kind: str) -> bytes | None:
    """Read an object file of a kind, such as `tree`; None if it is not that object, or another reader is needed."""
    data = read_loose(repository, object_id)
    if data is None:
        return None
    head = b"%b %d\0" % (kind.encode(), len(data))
    return data if sha1(head + data, usedforsecurity=False).hexdigest() == object_id else None


def parse_commit(object_id: str, data: bytes) -> ParsedCommit | None:
    """Parse the bytes of a commit; None if they are not that commit, or not in the plain form."""
    found = _PLAIN.match(data)
    if found is None or sha1(b"commit %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest() != object_id:
        return None
    tree, parents, name, email, time = found.groups()
    each = (parents[at + _PARENT : at + _LINE - 1].decode() for at in range(0, len(parents), _LINE))
    who, mail, message = (part.decode(errors="replace") for part in (name, email, data[found.end() :]))
    return ParsedCommit(tree.decode(), tuple(each), who, mail, int(time), message)
