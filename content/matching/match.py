"""Results of the matcher: the rule that answers, the other rules that match, and the hops of a chain."""

from dataclasses import dataclass
from typing import NamedTuple

from content.matching.request import Request
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import Kind


class Match(NamedTuple):
    """A rule that matches a request: exactly one of `redirect` and `page` is set.

    `location` is expanded (empty for a page); `captures[0]` is the value of `$1`, None where the group did not
    take part.
    """

    redirect: Placed[Redirect] | None
    page: Placed[Page] | None
    location: str = ""
    captures: tuple[str | None, ...] = ()

    @property
    def rule(self) -> Placed[Redirect] | Placed[Page]:
        """The redirect or page, with its location in the files."""
        rule = self.redirect or self.page
        assert rule is not None, "a match is of a redirect or of a page"  # noqa: S101 - for the type checker
        return rule

    @property
    def kind(self) -> Kind:
        """The kind of the rule."""
        return Kind.REDIRECTS if self.redirect else Kind.PAGES

    @property
    def status(self) -> int:
        """The HTTP status of the answer: 301, 302, 307 or 308 for a redirect, 200 for a page."""
        return self.redirect.record.status.code if self.redirect else 200


class Candidate(NamedTuple):
    """A rule that also matches, and `reason`, a clause for people: why another rule answers."""

    match: Match
    reason: str


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The winner (None: no rule matches) and all other rules that match, best first."""

    winner: Match | None
    candidates: tuple[Candidate, ...] = ()


class Hop(NamedTuple):
    """A step of a chain: a request, and the redirect or page that answers it."""

    request: Request
    match: Match


@dataclass(frozen=True, slots=True)
class Chain:
    """The hops from a request, in order, until no rule or a page answers or the chain leaves the project.

    `loop_start` is the index of the hop that the last one leads back to (-1: none); `is_truncated` is true where the
    chain is longer than the requested hops. A page can only be the last hop.
    """

    hops: tuple[Hop, ...]
    loop_start: int = -1
    is_truncated: bool = False

    @property
    def is_loop(self) -> bool:
        """True where the last hop leads back to a request of the chain."""
        return self.loop_start >= 0

    @property
    def is_endless(self) -> bool:
        """True where a client would be redirected until it gives up."""
        return self.is_loop or self.is_truncated
