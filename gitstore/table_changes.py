"""What leads from one state of a project to another, told from compiled tables: 100,000 changed rules in 50 ms.

The same as `changes.changes_between` gives, but no record is built unless the changes are few enough for the log to say
what they changed.
"""

import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import is_, ne, not_
from typing import NamedTuple

from content.diff import ChangeType, Counts
from content.vocabulary import Kind
from gitstore.change_log import CODES, DETAILED_AT_MOST, Entries, dump_details
from gitstore.compiler import Compiler
from gitstore.layout import TreeId
from gitstore.numbering import Made
from gitstore.release_dump import lay_out
from gitstore.snapshot import Snapshot
from gitstore.tree_changes import chosen_changes


class Table(NamedTuple):
    """One list of a state, by record: ids as numbers, and prints, which are others where any field is."""

    ids: Sequence[int]
    prints: Sequence[int]


Tables = Mapping[Kind, Table]


class Moved(NamedTuple):
    """What became of one list: ids with what happened to each, in the order of `content.diff.diff`."""

    ids: list[int]
    changes: list[ChangeType]

    def counts(self) -> Counts:
        """How many records were added, changed and removed."""
        return Counts(*(self.changes.count(each) for each in ChangeType))


def tables_at(compiler: Compiler, project: str, tree: TreeId) -> Tables:
    """The tables of a state, from its release where that is at hand, else from its files, right or wrong."""
    release = compiler.at_hand(project, tree)
    if release is None:
        return _of_snapshot(compiler.snapshot(project, tree))
    return {kind: Table(listing.ids, listing.prints) for kind, listing in release.listings.items()}


def made_by_tables(compiler: Compiler, project: str, trees: tuple[TreeId, TreeId]) -> Made:
    """What a publish that leads from the first tree to the second changes."""
    old, new = (tables_at(compiler, project, tree) for tree in trees)
    moved = {kind: compare(old[kind], new[kind]) for kind in Kind}
    counts = {kind: each.counts() for kind, each in moved.items()}
    codes = bytes([CODES[kind, change] for kind, each in moved.items() for change in each.changes])
    ids = {kind: each.ids for kind, each in moved.items()}
    is_told = 0 < len(codes) <= DETAILED_AT_MOST
    details = dump_details(chosen_changes(compiler, project, trees, ids)) if is_told else b""
    return Made(project, trees, Entries(b"".join(map(_big_endian, ids.values())), codes, details), counts)


def compare(old: Table, new: Table) -> Moved:
    """What leads from one list to another, in which no record stands twice; of those in the old one that do, the last counts."""
    if old.ids == new.ids:
        changed = list(compress(new.ids, map(ne, old.prints, new.prints)))
        return Moved(changed, [ChangeType.CHANGED] * len(changed))
    before, after = (dict(zip(table.ids, table.prints, strict=True)) for table in (old, new))
    found = list(map(before.get, after))
    present = list(map(ne, found, after.values()))
    added = compress(map(is_, found, _nothing(len(found))), present)
    changes = [ChangeType.ADDED if is_new else ChangeType.CHANGED for is_new in added]
    gone = list(compress(before, map(not_, map(after.__contains__, before))))
    return Moved([*compress(after, present), *gone], changes + [ChangeType.REMOVED] * len(gone))


def _nothing(count: int) -> Iterator[None]:
    return iter([None] * count)


def _of_snapshot(snapshot: Snapshot) -> Tables:
    return {kind: _table(snapshot, kind) for kind in Kind}


def _table(snapshot: Snapshot, kind: Kind) -> Table:
    files = snapshot.rule_files[kind]
    prints = array("Q", b"".join(lay_out(snapshot, file).prints for file in files))
    return Table(array("Q", [number for file in files for number in file.part.ids]), prints)


def _big_endian(ids: Sequence[int]) -> bytes:
    """Ids as `id_bytes` writes them: the head of a digest."""
    numbers = array("Q", ids)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers.tobytes()
