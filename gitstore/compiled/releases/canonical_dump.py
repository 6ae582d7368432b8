"""The canonical form of a list in a release: the differing records of its files, copied from their segments.

Of two records that are equal in canonical form the first one answers, so that one is sent in place of the other one too.
Windows, totals and positions are then those of the written list, and every copy of the key gives the right answer.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from content.matching.canonical import exact_key
from content.records.record import Page, Record
from gitstore.compiled.segments.canonical_items import CODES
from gitstore.compiled.segments.encoded_file import EncodedFile
from gitstore.compiled.segments.key_table import find_equal_hashes
from gitstore.compiled.segments.sections import Chunk, raw_numbers


class CanonicalPart(NamedTuple):
    """The part of a release: its sections, and the files with differing records.

    Each file is its first position, the number of its differing records, and the size of their items.
    """

    files: list[tuple[int, int, int]]
    sections: dict[str, Sequence[Chunk | bytes]]


def build_canonical_part(kind: str, files: Sequence[EncodedFile], keys: Sequence[int]) -> CanonicalPart:
    """Build the canonical part of a list; `keys` is its key table."""
    if any(file.canonical.positions for file in files):
        files = _show_answering(files, keys)
    firsts = accumulate((len(file.segment) for file in files), initial=0)
    differing = [(first, file) for first, file in zip(firsts, files, strict=False) if file.canonical.positions]
    tables = {
        f"{kind}.canonical.{name}": [
            b"".join(raw_numbers(code, getattr(file.canonical, name)) for _, file in differing)
        ]
        for name, code in CODES.items()
    }
    return CanonicalPart(
        [(first, len(file.canonical.positions), len(file.canonical.items)) for first, file in differing],
        {**tables, f"{kind}.canonical.items": [file.canonical_chunk for _, file in differing]},
    )


def _show_answering(files: Sequence[EncodedFile], keys: Sequence[int]) -> Sequence[EncodedFile]:
    """Replace each record that an earlier one hides by that one."""
    starts = list(accumulate((len(file.segment) for file in files), initial=0))
    shown: dict[int, dict[int, bytes]] = {}
    for hidden, answering in _hidden(files, starts, keys).items():
        (at, position), (other, answer) = (_place(starts, each) for each in (hidden, answering))
        shown.setdefault(at, {})[position] = files[other].item(answer)
    return [file.with_items(shown[at]) if at in shown else file for at, file in enumerate(files)]


def _hidden(files: Sequence[EncodedFile], starts: Sequence[int], keys: Sequence[int]) -> dict[int, int]:
    """Return the positions of records with the same key as an earlier one, each with the position of that one."""
    found = {}
    for positions in find_equal_hashes(keys):
        first: dict[str, int] = {}
        for position in positions:
            at, local = _place(starts, position)
            answering = first.setdefault(_key(files[at].segment.record(local)), position)
            if answering != position:
                found[position] = answering
    return found


def _place(starts: Sequence[int], position: int) -> tuple[int, int]:
    """Return the index of the file of a record, and its position there."""
    at = bisect_right(starts, position) - 1
    return at, position - starts[at]


def _key(record: Record) -> str:
    return exact_key(record.type.has_host, record.path if isinstance(record, Page) else record.source)
