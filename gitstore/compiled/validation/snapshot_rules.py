"""The rules of a snapshot, looked up in its segments: a matcher of a state without its records in memory."""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import cast

from content.computed_sequence import ComputedSequence
from content.matching.canonical import exact_key
from content.matching.patterns import Patterns
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import TYPE_BY_NAME, Kind, RedirectType
from gitstore.compiled.segments.key_table import KeyEntries, find_hash, find_positions, hash_key, join_entries
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot

_FEW_LOOKUPS = 32  # of 100,000 rules in 200 files each takes 1 ms, and the joined table 30


class SnapshotRules:
    """The rules of a snapshot as the source of a Matcher. Few keys are looked up file by file; for more, the tables are joined first."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lists = {kind: _RuleList(snapshot, kind) for kind in Kind}

    def redirects_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._lists[Kind.REDIRECTS].positions(key)

    def pages_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._lists[Kind.PAGES].positions(key)

    def redirect(self, position: int) -> Placed[Redirect]:
        """See `RuleSource`."""
        return cast("Placed[Redirect]", self._lists[Kind.REDIRECTS].placed(position))

    def page(self, position: int) -> Placed[Page]:
        """See `RuleSource`."""
        return cast("Placed[Page]", self._lists[Kind.PAGES].placed(position))

    def patterns(self) -> Patterns:
        """See `RuleSource`."""
        return Patterns(self._lists[Kind.REDIRECTS].pattern_rows())

    def hosts(self) -> Collection[str]:
        """See `RuleSource`."""
        return self._snapshot.hosts

    def place(self, kind: Kind, position: int) -> tuple[str, int]:
        """Return the file (path in the namespace) and line of a record."""
        return self._lists[kind].place(position)


class _RuleList:
    """The records of one kind."""

    def __init__(self, snapshot: Snapshot, kind: Kind) -> None:
        self._snapshot = snapshot
        self._files = snapshot.rule_files[kind]
        self._starts = list(accumulate((len(file.segment) for file in self._files), initial=0))
        self._lookups = 0
        self._read: tuple[int, Record] | None = None  # the last one: after a look-up its record is read

    @cached_property
    def _table(self) -> list[int]:
        # Python's sort merges the sorted runs of the files: https://docs.python.org/3/howto/sorting.html
        return sorted(join_entries(KeyEntries(file.segment.keys, len(file.segment)) for file in self._files))

    def positions(self, key: str) -> Sequence[int]:
        """Return the positions of the exact records with a key."""
        self._lookups += 1
        found = self._search(key) if self._lookups <= _FEW_LOOKUPS else find_positions(self._table, key)
        return [position for position in found if self._key(position) == key]

    def _search(self, key: str) -> list[int]:
        """Look a key up in the table of each file."""
        wanted = hash_key(key)
        pairs = zip(self._files, self._starts, strict=False)
        return [start + position for file, start in pairs for position in find_hash(file.segment.keys, wanted)]

    def placed(self, position: int) -> Placed[Record]:
        """Return the record at a position."""
        file, index = self._find(position)
        record = self._snapshot.whole(file, self._record(position))
        return Placed(record, self._snapshot.full_path(file.path), file.segment.whole.lines[index], position)

    def place(self, position: int) -> tuple[str, int]:
        """Return the file and line of the record at a position."""
        file, index = self._find(position)
        return self._snapshot.full_path(file.path), file.segment.lines[index]

    def _record(self, position: int) -> Record:
        """Return a record; the content of a page that is in a file of its own is empty."""
        read = self._read
        if read is None or read[0] != position:
            file, index = self._find(position)
            self._read = read = position, file.segment.whole.record(index)
        return read[1]

    def _find(self, position: int) -> tuple[CompiledFile, int]:
        at = bisect_right(self._starts, position) - 1
        return self._files[at], position - self._starts[at]

    def pattern_rows(self) -> list[tuple[int, RedirectType, str]]:
        """Return position, type and source of the regex redirects."""
        return [
            (start + position, RedirectType(type_), source)
            for file, start in zip(self._files, self._starts, strict=False)
            for position, type_, source in file.segment.patterns
        ]

    def _key(self, position: int) -> str:
        record = self._record(position)
        return exact_key(record.type.has_host, record.identity)


class SnapshotRedirects(ComputedSequence[Placed[Redirect]]):
    """The redirects of a snapshot, built when they are read; those of one file are in memory at a time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._files = [(snapshot.full_path(file.path), file.segment) for file in snapshot.rule_files[Kind.REDIRECTS]]
        self._starts = list(accumulate((len(segment) for _, segment in self._files), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def build(self, index: int) -> Placed[Redirect]:
        """Build the redirect at an index."""
        at = bisect_right(self._starts, index) - 1
        path, segment = self._files[at]
        place = index - self._starts[at]
        return Placed(cast("Redirect", segment.record(place)), path, segment.lines[place], index)

    def __iter__(self) -> Iterator[Placed[Redirect]]:
        for start, (path, segment) in zip(self._starts, self._files, strict=False):
            for place, (record, line) in enumerate(zip(segment.build_records(), segment.lines, strict=True)):
                yield Placed(cast("Redirect", record), path, line, start + place)

    def sources(self) -> Iterator[tuple[RedirectType, str]]:
        """Yield type and source of each redirect, without building it."""
        for _, segment in self._files:
            yield from ((TYPE_BY_NAME[each["type"]], each["source"]) for each in segment.read_fields())

    def ids(self) -> Iterator[int]:
        """Yield the API's ids, as numbers."""
        return chain.from_iterable(segment.ids for _, segment in self._files)
