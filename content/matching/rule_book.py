"""The rules that a matcher looks up: the protocol, and the rules of a project in memory."""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Protocol

from content.matching.canonical import exact_key, split_host
from content.matching.patterns import Patterns
from content.records.record import Page, Placed, Redirect


class RuleSource(Protocol):
    """Rules by key, in memory or in a compiled release. Positions count in file order."""

    def redirects_at(self, key: str) -> Sequence[int]:
        """Return the positions of the exact redirects with this `exact_key`, in file order."""
        ...

    def pages_at(self, key: str) -> Sequence[int]:
        """Return the positions of the pages with this `exact_key`, in file order."""
        ...

    def redirect(self, position: int) -> Placed[Redirect]:
        """Return the redirect at a position."""
        ...

    def page(self, position: int) -> Placed[Page]:
        """Return the page at a position."""
        ...

    def patterns(self) -> Patterns:
        """Return the regex redirects."""
        ...

    def hosts(self) -> Collection[str]:
        """Return the canonical hosts of all exact redirects and pages: hosts that the project serves."""
        ...


class RuleBook:
    """A `RuleSource` in memory; a record's position is its index in the given sequence."""

    def __init__(self, redirects: Iterable[Placed[Redirect]], pages: Iterable[Placed[Page]]) -> None:
        self._redirects = tuple(redirects)
        self._pages = tuple(pages)
        records = [placed.record for placed in self._redirects]
        self._redirects_at = _index(
            (position, exact_key(record.type.has_host, record.source))
            for position, record in enumerate(records)
            if record.type.is_exact
        )
        self._pages_at = _index(
            (position, exact_key(placed.record.type.has_host, placed.record.path))
            for position, placed in enumerate(self._pages)
        )
        self._patterns = Patterns(
            (position, record.type, record.source)
            for position, record in enumerate(records)
            if not record.type.is_exact
        )
        keys = chain(self._redirects_at, self._pages_at)
        self._hosts = frozenset(split_host(key)[0] for key in keys if not key.startswith("/"))

    def redirects_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._redirects_at.get(key, ())

    def pages_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._pages_at.get(key, ())

    def redirect(self, position: int) -> Placed[Redirect]:
        """See `RuleSource`."""
        return self._redirects[position]

    def page(self, position: int) -> Placed[Page]:
        """See `RuleSource`."""
        return self._pages[position]

    def patterns(self) -> Patterns:
        """See `RuleSource`."""
        return self._patterns

    def hosts(self) -> Collection[str]:
        """See `RuleSource`."""
        return self._hosts


def _index(keys: Iterable[tuple[int, str]]) -> dict[str, tuple[int, ...]]:
    """Return positions by key; a source that no request can equal has no key and is left out."""
    index: dict[str, tuple[int, ...]] = {}
    for position, key in keys:
        if key:
            alone = (position,)
            others = index.setdefault(key, alone)
            if others is not alone:
                index[key] = (*others, position)
    return index
