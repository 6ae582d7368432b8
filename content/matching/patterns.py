"""The regex redirects of a project, and those that may match a text."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from content.matching.pattern import PatternSet, pattern_set, set_key
from content.matching.pattern_cost import least_cost
from content.records.vocabulary import RedirectType

_COSTLY = 100_000  # characters, and instructions that are certain

PatternRow = tuple[int, RedirectType, str]  # position, type and source


class Patterns:
    """All regex redirects in file order, compiled at the first match, and cached within a limit for all projects."""

    def __init__(self, rows: Iterable[PatternRow]) -> None:
        self._rows = tuple(rows)

    def __iter__(self) -> Iterator[PatternRow]:
        return iter(self._rows)

    def __reversed__(self) -> Iterator[PatternRow]:
        return reversed(self._rows)

    @cached_property
    def is_costly(self) -> bool:
        """True if compiling them may take longer than a tenth of a second, by their texts."""
        return sum(len(source) + least_cost(source) for _, _, source in self._rows) > _COSTLY

    @cached_property
    def with_host(self) -> "RankedPatterns":
        """The patterns that match a host and path."""
        return RankedPatterns(self._rows, RedirectType.REGEX_HOST)

    @cached_property
    def without_host(self) -> "RankedPatterns":
        """The patterns that match a path."""
        return RankedPatterns(self._rows, RedirectType.REGEX)


class RankedPatterns:
    """The patterns of one type in matching order: longer source first, then file order."""

    def __init__(self, rows: Iterable[PatternRow], kind: RedirectType) -> None:
        ranked = sorted(
            ((position, source) for position, type_, source in rows if type_ is kind),
            key=lambda item: (-len(item[1]), item[0]),
        )
        self._positions = [position for position, _ in ranked]
        self._sources = [source for _, source in ranked]
        self._key = set_key(self._sources)

    def positions(self, text: str) -> list[int]:
        """Return the positions of the rules whose pattern matches the text, best first."""
        return [self._positions[number] for number in self._set.candidates(text)] if self._sources else []

    def may_match(self, text: str) -> bool:
        """Return whether a pattern may match the text."""
        return bool(self._sources and self._set.candidates(text))

    @property
    def _set(self) -> PatternSet:
        return pattern_set(self._key, self._sources)
