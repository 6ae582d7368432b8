"""Rules that are built only when they are read, looked up by the hash of their key: a million take some 110 MB."""

from array import array
from collections.abc import Collection, Iterable, Sequence

from content.matching.canonical import exact_key, split_host
from content.matching.patterns import Patterns
from content.matching.rule_book import RuleBook
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import RedirectType

_NO_KEY = 0


class HashedRules:
    """A `RuleSource` over a list of redirects, which may build each one when it is read; a position is an index there.

    `sources` has the type and source of each one: a list may have these without building it.
    """

    def __init__(
        self,
        redirects: Sequence[Placed[Redirect]],
        pages: Sequence[Placed[Page]],
        sources: Iterable[tuple[RedirectType, str]],
    ) -> None:
        self._list = redirects
        self._pages = RuleBook((), pages)
        self._hashes = array("q")  # of each position's key
        self._first: dict[int, int] = {}  # the first position of each hash
        self._others: dict[int, list[int]] = {}  # and the later ones
        self._hosts = set(self._pages.hosts())
        patterns: list[tuple[int, RedirectType, str]] = []
        for position, (type_, source) in enumerate(sources):
            if type_.is_exact:
                self._add(position, source, has_host=type_.has_host)
            else:
                self._hashes.append(_NO_KEY)
                patterns.append((position, type_, source))
        self._patterns = Patterns(patterns)

    def _add(self, position: int, source: str, *, has_host: bool) -> None:
        key = exact_key(has_host, source)
        number = hash(key) if key else _NO_KEY
        self._hashes.append(number)
        if key:
            if self._first.setdefault(number, position) != position:
                self._others.setdefault(number, []).append(position)
            if has_host:
                self._hosts.add(split_host(key)[0])

    def has_own_key(self, position: int) -> bool:
        """Tell whether a redirect is exact, and certainly no other one has its key."""
        number = self._hashes[position]
        return self._first.get(number) == position and number not in self._others

    def redirects_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        number = hash(key)
        first = self._first.get(number)
        if first is None:
            return ()
        return [position for position in (first, *self._others.get(number, ())) if self._key(position) == key]

    def _key(self, position: int) -> str:
        record = self._list[position].record
        return exact_key(record.type.has_host, record.source)

    def pages_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        return self._pages.pages_at(key)

    def redirect(self, position: int) -> Placed[Redirect]:
        """See `RuleSource`."""
        return self._list[position]

    def page(self, position: int) -> Placed[Page]:
        """See `RuleSource`."""
        return self._pages.page(position)

    def patterns(self) -> Patterns:
        """See `RuleSource`."""
        return self._patterns

    def hosts(self) -> Collection[str]:
        """See `RuleSource`."""
        return self._hosts
