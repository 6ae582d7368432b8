"""Rules with a few changes laid over them: what requests would get, without building a new set of rules."""

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Generic, TypeVar

from content.matching.canonical import exact_key, split_host
from content.matching.patterns import Patterns
from content.matching.rule_book import RuleSource
from content.records.record import Page, Placed, Record, Redirect

_R = TypeVar("_R", Page, Redirect)
_NEW = 1 << 40  # positions from here on are those of new records: they follow all others


class ChangedRules:
    """A `RuleSource`: that of `base` with records put and removed.

    A record that replaces one keeps its position. The cost follows the changes, and the number of regexes if one changes.
    """

    def __init__(self, base: RuleSource) -> None:
        self._base = base
        self._redirects: _Layer[Redirect] = _Layer(_redirect_key)
        self._pages: _Layer[Page] = _Layer(_page_key)

    def put(self, placed: Placed[Record]) -> None:
        """Add a record, or replace the one with its source or path."""
        record = placed.record
        if isinstance(record, Redirect):
            self._redirects.put(self._redirect_position(record.source), Placed(record, placed.file, placed.line))
        else:
            self._pages.put(self._page_position(record.path), Placed(record, placed.file, placed.line))

    def remove(self, record: Record) -> None:
        """Leave out the record with the source or path of this one."""
        if isinstance(record, Redirect):
            self._redirects.remove(self._redirect_position(record.source))
        else:
            self._pages.remove(self._page_position(record.path))

    def redirects_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._redirects.at(key, self._base.redirects_at(key))

    def pages_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._pages.at(key, self._base.pages_at(key))

    def redirect(self, position: int) -> Placed[Redirect]:
        """See `RuleSource`."""
        return self._redirects.changed.get(position) or self._base.redirect(position)

    def page(self, position: int) -> Placed[Page]:
        """See `RuleSource`."""
        return self._pages.changed.get(position) or self._base.page(position)

    def patterns(self) -> Patterns:
        """See `RuleSource`; those of the base itself if no regex is changed, since they may be compiled already."""
        before, changed = self._base.patterns(), self._redirects.changed
        kept = [row for row in before if row[0] not in changed]
        new = [
            (position, placed.record.type, placed.record.source)
            for position, placed in changed.items()
            if placed and not placed.record.type.is_exact
        ]
        return Patterns(sorted([*kept, *new])) if new or len(kept) < len(list(before)) else before

    def hosts(self) -> Collection[str]:
        """See `RuleSource`. The hosts of removed rules stay: whether another rule has them would need a look at all."""
        keys = chain(self._redirects.keys(), self._pages.keys())
        return {*self._base.hosts(), *(split_host(key)[0] for key in keys if key and not key.startswith("/"))}

    def _redirect_position(self, source: str) -> int | None:
        """Return the position of the redirect with a source, of whatever type."""
        own = self._redirects.find(lambda record: record.source == source)
        if own is not None:
            return own
        exact = (self._base.redirects_at(exact_key(has_host, source)) for has_host in (False, True))
        regexes = (position for position, _, text in self._base.patterns() if text == source)
        return next(
            (
                position
                for position in chain(*exact, regexes)
                if position not in self._redirects.changed and self._base.redirect(position).record.source == source
            ),
            None,
        )

    def _page_position(self, path: str) -> int | None:
        own = self._pages.find(lambda record: record.path == path)
        if own is not None:
            return own
        found = (self._base.pages_at(exact_key(has_host, path)) for has_host in (False, True))
        return next(
            (
                position
                for position in chain(*found)
                if position not in self._pages.changed and self._base.page(position).record.path == path
            ),
            None,
        )


class _Layer(Generic[_R]):
    """The changed records of one kind by their positions; None is a removed one."""

    def __init__(self, key_of: Callable[[_R], str]) -> None:
        self.changed: dict[int, Placed[_R] | None] = {}
        self._key_of: Callable[[_R], str] = key_of

    def put(self, position: int | None, placed: Placed[_R]) -> None:
        self.changed[_NEW + len(self.changed) if position is None else position] = placed

    def remove(self, position: int | None) -> None:
        if position is not None:
            self.changed[position] = None

    def find(self, is_wanted: Callable[[_R], bool]) -> int | None:
        return next((at for at, placed in self.changed.items() if placed and is_wanted(placed.record)), None)

    def keys(self) -> list[str]:
        return [self._key_of(placed.record) for placed in self.changed.values() if placed]

    def at(self, key: str, before: Sequence[int]) -> Sequence[int]:
        """Return the positions with a key, in file order."""
        kept: list[int] = [position for position in before if position not in self.changed]
        own: list[int] = [at for at, placed in self.changed.items() if placed and self._key_of(placed.record) == key]
        return sorted(kept + own)


def _redirect_key(record: Redirect) -> str:
    """Return the key of an exact redirect; empty for a regex, which no request is looked up by."""
    return exact_key(record.type.has_host, record.source) if record.type.is_exact else ""


def _page_key(record: Page) -> str:
    return exact_key(record.type.has_host, record.path)
