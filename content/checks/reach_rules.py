"""Unreachable regular expressions: rules with a higher rank match every text of theirs."""

from collections.abc import Iterator
from functools import cached_property

from content.matching.canonical import canonical_path, split_host
from content.matching.match import Match
from content.matching.matcher import Matcher
from content.matching.pattern_shape import LiteralPrefix, literal_prefix
from content.matching.request import request_for
from content.records.problem import Problem
from content.records.problem_codes import problem
from content.records.record import Placed, Redirect
from content.records.vocabulary import RedirectType

_Rank = tuple[int, int]


class RegexReachability:
    """The check for unreachable regexes of a project; only certain cases are reported."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def problems(self, placed: Placed[Redirect]) -> Iterator[Problem]:
        """Yield the warning that a regex redirect is never used, with the rule that answers instead."""
        prefix = literal_prefix(placed.record.source)
        if prefix is None:
            return
        source = self._covering_pattern(placed, prefix) or self._winner(placed, prefix)
        if source:
            message = f'never used: the rule "{source[:200]}" comes first and answers every request of this one'
            yield problem("regex_unreachable", message, "/source")

    def _covering_pattern(self, placed: Placed[Redirect], prefix: LiteralPrefix) -> str:
        """Return the source of a higher-ranked pattern that matches every text with a prefix of this one's literal."""
        record = placed.record
        for length in range(len(prefix.literal) + 1):
            covering = self._covering_patterns.get((record.type, prefix.literal[:length]))
            if covering and covering != record.source and self._rank(covering) < self._rank(record.source):
                return covering
        return ""

    def _rank(self, source: str) -> _Rank:
        return -len(source), self._positions[source]

    def _winner(self, placed: Placed[Redirect], prefix: LiteralPrefix) -> str:
        """Return the source of a rule that answers every text of this one instead of it, empty for none."""
        winners = [self._answer(placed, text) for text in prefix.texts]
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
    def _covering_patterns(self) -> dict[tuple[RedirectType, str], str]:
        """The highest-ranked pattern of each type and literal prefix that matches every text with that prefix."""
        covering: dict[tuple[RedirectType, str], str] = {}
        for _, kind, source in self._matcher.source.patterns():
            prefix = literal_prefix(source)
            if prefix and prefix.matches_any_suffix:
                key = (kind, prefix.literal)
                covering[key] = min(covering.get(key, source), source, key=self._rank)
        return covering
