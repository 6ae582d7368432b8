"""The answer to a request, for people to read: the matching rule, the candidates that lost, and the redirect chain."""

from collections.abc import Iterator, Sequence

from content.matching.match import Chain, Match, MatchResult
from content.matching.near_misses import NearMiss


def match_lines(answer: MatchResult, chain: Chain, near: Sequence[NearMiss] = ()) -> Iterator[str]:
    """Yield the rule that answers, the candidates that lost, and the rest of the chain; else the rules that nearly match."""
    if answer.winner is None:
        yield "nothing matches"
        yield from (f"  nearly {_line(miss.match)}: {miss.reason}" for miss in near)
        return
    yield _line(answer.winner)
    yield from (f"  not {_line(candidate.match)}: {candidate.reason}" for candidate in answer.candidates)
    yield from (f"  then {_line(hop.match)}" for hop in chain.hops[1:])
    if chain.is_endless:
        yield "  then an endless loop" if chain.is_loop else "  then more hops than clients follow"


def _line(match: Match) -> str:
    rule = match.rule
    leads = f"{match.status} {match.location}" if match.redirect else f"{match.status} page"
    return f"{leads}  {rule.record.type} {rule.record.identity}  {rule.file}:{rule.line}"
