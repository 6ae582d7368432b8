"""The bytes of a folder in Git: one entry is found or replaced, and two folders are compared, without decoding the rest.

The root folder of a namespace has an entry for each project. An operation that concerns one project reads these bytes,
but builds no object for the others.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

FOLDER = b"40000"
PLAIN_FILE = b"100644"
# mode, space, name, NUL, 20 bytes of the id: https://git-scm.com/docs/gitformat-pack#_object_types and `tree.c` of Git.
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
# Not possessive (`*+`): before Python 3.11.5 that goes wrong where the group itself can backtrack.
# https://github.com/python/cpython/issues/106052
_ENTRIES = re.compile(rb"(?:[0-7]+ [^\0]+\0.{20})*", re.DOTALL)


class RawEntry(NamedTuple):
    """One entry, with its place in the bytes."""

    start: int
    end: int
    mode: bytes
    name: bytes
    id: bytes


class Unreadable(ValueError):
    """The bytes are not those of a folder."""


def find_entries(data: bytes, name: bytes, *, ignores_case: bool = False) -> Iterator[RawEntry]:
    """Yield the entries that have a name; with `ignores_case`, in any case of its ASCII letters."""
    text = data.lower() if ignores_case else data
    wanted = b" %b\0" % (name.lower() if ignores_case else name)
    start, at = 0, text.find(wanted)
    while at >= 0:
        start = _skip_entries(data, start, at)
        found = _ENTRY.match(data, start)
        if found and found.start(2) == at + 1:  # else these bytes are a part of an id
            yield _raw_entry(found)
        at = text.find(wanted, at + 1)


def replace_entry(data: bytes, mode: bytes, name: bytes, new: bytes | None) -> bytes | None:
    """Return the bytes with another id in the entry of this mode and name, or (None) without it.

    None unless there is exactly one entry of the name, and it has the mode.
    """
    found = list(find_entries(data, name))
    if len(found) != 1 or found[0].mode != mode:
        return None
    entry = found[0]
    replaced = b"" if new is None else b"%b %b\0%b" % (mode, name, new)
    return data[: entry.start] + replaced + data[entry.end :]


def compare(old: bytes, new: bytes) -> tuple[list[RawEntry], list[RawEntry]]:
    """Return the entries that are only in the old bytes, and those only in the new; entries around the changes may be in both.

    It costs a comparison of bytes, and a step for each entry between the first change and the last one. Raises Unreadable.
    """
    begin = _skip_entries(new, 0, _common_prefix(old, new))
    left = min(_common_suffix(old, new), len(old) - begin, len(new) - begin)
    olds, news = list[RawEntry](), list[RawEntry]()
    at_old = at_new = begin
    while (rest := len(old) - at_old) != len(new) - at_new or rest > left:
        if rest >= len(new) - at_new:
            at_old = _take(old, at_old, olds)
        if rest <= len(new) - at_new:
            at_new = _take(new, at_new, news)
    return olds, news


def _take(data: bytes, at: int, into: list[RawEntry]) -> int:
    found = _ENTRY.match(data, at)
    if found is None:
        raise Unreadable
    into.append(_raw_entry(found))
    return found.end()


def _raw_entry(found: re.Match[bytes]) -> RawEntry:
    return RawEntry(found.start(), found.end(), *found.groups())


def _skip_entries(data: bytes, start: int, end: int) -> int:
    """Return the end of the last whole entry before `end`, from the beginning of an entry."""
    found = _ENTRIES.match(data, start, end)
    return found.end() if found else start


def _common_prefix(one: bytes, other: bytes) -> int:
    """Return the length of the common beginning: by halves, so that the bytes are compared in few calls."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
