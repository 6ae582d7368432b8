"""The assembly of a release from the one before: only records that changed since its base are written.

A file that is the same keeps its pieces. In a changed one, records that are the same keep theirs, in whatever order the
others are. What is written has all changes since the base, so that a release needs two files, however many publishes there
were; once that is much, a whole release is written, which is the next base.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate, groupby
from operator import sub
from typing import Any, NamedTuple, TypeVar

import orjson

from content.records.vocabulary import Kind
from gitstore.compiled.releases.layer import Layer
from gitstore.compiled.releases.release import Identity, Release
from gitstore.compiled.releases.release_file import BASE, PIECES, ListedFile, ReleaseFile, release_names
from gitstore.compiled.segments.canonical_items import CODES, canonical_items, load_canonical
from gitstore.compiled.segments.encoded_file import EncodedFile, encode_file
from gitstore.compiled.segments.key_table import POSITION_BITS, dump_table
from gitstore.compiled.segments.sections import dump_sections, raw_numbers
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.yamlfiles.rule_window import count_equal_ends

# A release of fewer bytes is always written as a whole: that costs less than a second file.
SMALL = 65_536
MOST_CHANGES = 8  # a whole release is written if the changes are more than one part in so many
_FOLDED_CHANGES = 256  # in the background, a new base is written for changes of more than one part in so many
_MOST_PIECES = 20_000
_MASK = (1 << POSITION_BITS) - 1

Piece = tuple[int, int, int]
T = TypeVar("T")


class PreviousState(NamedTuple):
    """A state of the same project, and its release."""

    snapshot: Snapshot
    release: Release


class _Source(NamedTuple):
    """Records that can be written: a file of rules, or the changes of the release before; all tables by position."""

    items: memoryview
    offsets: Sequence[int]
    lines: Sequence[int]
    ids: Sequence[int]
    fingerprints: Sequence[int]
    hashes: Mapping[int, int]
    canonical: Mapping[int, bytes]
    patterns: Mapping[int, tuple[str, str]]


class _Rows(NamedTuple):
    """Records to be written: a range of a source, and how far their lines moved."""

    source: _Source
    start: int
    end: int
    shift: int = 0


class _OldFile(NamedTuple):
    """A file in the release before: as it is listed, its first position, and its segment (None for a new file)."""

    listed: ListedFile
    start: int
    file: CompiledFile | None


class _Unsuitable(Exception):
    """The release has to be written as a whole."""


def dump_changes(
    snapshot: Snapshot, before: PreviousState, small: int = SMALL, most: int = MOST_CHANGES
) -> bytes | None:
    """Return the file of a release as changes since the base of the one before; None where a whole one is better.

    That is so for a base of less than `small` bytes, and for changes of more than one byte for `most` of the base.
    """
    base = before.release.base
    if base.size < small or not base.name or base.name in release_names(snapshot.tree):
        return None
    try:
        lists = {kind: _ListBuilder(kind, snapshot, before).build() for kind in Kind}
    except _Unsuitable:
        return None
    meta: dict[str, Any] = {"settings": asdict(snapshot.settings), "hosts": _compare_hosts(base, snapshot)}
    sections: dict[str, Sequence[Any]] = {}
    for kind, built in lists.items():
        meta[kind.value] = built.meta
        sections |= built.sections
    sections["patterns"] = [orjson.dumps(lists[Kind.REDIRECTS].patterns)]
    head = {BASE: [orjson.dumps([base.name, base.checksum])], "meta": [orjson.dumps(meta)]}
    data = dump_sections({**head, **sections})
    return data if len(data) * most < max(base.size, small) else None


def needs_base(release: Release) -> bool:
    """Tell whether a release has so many changes that a new base is worth its cost."""
    own, base = release.own, release.base
    return own is not base and own.size > max(SMALL, base.size // _FOLDED_CHANGES)


def _compare_hosts(base: ReleaseFile, snapshot: Snapshot) -> list[list[str]]:
    """Return the hosts that are gone since the base, and the new ones."""
    hosts = frozenset(base.meta["hosts"])
    return [sorted(hosts - snapshot.hosts), sorted(snapshot.hosts - hosts)]


class _Built(NamedTuple):
    """One list as it is stored."""

    meta: dict[str, Any]
    sections: dict[str, Sequence[Any]]
    patterns: Sequence[tuple[int, str, str]]


class _ListBuilder:
    """The builder of one list: its pieces, and the records that are written with them."""

    def __init__(self, kind: Kind, snapshot: Snapshot, before: PreviousState) -> None:
        self._kind, self._snapshot, self._before = kind, snapshot, before
        self._old = before.release.listings[kind]
        self._base = before.release.base.layers[kind]
        self._earlier = _read_source(kind, before.release)
        self._pieces: list[Piece] = []
        self._rows: list[_Rows] = []
        self._written = 0
        self._new, self._gone = Counter[int](), Counter[int]()  # the hashes of records

    def build(self) -> _Built:
        """Return the list; raises _Unsuitable."""
        listed = self._add_files()
        self._refuse_hidden()
        if len(self._pieces) > _MOST_PIECES:
            raise _Unsuitable
        return self._dump(list(_shorten(listed, self._before.release.base.listed[self._kind])))

    def _add_files(self) -> list[ListedFile]:
        """Add all files; where none is new or gone, the files between two changed ones at once."""
        listed, files = self._old.listed, self._snapshot.rule_files[self._kind]
        before = self._before.snapshot.rule_files[self._kind]
        paths = [file.path for file in listed]
        if [file.path for file in before] != paths:
            raise _Unsuitable
        if [file.path for file in files] != paths:
            return [self._add_file(file, old) for file, old in self._match_files()]
        found, starts = list(listed), list(accumulate((file.records for file in listed), initial=0))
        looks_inside = self._kind is Kind.PAGES
        rows = enumerate(zip(files, before, listed, strict=True))
        begin = 0
        for at in [at for at, (file, old, each) in rows if file is not old or looks_inside or not each.sha256]:
            if not self._is_same(files[at], before[at], listed[at]):
                self._keep(begin, starts[at])
                found[at] = self._add_file(files[at], _OldFile(listed[at], starts[at], before[at]))
                begin = starts[at + 1]
        self._keep(begin, starts[-1])
        return found

    @staticmethod
    def _is_same(file: CompiledFile, old: CompiledFile, listed: ListedFile) -> bool:
        """Tell whether a file and its records are those of the release before; a page may name another file."""
        if (file is not old and file.blob != old.blob) or not listed.sha256:
            return False
        is_list = file.segment.kind is Kind.REDIRECTS
        return is_list or not any("file" in extra for extra in file.segment.extras.values())

    def _match_files(self) -> Iterator[tuple[CompiledFile, _OldFile]]:
        """Yield each file with what the release before has of it, and note the keys of files that are gone."""
        listed = self._old.listed
        starts = accumulate((file.records for file in listed), initial=0)
        files = self._before.snapshot.rule_files[self._kind]
        old = {each.path: _OldFile(each, start, file) for each, start, file in zip(listed, starts, files, strict=False)}
        for file in self._snapshot.rule_files[self._kind]:
            yield file, old.pop(file.path, _OldFile(ListedFile("", 0, None), 0, None))
        for gone in old.values():
            self._gone.update(_hashes(gone.file).values())

    def _add_file(self, file: CompiledFile, old: _OldFile) -> ListedFile:
        """Add the pieces and new records of a file."""
        if old.file and self._is_same(file, old.file, old.listed):
            self._keep(old.start, old.start + old.listed.records)
            return old.listed
        encoded = encode_file(self._snapshot, file)
        self._compare(_source_of(encoded, file), old)
        return ListedFile(file.path, len(file.segment), encoded.sha256)

    def _compare(self, source: _Source, old: _OldFile) -> None:
        """Add the records of a changed file; those that the old one has in the same order keep their pieces."""
        end = old.start + old.listed.records
        known = self._old.identities(old.start, end)
        records = list(zip(source.ids, source.fingerprints, strict=True))
        gone = _hashes(old.file)
        at = before = 0
        for place, other, count in [*match_records(known, records), (len(records), len(known), 0)]:
            self._add_new(source, at, place)
            self._gone.update(gone[each] for each in range(before, other) if each in gone)
            self._keep(old.start + other, old.start + other + count, source.lines[place : place + count])
            at, before = place + count, other + count

    def _add_new(self, source: _Source, start: int, end: int) -> None:
        if start < end:
            self._add_rows(_Rows(source, start, end))
            self._new.update(source.hashes[at] for at in range(start, end) if at in source.hashes)

    def _keep(self, start: int, end: int, lines: Sequence[int] | None = None) -> None:
        """Add the pieces of records of the release before, with new lines (None: as before)."""
        at = 0
        for layer, first, last, shift in self._old.pieces.shifted_ranges(start, end):
            if lines is None:
                self._keep_range(layer, first, last, shift)
            else:
                self._keep_lines(layer, first, last, lines[at : at + last - first])
            at += last - first

    def _keep_lines(self, layer: Layer, first: int, last: int, lines: Sequence[int]) -> None:
        """Add a range of a layer, with a new line for each record."""
        shifts = map(sub, lines, layer.lines[first:last])
        for shift, group in groupby(shifts):
            stop = first + len(list(group))
            self._keep_range(layer, first, stop, shift)
            first = stop

    def _keep_range(self, layer: Layer, first: int, last: int, shift: int) -> None:
        if layer is self._base:
            self._add_piece(first, last - first, shift)
        else:
            self._add_rows(_Rows(self._earlier, first, last, shift))

    def _add_rows(self, rows: _Rows) -> None:
        self._rows.append(rows)
        self._add_piece(self._base.total + self._written, rows.end - rows.start, 0)
        self._written += rows.end - rows.start

    def _add_piece(self, first: int, count: int, shift: int) -> None:
        """Add a piece, or make the last one longer; the base and the changes never share one."""
        if self._pieces and first != self._base.total:
            start, size, moved = self._pieces[-1]
            if (start + size, moved) == (first, shift):
                self._pieces[-1] = (start, size + count, shift)
                return
        self._pieces.append((first, count, shift))

    def _refuse_hidden(self) -> None:
        """Refuse changes of rules whose key others share: which of them answers in canonical form depends on the list."""
        old, new = (self._kind in each.canonical_kinds for each in (self._before.snapshot, self._snapshot))
        if old != new or (new and any(map(self._is_shared, self._new.keys() | self._gone.keys()))):
            raise _Unsuitable

    def _is_shared(self, hash_: int) -> bool:
        pieces = self._old.pieces
        old = sum(1 for each in self._old.ordinals(hash_) if pieces.position(each) is not None)
        return old > 1 or old - self._gone[hash_] + self._new[hash_] > 1

    def _dump(self, listed: Sequence[Sequence[Any]]) -> _Built:
        rows, kind = self._rows, self._kind
        items = [row.source.items[row.source.offsets[row.start] : row.source.offsets[row.end]] for row in rows]
        sizes = (
            row.source.offsets[at + 1] - row.source.offsets[at] for row in rows for at in range(row.start, row.end)
        )
        offsets = list(accumulate(sizes, initial=0))
        canonical = canonical_items(dict(_join(rows, lambda source: source.canonical)), offsets)
        keys = [hash_ << POSITION_BITS | at for at, hash_ in _join(rows, lambda source: source.hashes)]
        meta = {
            "total": self._written,
            "files": [["", self._written, offsets[-1]]],
            "canonical": [[0, len(canonical.positions), len(canonical.items)]] if canonical.positions else [],
            "listed": listed,
        }
        tables: dict[str, Sequence[Any]] = {
            "items": items,
            "offsets": [raw_numbers("Q", offsets[:-1])],
            "keys": [dump_table(keys)],
            "lines": [
                raw_numbers("I", [line + row.shift for row in rows for line in row.source.lines[row.start : row.end]])
            ],
            "ids": [raw_numbers("Q", row.source.ids[row.start : row.end]) for row in rows],
            "prints": [raw_numbers("Q", row.source.fingerprints[row.start : row.end]) for row in rows],
            PIECES: [raw_numbers("i", [number for piece in self._pieces for number in piece])],
            **{f"canonical.{name}": [raw_numbers(code, getattr(canonical, name))] for name, code in CODES.items()},
            "canonical.items": [canonical.items],
        }
        patterns = [(at, *row) for at, row in _join(rows, lambda source: source.patterns)]
        return _Built(meta, {f"{kind}.{name}": chunks for name, chunks in tables.items()}, patterns)


def _read_source(kind: Kind, release: Release) -> _Source:
    """Return the changes of a release since its base as a source; empty for a whole one."""
    if release.own is release.base:
        return _Source(memoryview(b""), [0], (), (), (), {}, {}, {})
    layer, sections = release.own.layers[kind], release.own.sections
    return _Source(
        layer.items,
        [*layer.offsets, len(layer.items)],
        layer.lines,
        layer.ids,
        layer.fingerprints,
        {key & _MASK: key >> POSITION_BITS for key in layer.keys},
        load_canonical(sections, f"{kind}.").by_position(),
        _patterns_of(release.own.patterns if kind is Kind.REDIRECTS else ()),
    )


def _source_of(encoded: EncodedFile, file: CompiledFile) -> _Source:
    return _Source(
        memoryview(encoded.items.data),
        encoded.offsets,
        file.segment.lines,
        file.segment.ids,
        encoded.fingerprints,
        _hashes(file),
        encoded.canonical.by_position(),
        _patterns_of(file.segment.patterns),
    )


def _patterns_of(rows: Iterable[tuple[int, str, str]]) -> dict[int, tuple[str, str]]:
    return {at: (type_, source) for at, type_, source in rows}


def _hashes(file: CompiledFile | None) -> dict[int, int]:
    """Return the hashes of a file's exact records, by position."""
    return {key & _MASK: key >> POSITION_BITS for key in file.segment.keys} if file else {}


def _join(rows: Sequence[_Rows], table_of: Callable[[_Source], Mapping[int, T]]) -> Iterator[tuple[int, T]]:
    """Yield the entries of all written records, by their new place."""
    base = 0
    for row in rows:
        table = table_of(row.source)
        yield from ((base + at - row.start, table[at]) for at in range(row.start, row.end) if at in table)
        base += row.end - row.start


def match_records(old: Sequence[Identity], new: Sequence[Identity]) -> list[tuple[int, int, int]]:
    """Return the runs of records that are in both, as places in the new and the old list, and counts; both places grow."""
    places = {identity: at for at, identity in enumerate(old)}
    found: list[tuple[int, int, int]] = []
    start, below = count_equal_ends(old, new)
    if start:
        found.append((0, 0, start))
    following = start
    for at in range(start, len(new) - below):
        place = places.get(new[at], -1)
        if following <= place < len(old) - below:
            _extend(found, at, place)
            following = place + 1
    if below:
        found.append((len(new) - below, len(old) - below, below))
    return found


def _extend(found: list[tuple[int, int, int]], at: int, place: int) -> None:
    if found:
        new, old, count = found[-1]
        if (new + count, old + count) == (at, place):
            found[-1] = (new, old, count + 1)
            return
    found.append((at, place, 1))


def _shorten(listed: Sequence[ListedFile], base: Sequence[ListedFile]) -> Iterator[Sequence[Any]]:
    """Yield the files of a list: ranges of those of the base, as first and count, and the others as they are."""
    places: dict[ListedFile, int] = {}
    first = count = 0
    for file in listed:
        following = first + count
        if following < len(base) and base[following] is file:  # mostly
            place: int | None = following
        else:
            places = places or {each: at for at, each in enumerate(base)}
            place = places.get(file)
        if count and place != first + count:
            yield first, count
            count = 0
        if place is None:
            yield tuple(file)
        else:
            first, count = (first, count + 1) if count else (place, 1)
    if count:
        yield first, count
