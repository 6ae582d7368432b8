"""Gaps in the publish numbers of a project: numbers that belong to an earlier namespace of the same name.

A namespace whose name was used before continues the numbers of its predecessor, so that no number names two versions.
Without gaps, the version at place 1 has number 1; both begin at 1.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Gap(NamedTuple):
    """The numbers that a project skips: those above `after`, up to `until`."""

    after: int
    until: int


Gaps = Sequence[Gap]  # ascending, and apart


def place_of(number: int, gaps: Gaps) -> int:
    """Return the place of the version with a number; of a skipped number, the place of the last version before it."""
    return number - sum(min(gap.until, number) - gap.after for gap in gaps if gap.after < number)


def is_skipped(number: int, gaps: Gaps) -> bool:
    """Tell whether a number is in a gap."""
    return any(gap.after < number <= gap.until for gap in gaps)


def number_at(place: int, gaps: Gaps) -> int:
    """Return the number of the version at a place."""
    number = place
    for gap in gaps:
        if number > gap.after:
            number += gap.until - gap.after
    return number


def add_gap(gaps: Gaps, gap: Gap) -> Gaps:
    """Return the gaps with one more at the end; it replaces a shorter one from the same number."""
    return (*(each for each in gaps if each.after < gap.after), gap)
