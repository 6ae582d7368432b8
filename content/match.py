"""What the matcher gives back: the rule that answers, the rules that lost, and the hops of a chain."""

from dataclasses import dataclass
from typing import NamedTuple

from content.record import Page, Placed, Redirect
from content.request import Request


class Match(NamedTuple):
    """A rule that a request matches: exactly one of `redirect` and `page` is there.

    `location` is expanded (empty for a page); `captures[0]` is what `$1` stands for, None where the group took no
    part.
    """

    redirect: Placed[Redirect] | None
    page: Placed[Page] | None
    location: str = ""
    captures: tuple[str | None, ...] = ()

    @property
    def rule(self) -> Placed[Redirect] | Placed[Page]:
        """The redirect or page, with its place."""
        rule = self.redirect or self.page
        assert rule is not None, "a match is of a redirect or of a page"  # noqa: S101 - for the type checker
        return rule

    @property
    def status(self) -> int:
        """The HTTP status of the answer: 301, 302, 307 or 308 for a redirect, 200 for a page."""
        return self.redirect.record.status.code if self.redirect else 200


class Candidate(NamedTuple):
    """A rule that matches as well, and `why` another one answers, as a clause for people."""

    match: Match
    why: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The winner (None: nothing matches) and every other rule that matches, best first."""

    winner: Match | None
    candidates: tuple[Candidate, ...] = ()


class Hop(NamedTuple):
    """One step of a chain: what was asked, and the redirect or page that answers."""

    request: Request
    match: Match


@dataclass(frozen=True, slots=True)
class Chain:
    """The hops from a request on, in order, until nothing or a page answers or the project is left.

    `back_to` is the index of the hop that the last one leads back to (-1: none); `cut` is true where there were
    still more hops than asked for. A page, where one is reached, is the last hop.
    """

    hops: tuple[Hop, ...]
    back_to: int = -1
    cut: bool = False

    @property
    def loops(self) -> bool:
        """True where the last hop leads back to a request of the chain."""
        return self.back_to >= 0

    @property
    def endless(self) -> bool:
        """True where a client would be redirected until it gives up."""
        return self.loops or self.cut
