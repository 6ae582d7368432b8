"""The commits that each publish added to release, in order: where a draft left release is found there, without a walk.

The record is in the bare repository's own folder, has entries of fixed size, each with a checksum of all before it, and is
read from its end. It is a cache: if it is missing, damaged, or does not go back far enough, Git's history is walked instead,
until the record is completed in the background.
"""

import os
import struct
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from content.cache import LruCache
from gitstore.git.ancestry import commits_between
from gitstore.git.atomic_io import replace_file
from gitstore.git.lock import hold
from gitstore.git.repository import CommitInfo, Repository, open_repository
from gitstore.history.messages import SELECTED_FROM, load_message
from gitstore.layout import CommitId

REACHED_FILE = "waypost-reached"
_FIELDS = struct.Struct("<20sIB")
_CRC = struct.Struct("<I")
_SIZE = _FIELDS.size + _CRC.size
_KIND_AT = _FIELDS.size - 1
_HEX = 40
# The entries that are read, and the commits of a draft that are followed, until the place is found.
_STEPS = ((2_048, 16), (65_536, 1_024), (1 << 24, 1 << 16))
_MAX_UNRECORDED = 300  # commits of release that are added at once; behind more, the record is begun again
_MAX_PUSHED = 50  # commits without a merge, pushed by plain Git, that a reader follows to a recorded one
_PARENTS = 2
_CACHED_BASES = 2_000
# The number of the first publish in the record: of a record from the first commit on, and of a record that was begun again.
_FIRST, _BEGUN_AGAIN = 0, 1


class _Kind(IntEnum):
    """The kind of an entry: a commit that was merged, the publish itself, or the two commits of a selection."""

    MERGED = 0
    PUBLISH = 1
    SELECTED_HEAD = 2
    SELECTED_BASE = 3


class Selection(NamedTuple):
    """A publish of some changes: the draft's head that they were selected from, and its base with them."""

    head: CommitId
    base: CommitId


class _Entry(NamedTuple):
    commit: CommitId
    publish: int
    kind: _Kind


@dataclass(frozen=True, slots=True)
class _Tail:
    """The last entries of the record, as bytes; `pushed` are later commits of release, which are not recorded yet.

    `start` is the first entry that counts: of the publish before it, some entries may be cut off.
    """

    data: bytes
    start: int = 0
    pushed: Sequence[CommitId] = ()

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.data) // _SIZE

    def at(self, place: int) -> _Entry:
        """Return an entry."""
        commit, publish, kind = _FIELDS.unpack_from(self.data, place * _SIZE)
        return _Entry(CommitId(commit.hex()), publish, _Kind(kind))

    def find(self, commit: CommitId, kinds: Collection[_Kind] = (_Kind.MERGED, _Kind.PUBLISH)) -> _Entry | None:
        """Return the first entry of a commit on release, or None."""
        if commit in self.pushed:
            return _Entry(commit, self.at(self.count - 1).publish + 1 + self.pushed.index(commit), _Kind.PUBLISH)
        wanted = bytes.fromhex(commit)
        at = self.data.find(wanted, self.start * _SIZE)
        while at >= 0:
            place, inside = divmod(at, _SIZE)
            if not inside and (found := self.at(place)).kind in kinds:
                return found
            at = self.data.find(wanted, at + 1)
        return None

    def places(self, kind: _Kind) -> list[int]:
        """Return the places of the entries of a kind."""
        kinds, found = self.data[_KIND_AT::_SIZE], list[int]()
        place = kinds.find(kind, self.start)
        while place >= 0:
            found.append(place)
            place = kinds.find(kind, place + 1)
        return found

    def up_to(self, publish: int) -> "_Tail":
        """Return the tail without the entries of later publishes."""
        end = self.count
        while end and self.at(end - 1).publish > publish:
            end -= 1
        return _Tail(self.data[: end * _SIZE], self.start)


_bases: LruCache[tuple[Path, CommitId, CommitId], CommitId] = LruCache(_CACHED_BASES)


def find_base(repository: Repository, release: CommitId, head: CommitId) -> CommitId | None:
    """Return the best common ancestor of release and a draft, or None for unrelated histories.

    After an edit, only its commit is read: what begins from an earlier head that is not on release has the base of it.
    """
    key = repository.path, release, head
    found = _bases.find(key) or _find_earlier(repository, release, head) or _find_base(repository, release, head)
    return _bases.put(key, found) if found else None


def _find_earlier(repository: Repository, release: CommitId, head: CommitId) -> CommitId | None:
    """Return the base of an earlier head of a draft, where that is known and no merge is in between."""
    commit = head
    for _ in range(_STEPS[0][1]):
        parents = repository.commit(commit).parents
        if len(parents) != 1:
            return None
        commit = parents[0]
        base = _bases.find((repository.path, release, commit))
        if base:
            return base if base != commit else None
    return None


def _find_base(repository: Repository, release: CommitId, head: CommitId) -> CommitId | None:
    for tail, most in _tails(repository, release):
        followed = _follow(repository, [head], tail, most)
        best = _best(followed.reached, tail) if followed else None
        if best:
            return best
    return repository.merge_base(release, head)


def find_selections(repository: Repository, base: CommitId, release: CommitId) -> list[Selection] | None:
    """Return the publishes of some changes after a publish, newest first; None if the record does not tell."""
    for tail, _ in _tails(repository, release):
        first = tail.find(base, (_Kind.PUBLISH,))
        if first:
            heads = [tail.at(place) for place in tail.places(_Kind.SELECTED_HEAD)]
            bases = [tail.at(place) for place in tail.places(_Kind.SELECTED_BASE)]
            pairs = zip(heads, bases, strict=True)
            return [Selection(head.commit, each.commit) for head, each in pairs if head.publish > first.publish][::-1]
    return None


def list_reached(path: Path) -> frozenset[CommitId]:
    """Return the commits on release that a repository's record has; none if it is missing or damaged."""
    tail, _ = _read(path / REACHED_FILE, sys.maxsize)
    places = map(tail.at, range(tail.count))
    return frozenset(each.commit for each in places if each.kind in {_Kind.MERGED, _Kind.PUBLISH})


def note_release(repository: Repository, commit: CommitId) -> None:
    """Record the commits that release has reached; under the repository's lock, after release has moved to `commit`."""
    path = repository.path / REACHED_FILE
    known = _read_end(path)
    new, last = list[CommitInfo](), None
    for info in repository.first_parents(commit):
        last = known.find(info.id, (_Kind.PUBLISH,))
        if last or len(new) >= _MAX_UNRECORDED:
            break
        new.append(info)
    before = known.up_to(last.publish) if last else _Tail(b"")
    after, first = before, _BEGUN_AGAIN if new and new[-1].parents else _FIRST
    for info in reversed(new):
        publish = after.at(after.count - 1).publish + 1 if after.count else first
        after = _append(after, _entries(info, publish, _merged_by(repository, info, after)))
    _write(path, after.data[len(before.data) :], dropped=known.count - before.count if last else None)


def is_record_complete(path: Path) -> bool:
    """Tell whether a repository's record goes back to the first commit; a few system calls."""
    try:
        with (path / REACHED_FILE).open("rb", buffering=0) as file:
            first = file.read(_FIELDS.size)
    except FileNotFoundError:
        return False
    return len(first) == _FIELDS.size and _FIELDS.unpack(first)[1] == _FIRST


def complete_record(path: Path) -> None:
    """Write a repository's record from the first commit on; the lock is held only to put it in place."""
    with open_repository(path) as repository:
        data = _read_history(repository, repository.release())
    with hold(path), open_repository(path) as repository:
        replace_file(path / REACHED_FILE, data, sync=False)
        note_release(repository, repository.release())  # with the publishes since


def _read_history(repository: Repository, release: CommitId) -> bytes:
    """Return the record of all commits on release."""
    commits = [info.id for info in repository.first_parents(release)]
    entries, reached = list[_Entry](), set[CommitId]()
    for publish, commit in enumerate(reversed(commits), _FIRST):
        info = repository.commit(commit)
        merged = _unreached(repository, info.parents[1:], reached)
        reached |= {*merged, commit}
        entries += _entries(info, publish, merged)
    return _append(_Tail(b""), entries).data


def _unreached(repository: Repository, heads: Sequence[CommitId], reached: Collection[CommitId]) -> set[CommitId]:
    """Return the ancestors of commits, themselves included, up to commits that were reached before."""
    found, ahead = set[CommitId](), list(heads)
    while ahead:
        commit = ahead.pop()
        if commit not in reached and commit not in found:
            found.add(commit)
            ahead += repository.commit(commit).parents
    return found


def _entries(info: CommitInfo, publish: int, merged: Collection[CommitId]) -> list[_Entry]:
    found = [_Entry(each, publish, _Kind.MERGED) for each in sorted(merged)]
    found.append(_Entry(info.id, publish, _Kind.PUBLISH))
    head = load_message(info.message).trailers.get(SELECTED_FROM, "").partition(" ")[0]
    if len(head) == _HEX and len(info.parents) == _PARENTS:
        found.append(_Entry(CommitId(head), publish, _Kind.SELECTED_HEAD))
        found.append(_Entry(info.parents[1], publish, _Kind.SELECTED_BASE))
    return found


def _merged_by(repository: Repository, info: CommitInfo, known: _Tail) -> set[CommitId]:
    """Return the commits that a publish reaches and the one before it does not, itself apart."""
    if len(info.parents) < _PARENTS:
        return set()
    if known.find(info.parents[0], (_Kind.PUBLISH,)):
        for tail, most in ((known, _STEPS[0][1]), *_tails(repository, info.parents[0])):
            followed = _follow(repository, info.parents[1:], tail, most)
            if followed:
                return followed.own
    return {each.id for each in commits_between(repository, info.parents[0], info.id)} - {info.id}


class _Followed(NamedTuple):
    """The commits of a draft that are not on release, and the commits of release that they begin from."""

    own: set[CommitId]
    reached: set[CommitId]


def _follow(repository: Repository, heads: Sequence[CommitId], tail: _Tail, most: int) -> _Followed | None:
    """Follow all parents to commits in the tail; None if there are more than `most` before, or a first commit of all.

    A commit that is followed is not on release: it begins from a recorded one, so what reached it would be recorded too.
    """
    own, reached, ahead = set[CommitId](), set[CommitId](), list(heads)
    while ahead:
        commit = ahead.pop()
        if commit in own or commit in reached:
            continue
        if tail.find(commit):
            reached.add(commit)
        else:
            parents = repository.commit(commit).parents
            if not parents or len(own) >= most:
                return None
            own.add(commit)
            ahead += parents
    return _Followed(own, reached)


def _best(reached: set[CommitId], tail: _Tail) -> CommitId | None:
    """Return the commit that all others are ancestors of; None if that is not sure."""
    found = [entry for entry in map(tail.find, reached) if entry]
    newest = max(found, key=lambda entry: (entry.publish, entry.kind))
    return newest.commit if len(found) == 1 or newest.kind is _Kind.PUBLISH else None


def _tails(repository: Repository, release: CommitId) -> Iterator[tuple[_Tail, int]]:
    """Yield longer and longer ends of the record up to release, each with the number of commits to follow.

    Where the record is short, nothing longer comes: a draft is followed as far as in the longest end.
    """
    for entries, most in _STEPS:
        found, is_whole = _read(repository.path / REACHED_FILE, entries)
        tail = _up_to(repository, found, release)
        if tail:
            yield tail, _STEPS[-1][1] if is_whole else most
        if is_whole:
            return


def _up_to(repository: Repository, tail: _Tail, release: CommitId) -> _Tail | None:
    """Return the tail up to release: of a push by plain Git, with its commits, if none of them is a merge."""
    pushed, commit = list[CommitId](), release
    while (last := tail.find(commit, (_Kind.PUBLISH,))) is None:
        parents = repository.commit(commit).parents
        if len(parents) != 1 or len(pushed) >= _MAX_PUSHED or not tail.count:
            return None
        pushed.append(commit)
        commit = parents[0]
    return replace(tail.up_to(last.publish), pushed=pushed[::-1])


def _read(path: Path, count: int) -> tuple[_Tail, bool]:
    """Read the last entries of the record, and tell whether these are all; none if one of them is damaged."""
    try:
        with path.open("rb") as file:
            whole = file.seek(0, os.SEEK_END) // _SIZE
            file.seek(max(whole - count, 0) * _SIZE)
            data = file.read(min(whole, count) * _SIZE)
    except OSError:
        return _Tail(b""), True
    if not _is_intact(data, is_whole=whole <= count):
        return _Tail(b""), True
    tail, start = _Tail(data), 0
    while whole > count and start < tail.count and tail.at(start).publish == tail.at(0).publish:
        start += 1
    return replace(tail, start=start), whole <= count


def _read_end(path: Path) -> _Tail:
    """Read the fewest last entries of the record that have all of the newest publish."""
    for count, _ in _STEPS:
        found, is_whole = _read(path, count)
        if is_whole or found.start < found.count:
            break
    return found


def _is_intact(data: bytes, *, is_whole: bool) -> bool:
    """Tell whether the checksum of the last entry is right: it is of all bytes before it, from the first entry on."""
    if len(data) < _SIZE:
        return not data
    begin = 0 if is_whole else _FIELDS.size
    seed = 0 if is_whole else _CRC.unpack_from(data, begin)[0]
    end = len(data) - _CRC.size
    return bool(crc32(data[begin:end], seed) == _CRC.unpack_from(data, end)[0])


def _append(tail: _Tail, entries: Sequence[_Entry]) -> _Tail:
    data = bytearray(tail.data)
    for entry in entries:
        fields = _FIELDS.pack(bytes.fromhex(entry.commit), entry.publish, entry.kind)
        last = bytes(data[-_CRC.size :])
        seed = _CRC.unpack(last)[0] if last else 0
        data += fields + _CRC.pack(crc32(last + fields, seed))
    return replace(tail, data=bytes(data))


def _write(path: Path, data: bytes, *, dropped: int | None) -> None:
    """Write entries in place of the last ones, as many as are dropped; None: in place of all."""
    with path.open("r+b" if path.exists() else "w+b") as file:
        whole = file.seek(0, os.SEEK_END) // _SIZE
        file.seek(0 if dropped is None else (whole - dropped) * _SIZE)
        file.truncate()
        file.write(data)
