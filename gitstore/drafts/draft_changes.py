"""The changes of a draft to the records of one kind, by id, from compiled segments without building a record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from content.cache import LruCache
from content.changes.diff import ChangeType
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import ComparedFiles, add_files_with, files_only_in
from gitstore.compiled.segments.columns import Flags
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.layout import BlobId

# Compared pairs of files: 50 kB each at most, where all 500 rules of a file differ.
_CACHED_PAIRS = 500
_NONE = frozenset[int]()


@dataclass(frozen=True, slots=True)
class DraftChanges:
    """The changes by record id, as a number; and the files of the base with removed records, flagged.

    `paths` has the files of the working state in which changed records are.
    """

    by_id: Mapping[int, ChangeType]
    lost: Sequence[tuple[CompiledFile, Flags]]
    paths: frozenset[str]

    @property
    def removed(self) -> int:
        """The number of removed records."""
        return sum(flags.count(1) for _, flags in self.lost)


NO_CHANGES = DraftChanges({}, (), frozenset())


def draft_changes(kind: Kind, base: Snapshot | None, working: Snapshot) -> DraftChanges:
    """Return the changes from the base to the working state; without a base every record is new."""
    differing = ComparedFiles(files_only_in(kind, base, working) if base else [], files_only_in(kind, working, base))
    before, after = _Side(base, differing.old), _Side(working, differing.new)
    pairs = list(_pairs(before, after))
    gone, new, changed = (frozenset[int]().union(*ids) for ids in zip(*pairs, strict=True)) if pairs else [_NONE] * 3
    if base:
        # A record may be in an unchanged file too: duplicates, which a push by plain git can bring.
        compared = add_files_with(kind, (base, working), differing, gone | new | changed)
        before, after = (_Side(side, files) for side, files in zip((base, working), compared, strict=True))
    unclear = (gone & new) | before.find_repeated(gone | changed | new) | after.find_repeated(gone | changed | new)
    by_id = {
        **dict.fromkeys(gone - unclear, ChangeType.REMOVED),
        **dict.fromkeys(new - unclear, ChangeType.ADDED),
        **dict.fromkeys(changed - unclear, ChangeType.CHANGED),
        **_compare_contents(before.contents(unclear), after.contents(unclear)),
    }
    removed = frozenset(number for number in gone if by_id.get(number) is ChangeType.REMOVED)
    return DraftChanges(by_id, list(before.flagged(removed)), frozenset(after.files))


class _Pair(NamedTuple):
    """The ids of a file's records, by comparison with the base: removed, added, changed."""

    gone: frozenset[int]
    new: frozenset[int]
    changed: frozenset[int]


_compared: LruCache[tuple[BlobId, BlobId], _Pair] = LruCache(_CACHED_PAIRS)


class _Side:
    """The files of one state that are compared with the other state, in their order."""

    def __init__(self, snapshot: Snapshot | None, files: Sequence[CompiledFile]) -> None:
        self._snapshot = snapshot
        self.files = {file.path: file for file in files}

    def find_repeated(self, ids: frozenset[int]) -> frozenset[int]:
        """Return those of the ids that are in more than one file."""
        held = [file.segment.id_set for file in self.files.values()] if ids else []
        if sum(map(len, held)) == len(frozenset[int]().union(*held)):  # nearly always
            return frozenset()
        seen, repeated = set[int](), set[int]()
        for of_file in held:
            here = ids & of_file
            repeated |= here & seen
            seen |= here
        return frozenset(repeated)

    def flagged(self, ids: frozenset[int]) -> Iterator[tuple[CompiledFile, Flags]]:
        """Yield the files that have some of these records, with flags for those; of duplicates, for the last one."""
        found, left = list[tuple[CompiledFile, Flags]](), ids
        for file in reversed(self.files.values()):
            here = left & file.segment.id_set
            if here:
                last = {number: place for place, number in enumerate(file.segment.ids) if number in here}
                flags = bytearray(len(file.segment))
                for place in last.values():
                    flags[place] = 1
                found.append((file._replace(segment=file.segment.whole), bytes(flags)))
                left -= here
        return reversed(found)

    def fingerprints(self, file: CompiledFile) -> dict[int, int]:
        """Return the fingerprint of every record of a file, by id; it covers the content of a file that a page names."""
        extras = file.segment.extras
        named = {place for place, extra in extras.items() if "file" in extra} if _names_bodies(file) else set()
        found = (
            [
                hash((each, self._body(file, place))) if place in named else each
                for place, each in enumerate(file.segment.fingerprints)
            ]
            if named
            else file.segment.fingerprints
        )
        return dict(zip(file.segment.ids, found, strict=True))

    def contents(self, ids: frozenset[int]) -> dict[int, tuple[object, ...]]:
        """Return all editable content of the records with these ids."""
        return {
            number: self._content(file, place)
            for file in self.files.values()
            if not ids.isdisjoint(file.segment.id_set)
            for place, number in enumerate(file.segment.ids)
            if number in ids
        }

    def _content(self, file: CompiledFile, place: int) -> tuple[object, ...]:
        segment = file.segment
        item = segment.items[segment.offsets[place] : segment.offsets[place + 1]]
        extra = segment.extras.get(place)
        return item, extra, self._body(file, place) if extra else ""

    def _body(self, file: CompiledFile, place: int) -> str:
        return (self._snapshot.body_of(file, place) or "") if self._snapshot else ""


def _pairs(before: _Side, after: _Side) -> Iterator[_Pair]:
    """Yield every differing file, compared with the base; pairs of blobs are cached, since an edit changes few files."""
    nothing = frozenset[int]()
    for path, new in after.files.items():
        old = before.files.get(path)
        if old is None:
            yield _Pair(nothing, new.segment.id_set, nothing)
        elif _names_bodies(old) or _names_bodies(new):
            yield _compare(before.fingerprints(old), after.fingerprints(new))
        else:
            yield _compared.get((old.blob, new.blob), partial(_compare_segments, before, old, after, new))
    for path, old in before.files.items():
        if path not in after.files:
            yield _Pair(old.segment.id_set, nothing, nothing)


def _compare_segments(before: _Side, old: CompiledFile, after: _Side, new: CompiledFile) -> _Pair:
    return _compare(before.fingerprints(old), after.fingerprints(new))


def _compare(old: Mapping[int, int], new: Mapping[int, int]) -> _Pair:
    changed = frozenset(number for number, found in new.items() if old.get(number, found) != found)
    return _Pair(frozenset(old.keys() - new.keys()), frozenset(new.keys() - old.keys()), changed)


def _names_bodies(file: CompiledFile) -> bool:
    """Return whether records have content files, so that the blob is not their whole content."""
    return file.segment.kind is Kind.PAGES and any("file" in extra for extra in file.segment.extras.values())


def _compare_contents(old: Mapping[int, object], new: Mapping[int, object]) -> dict[int, ChangeType]:
    """Return the changes of records, by id, from all their content."""
    changed = {number: ChangeType.CHANGED for number, content in new.items() if content != old.get(number, content)}
    added = dict.fromkeys(new.keys() - old.keys(), ChangeType.ADDED)
    return {**changed, **added, **dict.fromkeys(old.keys() - new.keys(), ChangeType.REMOVED)}
