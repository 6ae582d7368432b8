"""Which rule answers a request, which others would, and where following the answer leads.

Order: BASIC_HOST, BASIC, REGEX_HOST, REGEX, then pages (BASIC_HOST, BASIC). Among exact rules of a type one whose
source has the request's query comes first, among regexes the longer source, then the order in the files.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from content.canonical import canonical_host
from content.match import Answer, Candidate, Chain, Hop, Match
from content.pattern import Pattern, PatternRefused, compile_pattern
from content.patterns import Patterns, Ranked
from content.record import Placed, Redirect
from content.request import Request, request_for
from content.rule_book import RuleBook, RuleSource
from content.template import Template, location_of
from content.url import WEB_SCHEMES, split_url

__all__ = ["Matcher", "RuleBook", "RuleSource"]


class _Compiled(NamedTuple):
    """A rule with a pattern, ready to be asked."""

    placed: Placed[Redirect]
    pattern: Pattern
    template: Template


class Matcher:
    """Answers requests from a source of rules; pattern sets are compiled when first needed, once.

    A rule that is wrong in itself (a refused regex, a malformed host) never matches; nothing here raises for it.
    """

    def __init__(self, source: RuleSource) -> None:
        self.source = source
        self._compiled: dict[int, _Compiled | None] = {}

    def match(self, request: Request) -> Match | None:
        """The rule that answers the request, or None."""
        return next(self._matches(request), None)

    def answer(self, request: Request) -> Answer:
        """The rule that answers, and every other rule that matches, with the reason why it lost."""
        matches = list(self._matches(request))
        if not matches:
            return Answer(None)
        winner = matches[0]
        return Answer(winner, tuple(Candidate(match, _why(winner, match)) for match in matches[1:]))

    def follow(self, request: Request, hops: int = 10) -> Chain:
        """The chain of answers from the request on, at most `hops` redirects long."""
        return self._walk([], (request, True), hops)

    def follow_from(self, request: Request, first: Match, hops: int = 10) -> Chain:
        """As `follow`, but the first answer is given: what happens to a visitor whom this rule redirects."""
        return self._walk([Hop(request, first)], self._next(request, first), hops)

    def _walk(self, taken: list[Hop], step: tuple[Request, bool] | None, hops: int) -> Chain:
        seen = {hop.request: index for index, hop in enumerate(taken)}
        while step is not None and step[0] not in seen:
            request, paths = step
            match = next(self._matches(request, paths=paths), None)
            if match is None:
                return Chain(tuple(taken))
            if len(taken) == hops and match.redirect:
                return Chain(tuple(taken), cut=True)
            seen[request] = len(taken)
            taken.append(Hop(request, match))
            step = self._next(request, match)
        return Chain(tuple(taken), back_to=seen[step[0]] if step else -1)

    def _next(self, request: Request, match: Match) -> tuple[Request, bool] | None:
        """The next request, and whether rules without a host apply to it; None where the chain ends.

        They apply where the project is known to answer: on the host that just did, and on those that it names.
        """
        url = split_url(match.location)
        if url.is_path:
            return request_for(request.host, url.rest), True
        if match.redirect is None or url.scheme not in WEB_SCHEMES:
            return None
        try:
            host = canonical_host(url.authority or "")
        except ValueError:
            return None
        return request_for(host, url.rest), host == request.host or host in self._hosts

    def _matches(self, request: Request, *, paths: bool = True) -> Iterator[Match]:
        """Every rule that matches, best first; rules without a host only where `paths` is true."""
        keys = _keys(request, paths=paths)
        for key in keys:
            for position in self.source.redirects_at(key):
                placed = self.source.redirect(position)
                yield Match(placed, None, location_of(placed.record.target))
        host, path, _ = request
        if host is not None:
            yield from self._regex_matches(self._patterns.with_host, host + path)
        if paths:
            yield from self._regex_matches(self._patterns.without_host, path)
        for key in keys:
            for position in self.source.pages_at(key):
                yield Match(None, self.source.page(position))

    def may_answer(self, host: str | None, path: str, *, paths: bool) -> bool:
        """Tell whether a regex redirect may answer a canonical path; those without a host only where `paths` is true."""
        patterns = self._patterns
        return (host is not None and patterns.with_host.has(host + path)) or (paths and patterns.without_host.has(path))

    def _regex_matches(self, patterns: Ranked, text: str) -> Iterator[Match]:
        for position in patterns.positions(text):
            compiled = self._compiled[position] if position in self._compiled else self._compile(position)
            if compiled is None:
                continue
            placed, pattern, template = compiled
            captures = pattern.captures(text)
            if captures is not None:
                yield Match(placed, None, template.expand(captures), captures)

    def _compile(self, position: int) -> "_Compiled | None":
        placed = self.source.redirect(position)
        compiled = None
        with suppress(PatternRefused):
            compiled = _Compiled(placed, compile_pattern(placed.record.source), Template.parse(placed.record.target))
        self._compiled[position] = compiled
        return compiled

    @cached_property
    def _patterns(self) -> Patterns:
        return self.source.patterns()

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return frozenset(self.source.hosts())


def _keys(request: Request, *, paths: bool) -> Sequence[str]:
    """The keys of exact rules in their order: with the host before without, with the query before without."""
    host, path, query = request
    plain = (path,) if query is None else (f"{path}?{query}", path)
    with_host = () if host is None else tuple(host + key for key in plain)
    return (*with_host, *plain) if paths else with_host


def _why(winner: Match, loser: Match) -> str:
    if winner.redirect is None or loser.redirect is None:
        return "redirects come before pages" if winner.redirect else "an earlier page has the path"
    return _why_redirect(winner.redirect.record, loser.redirect.record)


def _why_redirect(winner: Redirect, loser: Redirect) -> str:
    if winner.type is not loser.type:
        return f"{winner.type} comes before {loser.type}"
    if winner.type.is_exact:
        with_query = "?" in winner.source and "?" not in loser.source
        return "a source with the query string comes first" if with_query else "an earlier rule has the same source"
    longer = len(winner.source) > len(loser.source)
    return "the longer source comes first" if longer else "the earlier of two equally long sources comes first"
