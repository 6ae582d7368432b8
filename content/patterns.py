"""The regex redirects of a project: where they stand, and which of them a text may match."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from content.pattern import pattern_set
from content.vocabulary import RedirectType

Row = tuple[int, RedirectType, str]
"""Position, type and source."""


class Patterns:
    """All regex redirects in file order; they are compiled when a text is first asked about, once."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __reversed__(self) -> Iterator[Row]:
        return reversed(self._rows)

    @cached_property
    def with_host(self) -> "Ranked":
        """Those that are asked about a host and path."""
        return Ranked(self._rows, RedirectType.REGEX_HOST)

    @cached_property
    def without_host(self) -> "Ranked":
        """Those that are asked about a path."""
        return Ranked(self._rows, RedirectType.REGEX)


class Ranked:
    """The patterns of one type in the order in which they are asked: longer source first, then file order."""

    def __init__(self, rows: Iterable[Row], kind: RedirectType) -> None:
        ranked = sorted(
            ((position, source) for position, its_kind, source in rows if its_kind is kind),
            key=lambda item: (-len(item[1]), item[0]),
        )
        self._positions = [position for position, _ in ranked]
        self._set = pattern_set(tuple(source for _, source in ranked))

    def positions(self, text: str) -> list[int]:
        """The positions of the rules whose pattern matches the text, best first."""
        return [self._positions[number] for number in self._set.candidates(text)]

    def has(self, text: str) -> bool:
        """Tell whether a pattern may match the text."""
        return bool(self._set.candidates(text))
