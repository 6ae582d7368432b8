"""Regular expressions that can never answer, because rules that are asked earlier take all that they match."""

from collections.abc import Iterator
from functools import cached_property

from content.canonical import canonical_path, split_host
from content.match import Match
from content.matching import Matcher
from content.pattern_shape import Head, literal_head
from content.problem import Problem
from content.problem_codes import problem
from content.record import Placed, Redirect
from content.request import request_for
from content.vocabulary import RedirectType

_Rank = tuple[int, int]


class Reach:
    """What the regexes of a project leave over for each other; only what is certain is told."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def problems(self, placed: Placed[Redirect]) -> Iterator[Problem]:
        """The warning that a regex redirect is never used, with the rule that takes its place."""
        head = literal_head(placed.record.source)
        if head is None:
            return
        source = self._taker(placed, head) or self._winner(placed, head)
        if source:
            message = f'never used: the rule "{source[:200]}" answers first whatever this one matches'
            yield problem("regex_unreachable", message, "/source")

    def _taker(self, placed: Placed[Redirect], head: Head) -> str:
        """The source of a pattern asked earlier that takes everything under a beginning of this one's head."""
        record = placed.record
        for length in range(len(head.literal) + 1):
            taker = self._takers.get((record.type, head.literal[:length]))
            if taker and taker != record.source and self._rank(taker) < self._rank(record.source):
                return taker
        return ""

    def _rank(self, source: str) -> _Rank:
        return -len(source), self._positions[source]

    def _winner(self, placed: Placed[Redirect], head: Head) -> str:
        """The source of the first rule that answers in place of this one for every text that this one matches."""
        winners = [self._answer(placed, text) for text in head.texts]
        others = [match.redirect.record.source for match in winners if match and match.redirect]
        return others[0] if others and placed.record.source not in others else ""

    def _answer(self, placed: Placed[Redirect], text: str) -> Match | None:
        host, path = split_host(text) if placed.record.type.has_host else (None, text)
        if not path.startswith("/") or canonical_path(path) != path or "?" in path or "#" in path:
            return None
        return self._matcher.match(request_for(host, path))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {source: position for position, _, source in reversed(self._matcher.source.patterns())}

    @cached_property
    def _takers(self) -> dict[tuple[RedirectType, str], str]:
        """The best-ranked pattern of each type that takes everything under a literal beginning."""
        takers: dict[tuple[RedirectType, str], str] = {}
        for _, kind, source in self._matcher.source.patterns():
            head = literal_head(source)
            if head and head.takes_all:
                key = (kind, head.literal)
                takers[key] = min(takers.get(key, source), source, key=self._rank)
        return takers
