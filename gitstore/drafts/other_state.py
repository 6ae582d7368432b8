"""The state beside the tested one: what is published beside a draft, and the draft beside what is published."""

from collections.abc import Collection
from dataclasses import dataclass

from content.matching.match import Match
from content.matching.matcher import Matcher
from content.matching.near_misses import MOST_NEAR_MISSES, NearMiss, find_near_misses
from content.matching.request import Request
from content.records.names import DEFAULT_DRAFT
from content.records.problem import Severity
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.revisions import DRAFT


@dataclass(frozen=True, slots=True)
class OtherState:
    """The rules of the state `at`, which can have a rule that the tested one lacks.

    `base` has the rules where the draft left release, None if the project did not exist there.
    """

    at: str
    matcher: Matcher
    base: Matcher | None
    draft: Snapshot
    draft_name: str

    def find(self, request: Request) -> NearMiss | None:
        """Return the rule that answers a request here, which no rule of the tested state answers."""
        match = self.matcher.match(request)
        return NearMiss(match, request, self._reason(request, match), self.at) if match else None

    def _reason(self, request: Request, match: Match) -> str:
        draft = "the draft" if self.draft_name == DEFAULT_DRAFT else f"the draft {self.draft_name}"
        former = self.base.match(request) if self.base else None
        is_in_base = former is not None and _identity(former) == _identity(match)
        if self.at == DRAFT:
            return f"a publish removed it after {draft} began" if is_in_base else f"it is in {draft}, not published yet"
        if not is_in_base:
            return f"it was published after {draft} began"
        if any(problem.severity is Severity.ERROR for problem in self.draft.problems):
            return f"it is published, and not in {draft}"  # a file with errors hides its rules
        return (
            f"{draft} changes it" if self.draft.find_record(match.kind, match.rule.record.id) else f"{draft} removes it"
        )


def find_near(
    matcher: Matcher,
    other: OtherState | None,
    request: Request,
    kinds: Collection[Kind] = tuple(Kind),
    kinds_of_other: Collection[Kind] = tuple(Kind),
) -> list[NearMiss]:
    """Return what nearly answers a request that no rule of the matcher answers: rules of the other state come first.

    Of each state only rules of these kinds are returned.
    """
    elsewhere = other.find(request) if other else None
    first = [elsewhere] if elsewhere and elsewhere.match.kind in kinds_of_other else []
    return [*first, *find_near_misses(matcher, request, MOST_NEAR_MISSES - len(first), kinds)]


def _identity(match: Match) -> tuple[bool, str]:
    return match.page is None, match.rule.record.identity
