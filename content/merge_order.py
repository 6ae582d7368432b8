"""The order of merged rules: file by file, a side that reordered what all have leads, new rules follow what they followed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from content.record import Placed

State = Mapping[str, Placed[Any]]


def merge_order(merged: State, base: State, ours: State, theirs: State) -> Iterator[str]:
    """The identities of `merged`, in any order so far, in the order that they have in the files.

    The common rules of a file stand as in `theirs` where only that side reordered them, else as in `ours`. A rule that
    only the other side has stands after the same rule as there, below new rules of the leading side at that place.
    """
    before, release, draft = (_by_file(merged, side) for side in (base, ours, theirs))
    for file in sorted({*release, *draft}):
        yield from _merge_file(before.get(file, []), release.get(file, []), draft.get(file, []))


def _by_file(merged: State, side: State) -> dict[str, list[str]]:
    """The side's rules that stay in the file where they stand there, file by file."""
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
    """All of `leading`, and each rule that only `other` has after the rule that it follows there and `leading`'s own new ones."""
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
