"""The changes of a draft to the records of one kind, from compiled segments without building a record.

Each file is compared with that of the base, and after an edit only the files that it moved. That says all where the ids
of what changed are in one place: a record that moved to another file, and duplicates, which a push by plain Git can
bring, are compared by content.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import NamedTuple

from content.cache import LruCache
from content.changes.diff import ChangeType, Counts
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import ComparedFiles, add_files_with, differing_files, files_only_in
from gitstore.compiled.segments.columns import Flags
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.layout import BlobId

_CACHED_BYTES = 5_000_000  # of compared pairs of files: 1 kB each, of 500 rules
_BYTES_PER_PAIR = 100  # beside those
_FEW_FILES = 32  # that moved since an earlier state, which is followed then
_FEW_IDS = 16  # that are looked up one by one faster than in all files
_CODES: Mapping[str, int] = {ChangeType.ADDED: 1, ChangeType.CHANGED: 2}
_TYPES = (None, ChangeType.ADDED, ChangeType.CHANGED)  # by code
_SAME, _ADDED, _CHANGED = 0, *_CODES.values()
_NO_CODE = -1  # that no record has
_NO_FILE = BlobId("")


@dataclass(frozen=True, slots=True)
class DraftChanges:
    """The changes: in the files of the working state by `codes`, and the files of the base with removed records, flagged.

    `codes` has a byte for each record of a file, by path; a file without a change may be missing. They are plain if the id
    of each changed record is in one place of each state, so that no content had to be compared. `base` and `working` are
    the states, where a later one can follow them.
    """

    codes: Mapping[str, bytes]
    lost: Mapping[str, tuple[CompiledFile, Flags]]
    counts: Counts
    is_plain: bool = True
    base: Snapshot | None = None
    working: Snapshot | None = None

    @property
    def removed(self) -> int:
        """The number of removed records."""
        return sum(flags.count(1) for _, flags in self.lost.values())

    def type_at(self, path: str, place: int) -> ChangeType | None:
        """Return the change of a record of the working state, by its file and its place there."""
        codes = self.codes.get(path)
        return _TYPES[codes[place]] if codes else None

    def flags(self, file: CompiledFile, change: str) -> Flags:
        """Select the records of a file with a change of this type; with an empty one, those without a change."""
        return self._codes_of(file).translate(_SELECTS[_CODES.get(change, _NO_CODE) if change else _SAME])

    def changed_flags(self, file: CompiledFile) -> Flags:
        """Select the records of a file with any change."""
        return self._codes_of(file).translate(_SELECTS_CHANGED)

    def _codes_of(self, file: CompiledFile) -> bytes:
        return self.codes.get(file.path) or bytes(len(file.segment))


def _selecting(codes: Iterable[int]) -> bytes:
    wanted = set(codes)
    return bytes(code in wanted for code in range(256))


_SELECTS = {code: _selecting([code]) for code in (_SAME, _ADDED, _CHANGED, _NO_CODE)}
_SELECTS_CHANGED = _selecting([_ADDED, _CHANGED])
NO_CHANGES = DraftChanges({}, {}, Counts(0, 0, 0))


def draft_changes(
    kind: Kind, base: Snapshot | None, working: Snapshot, last: DraftChanges | None = None
) -> DraftChanges:
    """Return the changes from the base to the working state; without a base every record is new.

    `last` are those of an earlier working state, if there are any: what moved little since then is compared at once.
    """
    followed = _follow(kind, base, working, last) if last and last.working else None
    return followed or _compare_states(kind, base, working)


class _Pair(NamedTuple):
    """A file compared with that of the base: a code for each record, the removed ones flagged, and if each id is once in both."""

    codes: bytes
    removed: Flags
    is_unique: bool


_compared: LruCache[tuple[BlobId, BlobId], _Pair] = LruCache(
    _CACHED_BYTES, lambda pair: _BYTES_PER_PAIR + len(pair.codes) + len(pair.removed)
)


class _Touched:
    """The ids of the changed records of some files."""

    def __init__(self) -> None:
        self.gone, self.added, self.changed = set[int](), set[int](), set[int]()

    def add(
        self, old: CompiledFile | None, new: CompiledFile | None, pair: _Pair, known: Collection[int] = frozenset()
    ) -> None:
        """Add those of a file, without those of them that are known; the same id in another file stays."""
        ids = new.segment.ids if new else ()
        for found, code in ((self.added, _ADDED), (self.changed, _CHANGED)):
            found.update(each for each in compress(ids, pair.codes.translate(_SELECTS[code])) if each not in known)
        self.gone.update(each for each in compress(old.segment.ids if old else (), pair.removed) if each not in known)

    def __len__(self) -> int:
        return len(self.gone) + len(self.added) + len(self.changed)

    def are_in_one_place(self, kind: Kind, base: Snapshot | None, working: Snapshot) -> bool:
        """Tell whether each id is once in the state that has it, and nowhere in the other one."""
        every = self.gone | self.added | self.changed
        before, after = len(self.gone) + len(self.changed), len(self.added) + len(self.changed)
        return not every or (
            len(every) == len(self)
            and _count_files(kind, working, every) == after
            and (base is None or _count_files(kind, base, every) == before)
        )


def _count_files(kind: Kind, snapshot: Snapshot, ids: set[int]) -> int:
    """Count the files of each id, in all."""
    files = snapshot.files_with(kind, ids) if len(ids) <= _FEW_IDS else snapshot.rule_files[kind]
    return sum(len(ids.intersection(file.segment.ids)) for file in files)


class _Side:
    """The files of one state that are compared with the other state, in their order."""

    def __init__(self, snapshot: Snapshot | None, files: Sequence[CompiledFile]) -> None:
        self._snapshot = snapshot
        self.files = {file.path: file for file in files}

    def find_repeated(self, ids: frozenset[int]) -> frozenset[int]:
        """Return those of the ids that are in more than one file."""
        seen, repeated = set[int](), set[int]()
        for file in self.files.values():
            here = ids.intersection(file.segment.ids)
            repeated |= here & seen
            seen |= here
        return frozenset(repeated)

    def flagged(self, ids: frozenset[int]) -> Iterator[tuple[str, tuple[CompiledFile, Flags]]]:
        """Yield the files that have some of these records, with flags for those; of duplicates, for the last one."""
        found, left = list[tuple[str, tuple[CompiledFile, Flags]]](), ids
        for file in reversed(self.files.values()):
            here = left.intersection(file.segment.ids)
            if here:
                last = {number: place for place, number in enumerate(file.segment.ids) if number in here}
                flags = bytearray(len(file.segment))
                for place in last.values():
                    flags[place] = 1
                found.append((file.path, (file, bytes(flags))))
                left -= here
        return reversed(found)

    def fingerprints(self, file: CompiledFile) -> Sequence[int]:
        """Return the fingerprint of every record of a file; it covers the content of a file that a page names."""
        if not _names_bodies(file):
            return file.segment.fingerprints
        named = {place for place, extra in file.segment.extras.items() if "file" in extra}
        return [
            hash((each, self._body(file, place))) if place in named else each
            for place, each in enumerate(file.segment.fingerprints)
        ]

    def contents(self, ids: frozenset[int]) -> dict[int, tuple[object, ...]]:
        """Return all editable content of the records with these ids."""
        return {
            number: self._content(file, place)
            for file in self.files.values()
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


def _compare_states(kind: Kind, base: Snapshot | None, working: Snapshot) -> DraftChanges:
    differing = ComparedFiles(files_only_in(kind, base, working) if base else [], files_only_in(kind, working, base))
    before, after = _Side(base, differing.old), _Side(working, differing.new)
    pairs, touched = dict[str, _Pair](), _Touched()
    for path in sorted(before.files.keys() | after.files.keys()):
        pairs[path] = _pair(before, after, path)
        touched.add(before.files.get(path), after.files.get(path), pairs[path])
    is_unique = all(pair.is_unique for pair in pairs.values())
    if not is_unique or not touched.are_in_one_place(kind, base, working):
        return _compare_contents_of(kind, (base, working), differing, touched)
    codes = {path: pairs[path].codes for path in after.files}
    lost = {path: (file, pairs[path].removed) for path, file in before.files.items() if any(pairs[path].removed)}
    return _plain(kind, codes, lost, base, working)


def _follow(kind: Kind, base: Snapshot | None, working: Snapshot, last: DraftChanges) -> DraftChanges | None:
    """Compare what moved since an earlier working state; None if many files or the base moved, or an id is in several places."""
    if not (base and last.base and last.working) or _moved(kind, base, last.base):
        return None
    old_files, new_files = (
        _by_path(_differing(kind, *pair)) for pair in ((last.working, working), (working, last.working))
    )
    paths = old_files.keys() | new_files.keys()
    if len(paths) > _FEW_FILES:
        return None
    in_base = {file.path: file for file in base.rule_files[kind] if file.path in paths}
    before, after = _Side(base, list(in_base.values())), _Side(working, list(new_files.values()))
    codes, lost, entered = dict(last.codes), dict(last.lost), _Touched()
    for path in paths:
        earlier = _Pair(codes.pop(path, b""), lost.pop(path, (None, b""))[1], is_unique=True)
        known = _Touched()
        known.add(in_base.get(path), old_files.get(path), earlier)
        old, new = in_base.get(path), new_files.get(path)
        if old and new and old.blob == new.blob:
            continue
        pair = _pair(before, after, path)
        if not pair.is_unique:
            return None
        entered.add(old, new, pair, known.gone | known.added | known.changed)
        if new:
            codes[path] = pair.codes
        if old and any(pair.removed):
            lost[path] = old, pair.removed
    if len(entered) > _FEW_IDS or not entered.are_in_one_place(kind, base, working):
        return None
    return _plain(kind, codes, dict(sorted(lost.items())), base, working)


def _moved(kind: Kind, one: Snapshot, other: Snapshot) -> bool:
    return one is not other and bool(_differing(kind, one, other) or _differing(kind, other, one))


def _differing(kind: Kind, one: Snapshot, other: Snapshot) -> list[CompiledFile]:
    return differing_files(one.rule_files[kind], other.rule_files[kind])


def _by_path(files: Iterable[CompiledFile]) -> dict[str, CompiledFile]:
    return {file.path: file for file in files}


def _plain(
    kind: Kind,
    codes: Mapping[str, bytes],
    lost: Mapping[str, tuple[CompiledFile, Flags]],
    base: Snapshot | None,
    working: Snapshot,
) -> DraftChanges:
    added, changed = (sum(each.count(code) for each in codes.values()) for code in (_ADDED, _CHANGED))
    counts = Counts(added, changed, sum(flags.count(1) for _, flags in lost.values()))
    if kind is Kind.PAGES:  # files that they name may move
        return DraftChanges(codes, lost, counts)
    return DraftChanges(codes, lost, counts, base=base, working=working)


def _compare_contents_of(
    kind: Kind, states: tuple[Snapshot | None, Snapshot], differing: ComparedFiles, touched: _Touched
) -> DraftChanges:
    """Compare where ids are in several places, in unchanged files too."""
    base, working = states
    gone, new, changed = (frozenset(ids) for ids in (touched.gone, touched.added, touched.changed))
    every = gone | new | changed
    if base:
        differing = add_files_with(kind, (base, working), differing, every)
    before, after = (_Side(side, files) for side, files in zip(states, differing, strict=True))
    unclear = (gone & new) | before.find_repeated(every) | after.find_repeated(every)
    by_id = {
        **dict.fromkeys(gone - unclear, ChangeType.REMOVED),
        **dict.fromkeys(new - unclear, ChangeType.ADDED),
        **dict.fromkeys(changed - unclear, ChangeType.CHANGED),
        **_compare_contents(before.contents(unclear), after.contents(unclear)),
    }
    types = Counter(by_id.values())
    codes = {
        path: bytes(_CODES.get(found, _SAME) if (found := by_id.get(number)) else _SAME for number in file.segment.ids)
        for path, file in after.files.items()
    }
    lost = dict(before.flagged(frozenset(number for number in gone if by_id.get(number) is ChangeType.REMOVED)))
    return DraftChanges(codes, lost, Counts(*(types[each] for each in ChangeType)), is_plain=False)


def _pair(before: _Side, after: _Side, path: str) -> _Pair:
    """Compare a file with that of the base; pairs of blobs are cached."""
    old, new = before.files.get(path), after.files.get(path)
    compare = partial(_compare, before, old, after, new)
    if any(file and _names_bodies(file) for file in (old, new)):
        return compare()
    return _compared.get((old.blob if old else _NO_FILE, new.blob if new else _NO_FILE), compare)


def _compare(before: _Side, old: CompiledFile | None, after: _Side, new: CompiledFile | None) -> _Pair:
    old_ids, new_ids = (file.segment.ids if file else () for file in (old, new))
    if not (old and new):
        codes, removed = bytes([_ADDED]) * len(new_ids), bytes([1]) * len(old_ids)
        return _Pair(codes, removed, len(set(new_ids)) + len(set(old_ids)) == len(new_ids) + len(old_ids))
    known = dict(zip(old_ids, before.fingerprints(old), strict=True))
    found = dict(zip(new_ids, after.fingerprints(new), strict=True))
    codes = bytes(
        _ADDED if number not in known else _SAME if known[number] == found[number] else _CHANGED for number in new_ids
    )
    removed = bytes(number not in found for number in old_ids)
    return _Pair(codes, removed, len(known) + len(found) == len(old_ids) + len(new_ids))


def _names_bodies(file: CompiledFile) -> bool:
    """Return whether records have content files, so that the blob is not their whole content."""
    return file.segment.kind is Kind.PAGES and any("file" in extra for extra in file.segment.extras.values())


def _compare_contents(old: Mapping[int, object], new: Mapping[int, object]) -> dict[int, ChangeType]:
    """Return the changes of records, by id, from all their content."""
    changed = {number: ChangeType.CHANGED for number, content in new.items() if content != old.get(number, content)}
    added = dict.fromkeys(new.keys() - old.keys(), ChangeType.ADDED)
    return {**changed, **added, **dict.fromkeys(old.keys() - new.keys(), ChangeType.REMOVED)}
