"""The order of merged rules, file by file: the side that reordered them leads, new rules follow their neighbours."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from content.records.record import Placed

PlacedRules = Mapping[str, Placed[Any]]


def merge_order(merged: PlacedRules, base: PlacedRules, ours: PlacedRules, theirs: PlacedRules) -> Iterator[str]:
    """Yield the identities of `merged`, which are in any order, in their order in the files.

    The common rules of a file are ordered as in `theirs` where only that side reordered them, else as in `ours`. A rule
    that only the other side has follows the same rule as there, below new rules of the leading side at that place.
    """
    before, release, draft = (_by_file(merged, side) for side in (base, ours, theirs))
    for file in sorted({*release, *draft}):
        yield from _merge_file(before.get(file, []), release.get(file, []), draft.get(file, []))


def _by_file(merged: PlacedRules, side: PlacedRules) -> dict[str, list[str]]:
    """Return the side's rules that stay in their file, file by file."""
    files: dict[str, list[str]] = defaultdict(list)
    for key, placed in side.items():
        if key in merged and merged[key].file == placed.file:
            files[placed.file].append(key)
    return files


def _merge_file(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    common = {*base} & {*ours} & {*theirs}
    before, release, draft = ([key for key in side if key in common] for side in (base, ours, theirs))
    return _interleave(theirs, ours) if release == before != draft else _interleave(ours, theirs)


def _interleave(leading: list[str], other: list[str]) -> list[str]:
    """Insert into `leading` each rule that only `other` has, after its predecessor there and `leading`'s new rules."""
    followers: dict[str | None, list[str]] = defaultdict(list)
    known, anchor = {*leading}, None
    for key in other:
        if key in known:
            anchor = key
        else:
            followers[anchor].append(key)
    shared = known & {*other}
    result, waiting = [], followers[None]
    for key in leading:
        if key in shared:
            result += waiting
            waiting = followers[key]
        result.append(key)
    return result + waiting
