"""The rules for a new object: what `git fsck --strict` demands of commits, folders and tags, checked on their bytes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gitstore.errors import InvalidPush
from gitstore.git.new_pack import BLOB, COMMIT, TAG, TREE, TYPES

NAMES = {number: name.decode() for name, number in TYPES.items()}
SUBMODULE = b"160000"
_KINDS = {b"40000": TREE, b"100644": BLOB, b"100755": BLOB, b"120000": BLOB, SUBMODULE: 0}
_ENTRY = re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{20})", re.DOTALL)
_NULL = bytes(20)
_MODULES, _ATTRIBUTES = ".gitmodules", ".gitattributes"
_MAX_ATTRIBUTES_LINE = 2048

# An identity as `fsck_ident` takes it: https://github.com/git/git/blob/master/fsck.c
_IDENTITY = rb"[^<>\n\0]* <[^<>\n\0]*> (?:0|[1-9][0-9]{0,18}) [+-][0-9]{4}\n"
_OTHER_HEADERS = rb"(?!tree |parent |author |committer |object |tagger )[^\n\0]+\n"
_COMMIT = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author %b" % _IDENTITY
    + rb"committer %b(?:%b)*(?:\n|\Z)" % (_IDENTITY, _OTHER_HEADERS)
)
_TAG = re.compile(
    rb"object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\ntag ([^\n\0]+)\n(?:tagger %b)?(?:%b)*(?:\n|\Z)"
    % (_IDENTITY, _OTHER_HEADERS)
)
_LAST_SECOND = 2**63 - 1
_DATES = re.compile(rb"^(?:author|committer|tagger) [^\n]*> ([0-9]+) ", re.MULTILINE)
_PARENT = re.compile(rb"parent ([0-9a-f]{40})\n")
# Code points that HFS+ ignores in names: https://github.com/git/git/blob/master/utf8.c (`next_hfs_char`)
_IGNORED_BY_HFS = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


class Reference(NamedTuple):
    """An object that another one needs."""

    kind: int
    id: bytes


class Special(NamedTuple):
    """A file that Git itself reads: its name, and the blob."""

    name: str
    id: bytes


class Checked(NamedTuple):
    """The objects that a valid object needs, and the files among them that Git itself reads."""

    references: tuple[Reference, ...] = ()
    special: tuple[Special, ...] = ()


def check_object(kind: int, object_id: bytes, data: bytes) -> Checked:
    """Check a commit, a folder or a tag, and return what it names. Raises InvalidPush."""
    if kind == COMMIT:
        return Checked(tuple(_check_commit(object_id, data)))
    if kind == TAG:
        return Checked((_check_tag(object_id, data),))
    return _check_tree(object_id, data) if kind == TREE else Checked()


def check_special(name: str, data: bytes) -> None:
    """Check the new content of a file that Git itself reads. Raises InvalidPush."""
    if name == _MODULES:
        raise InvalidPush("the file .gitmodules declares submodules, which are not supported; remove it")
    if any(len(line) >= _MAX_ATTRIBUTES_LINE for line in data.split(b"\n")):
        raise InvalidPush(f"the file {name} has a line of more than {_MAX_ATTRIBUTES_LINE:,} bytes; shorten it")


def _invalid(kind: int, object_id: bytes, fault: str) -> InvalidPush:
    return InvalidPush(f"the {NAMES[kind]} {object_id.hex()} is invalid: {fault}")


def _check_commit(object_id: bytes, data: bytes) -> Iterator[Reference]:
    found = _COMMIT.match(data)
    if found is None or b"\0" in data:
        raise _invalid(COMMIT, object_id, "it needs one tree, parents, an author and a committer with valid dates")
    _check_dates(COMMIT, object_id, data[: found.end()])
    yield Reference(TREE, bytes.fromhex(found[1].decode()))
    for parent in _PARENT.findall(found[2]):
        yield Reference(COMMIT, bytes.fromhex(parent.decode()))


def _check_tag(object_id: bytes, data: bytes) -> Reference:
    found = _TAG.match(data)
    if found is None or b"\0" in data:
        raise _invalid(TAG, object_id, "it needs an object, its type, a name and a tagger with a valid date")
    _check_dates(TAG, object_id, data[: found.end()])
    return Reference(TYPES[found[2]], bytes.fromhex(found[1].decode()))


def _check_dates(kind: int, object_id: bytes, header: bytes) -> None:
    if any(int(date) > _LAST_SECOND for date in _DATES.findall(header)):
        raise _invalid(kind, object_id, "a date is out of range")


def _check_tree(object_id: bytes, data: bytes) -> Checked:
    references, special, names = list[Reference](), list[Special](), set[bytes]()
    at, last, count = 0, b"", 0
    while at < len(data):
        entry = _ENTRY.match(data, at)
        if entry is None:
            raise _invalid(TREE, object_id, "an entry cannot be read, or its name has a slash")
        mode, name, target = entry.groups()
        kind, order = _KINDS.get(mode), name + b"/" if mode == b"40000" else name
        if kind is None:
            raise _invalid(TREE, object_id, f"the mode {mode.decode()} of {_show(name)} is not one that Git writes")
        if order <= last:
            raise _invalid(TREE, object_id, f"{_show(name)} is not in Git's order, or is there twice")
        if target == _NULL:
            raise _invalid(TREE, object_id, f"{_show(name)} names no object")
        found = _check_name(object_id, name)
        if found and mode == b"120000":
            raise _invalid(TREE, object_id, f"{_show(name)} is a symbolic link")
        if found and kind == BLOB:
            special.append(Special(found, target))
        if mode != SUBMODULE:
            references.append(Reference(kind, target))
        names.add(name)
        at, last, count = entry.end(), order, count + 1
    if len(names) < count:
        raise _invalid(TREE, object_id, "a file and a folder have the same name")
    return Checked(tuple(references), tuple(special))


def _show(name: bytes) -> str:
    return repr(name[:80].decode(errors="backslashreplace"))


def _check_name(object_id: bytes, name: bytes) -> str:
    """Return the name of Git's own file that an entry is on some file system, empty for any other entry."""
    if not _MAYBE_SPECIAL.search(name):
        return ""
    if name in {b".", b".."}:
        raise _invalid(TREE, object_id, f"the name {_show(name)} is not allowed")
    forms = set(_forms(name))
    if ".git" in forms:
        raise _invalid(TREE, object_id, f"the name {_show(name)} is that of Git's own folder on some file systems")
    return next((own for own in (_MODULES, _ATTRIBUTES) if own in forms), "")


# Names without any of these bytes cannot be Git's own in any form, and need no closer look.
_MAYBE_SPECIAL = re.compile(rb"^\.\.?$|[gG][iI]|[~\\:]|[\x80-\xff]")
# The short names of NTFS: https://github.com/git/git/blob/master/path.c (`is_ntfs_dot_generic`)
_SHORT_NAMES = {
    ".git": re.compile(r"git~[0-9]+"),
    _MODULES: re.compile(r"gitmod~[1-4]|gi7eba~[0-9]|gi7eb~[0-9]{2}"),
    _ATTRIBUTES: re.compile(r"gitatt~[1-4]|gi7d29~[0-9]|gi7d2~[0-9]{2}"),
}


def _forms(name: bytes) -> Iterator[str]:
    """Yield the names that file systems take an entry for: as HFS+ folds it, and as NTFS reads each part of it."""
    text = name.decode(errors="surrogateescape")
    yield text.translate(_IGNORED_BY_HFS).lower()
    for part in text.split("\\"):
        plain = part.split(":")[0].rstrip(". ").lower()
        yield next((own for own, short in _SHORT_NAMES.items() if short.fullmatch(plain)), plain)
