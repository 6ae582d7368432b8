"""The matcher: the rule that answers a request, the other rules that match, and the chain of redirects.

Order: BASIC_HOST, BASIC, REGEX_HOST, REGEX, then pages (BASIC_HOST, BASIC). Among exact rules of a type, a source
with the request's query comes first; among regexes the longer source, then the order in the files.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from content.matching.canonical import canonical_host
from content.matching.match import Candidate, Chain, Hop, Match, MatchResult
from content.matching.pattern import InvalidPattern, find_pattern
from content.matching.patterns import Patterns, RankedPatterns
from content.matching.request import Request, request_for
from content.matching.rule_book import RuleBook, RuleSource
from content.matching.template import Template, location_of
from content.matching.url import WEB_SCHEMES, split_url
from content.records.record import Redirect

__all__ = ["Matcher", "RuleBook", "RuleSource"]


class Matcher:
    """Answers requests from a source of rules; it holds no compiled pattern itself, see `content.matching.pattern`.

    An invalid rule (a refused regex, a malformed host) never matches and never raises.
    """

    def __init__(self, source: RuleSource) -> None:
        self.source = source

    def match(self, request: Request) -> Match | None:
        """Return the rule that answers the request, or None."""
        return next(self._matches(request), None)

    def answer(self, request: Request) -> MatchResult:
        """Return the rule that answers, and the other rules that match, each with the reason why it lost."""
        matches = list(self._matches(request))
        if not matches:
            return MatchResult(None)
        winner = matches[0]
        return MatchResult(winner, tuple(Candidate(match, _loss_reason(winner, match)) for match in matches[1:]))

    def follow(self, request: Request, hops: int = 10) -> Chain:
        """Return the chain of answers from the request, at most `hops` redirects long."""
        return self._walk([], (request, True), hops)

    def follow_from(self, request: Request, first: Match, hops: int = 10) -> Chain:
        """Follow the chain of a visitor whom this rule redirects: as `follow`, with the first answer given."""
        return self._walk([Hop(request, first)], self._next_step(request, first), hops)

    def _walk(self, walked: list[Hop], step: tuple[Request, bool] | None, hops: int) -> Chain:
        seen = {hop.request: index for index, hop in enumerate(walked)}
        while step is not None and step[0] not in seen:
            request, include_hostless = step
            match = next(self._matches(request, include_hostless=include_hostless), None)
            if match and not include_hostless:
                match = next(self._matches(request), None)  # a pattern with a host answers, so the host is served too
            if match is None:
                return Chain(tuple(walked))
            if len(walked) == hops and match.redirect:
                return Chain(tuple(walked), is_truncated=True)
            seen[request] = len(walked)
            walked.append(Hop(request, match))
            step = self._next_step(request, match)
        return Chain(tuple(walked), loop_start=seen[step[0]] if step else -1)

    def _next_step(self, request: Request, match: Match) -> tuple[Request, bool] | None:
        """Return the next request, and whether rules without a host apply to it; None at the end of the chain.

        They apply on hosts that the project certainly serves: the one that just answered, those named by its
        rules, and where one of its patterns with a host answers.
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
        return request_for(host, url.rest), host == request.host or host in self.hosts

    def _matches(self, request: Request, *, include_hostless: bool = True) -> Iterator[Match]:
        """Yield every rule that matches, best first; rules without a host only where `include_hostless` is true."""
        keys = _keys(request, include_hostless=include_hostless)
        for key in keys:
            for position in self.source.redirects_at(key):
                placed = self.source.redirect(position)
                yield Match(placed, None, location_of(placed.record.target))
        host, path, _ = request
        if host is not None:
            yield from self._regex_matches(self._patterns.with_host, host + path)
        if include_hostless:
            yield from self._regex_matches(self._patterns.without_host, path)
        for key in keys:
            for position in self.source.pages_at(key):
                yield Match(None, self.source.page(position))

    @property
    def is_costly(self) -> bool:
        """True if its first use may take long, since many or large patterns have to be compiled."""
        return self._patterns.is_costly

    def may_match(self, host: str | None, path: str, *, include_hostless: bool) -> bool:
        """Return whether a regex redirect may match a canonical path; hostless ones only with `include_hostless`."""
        patterns = self._patterns
        return (host is not None and patterns.with_host.may_match(host + path)) or (
            include_hostless and patterns.without_host.may_match(path)
        )

    def _regex_matches(self, patterns: RankedPatterns, text: str) -> Iterator[Match]:
        for position in patterns.positions(text):
            placed = self.source.redirect(position)
            captures = _captures(placed.record.source, text)
            if captures is not None:
                yield Match(placed, None, Template.parse(placed.record.target).expand(captures), captures)

    @cached_property
    def _patterns(self) -> Patterns:
        return self.source.patterns()

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The canonical hosts of all exact redirects and pages."""
        return frozenset(self.source.hosts())


def _captures(source: str, text: str) -> tuple[str | None, ...] | None:
    try:
        return find_pattern(source).captures(text)
    except InvalidPattern:
        return None


def _keys(request: Request, *, include_hostless: bool) -> Sequence[str]:
    """Return the keys of exact rules in their order: with the host before without, with the query before without."""
    host, path, query = request
    plain = (path,) if query is None else (f"{path}?{query}", path)
    with_host = () if host is None else tuple(host + key for key in plain)
    return (*with_host, *plain) if include_hostless else with_host


def _loss_reason(winner: Match, loser: Match) -> str:
    if winner.redirect is None or loser.redirect is None:
        return "redirects come before pages" if winner.redirect else "an earlier page has the path"
    return _redirect_loss_reason(winner.redirect.record, loser.redirect.record)


def _redirect_loss_reason(winner: Redirect, loser: Redirect) -> str:
    if winner.type is not loser.type:
        return f"{winner.type} comes before {loser.type}"
    if winner.type.is_exact:
        with_query = "?" in winner.source and "?" not in loser.source
        return "a source with the query string comes first" if with_query else "an earlier rule has the same source"
    longer = len(winner.source) > len(loser.source)
    return "the longer source comes first" if longer else "the earlier of two equally long sources comes first"
