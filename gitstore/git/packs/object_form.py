"""The form of one object: what `git fsck` would say of it."""

import re
from collections.abc import Callable

from dulwich.errors import ChecksumMismatch, FileFormatException, ObjectFormatException
from dulwich.objects import Commit, Tag

from gitstore.git.packs.new_pack import COMMIT, TAG, TREE
from gitstore.git.raw_tree import FOLDER, RawEntry, Unreadable, compare
from gitstore.layout import is_safe_name

# https://git-scm.com/docs/git-fsck#_fsck_messages; C git writes these modes, and accepts 100664 of old repositories.
_MODES = frozenset({FOLDER, b"100644", b"100755", b"120000", b"160000", b"100664"})
_BAD_FORM = (
    ObjectFormatException,
    FileFormatException,
    ChecksumMismatch,
    ValueError,
    TypeError,
    AssertionError,
    KeyError,
)
_PERSON = re.compile(rb"(?:author|committer|tagger) [^<>\n]* ?<[^<>\n]*> (?:0|[1-9][0-9]*) [+-][0-9]{4}")


def find_fault(kind: int, data: bytes) -> str:
    """Return the fault in the form of an object, in a few words; empty if it is well-formed."""
    check = _CHECKS.get(kind)
    return check(data) if check else ""


def _check_commit(data: bytes) -> str:
    head = data.partition(b"\n\n")[0].split(b"\n")
    if b"\0" in b"\n".join(head):
        return "its header has a NUL"
    for line in head:
        if line.startswith((b"author ", b"committer ")) and not _PERSON.fullmatch(line):
            return f"the line of its {line.partition(b' ')[0].decode()} is malformed"
    return _parse(lambda: Commit.from_string(data).check())


def _check_tag(data: bytes) -> str:
    return _parse(lambda: Tag.from_string(data).check())


def _parse(check: Callable[[], None]) -> str:
    try:
        check()
    except _BAD_FORM as ex:
        return f"it is malformed ({str(ex)[:100]})"
    return ""


def _check_tree(data: bytes) -> str:
    try:
        entries = compare(b"", data)[1]
    except Unreadable:
        return "its entries cannot be read"
    names = set[bytes]()
    last = b""
    for entry in entries:
        key = entry.name + (b"/" if entry.mode == FOLDER else b"")
        if key <= last:
            return "its entries are not in order"
        last = key
        if entry.name in names:
            return "two entries have one name"
        names.add(entry.name)
        fault = _check_entry(entry)
        if fault:
            return fault
    return ""


def _check_entry(entry: RawEntry) -> str:
    if entry.mode not in _MODES:
        return f"an entry has the mode {entry.mode.decode()}"
    name = entry.name.decode(errors="replace")
    if b"/" in entry.name or name in {".", ".."} or not _is_harmless(name):
        return f"an entry has the name {name[:60]!r}"
    return "" if any(entry.id) else "an entry names no object"


def _is_harmless(name: str) -> bool:
    return is_safe_name(name) or name.strip(". ").lower() not in {"git", "git~1"}


_CHECKS: dict[int, Callable[[bytes], str]] = {COMMIT: _check_commit, TREE: _check_tree, TAG: _check_tag}
