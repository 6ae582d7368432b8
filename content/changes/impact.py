"""The impact of a change on other rules and on answers: chains, loops, hidden rules and changed responses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from content.changes.diff import Change, item_kind
from content.checks.set_rules import set_problems
from content.matching.canonical import exact_key
from content.matching.matcher import Matcher
from content.matching.pattern_shape import literal_prefix
from content.matching.request import Request, parse_key, request_for
from content.records.problem import Problem
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import Kind

# Problems that a rule has only among other rules.
EFFECT_CODES = frozenset(
    {"chain", "redirect_loop", "shadowed", "regex_unreachable", "regex_matches_target", "page_unreachable"}
)
# Asked of one state and then of the other: the rules of both together may be more than stay in memory.
_REQUESTS_OF_ONE_STATE = 10_000
_CODES_OF_BOTH_KINDS = frozenset({"page_unreachable"})


@dataclass(frozen=True, slots=True)
class Effect:
    """A problem that a rule has among the other rules."""

    rule: Placed[Redirect] | Placed[Page]
    problem: Problem

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of records that the problem is about."""
        own = Kind.PAGES if isinstance(self.rule.record, Page) else Kind.REDIRECTS
        return frozenset(Kind) if self.problem.code in _CODES_OF_BOTH_KINDS else frozenset({own})

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API."""
        record = self.rule.record
        name = "path" if isinstance(record, Page) else "source"
        return {
            "kind": item_kind(Kind.PAGES if isinstance(record, Page) else Kind.REDIRECTS),
            "id": record.id,
            name: record.identity,
            "code": self.problem.code,
            "severity": self.problem.severity.value,
            "file": self.rule.file,
            "line": self.rule.line,
            "message": self.problem.message,
        }


class RuleResponse(NamedTuple):
    """The answer to a request: a status, and the location of a redirect."""

    status: int
    location: str | None

    def __str__(self) -> str:
        return f"{self.status} {self.location or 'page'}"


@dataclass(frozen=True, slots=True)
class ChangedResponse:
    """A request with another answer than before (None: no answer); `kinds` are those of the rules that answer it."""

    request: Request
    before: RuleResponse | None
    after: RuleResponse | None
    kinds: frozenset[Kind]

    @property
    def text(self) -> str:
        """A line such as `/a: 301 /b -> 301 /c`."""
        return f"{self.request.text}: {self.before or 'nothing'} -> {self.after or 'nothing'}"

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API."""
        before, after = (side._asdict() if side else None for side in (self.before, self.after))
        return {"request": self.request.text, "before": before, "after": after, "text": self.text}


@dataclass(frozen=True, slots=True)
class Impact:
    """Added and removed effects, and the requests of changed rules that have another answer.

    With `has_patterns`, a regular expression changed: of its requests only examples are among them.
    """

    added_effects: Sequence[Effect]
    removed_effects: Sequence[Effect]
    changed_responses: Sequence[ChangedResponse]
    has_patterns: bool = False


class RuleSet(NamedTuple):
    """The rules of a project in one state, and their matcher."""

    matcher: Matcher
    redirects: Sequence[Placed[Redirect]]
    pages: Sequence[Placed[Page]]


def find_impact(before: RuleSet, after: RuleSet, changes: Sequence[Change]) -> Impact:
    """Find the impact of the changes from one state to the other; costs as much as checking both states."""
    old, new = _effects(before), _effects(after)
    return Impact(
        [effect for key, effect in new.items() if key not in old],
        [effect for key, effect in old.items() if key not in new],
        list(find_changed_responses(before.matcher, after.matcher, changes)),
        has_changed_pattern(changes),
    )


def has_changed_pattern(changes: Iterable[Change]) -> bool:
    """Tell whether a rule with a regular expression changes: its requests cannot be listed."""
    sides = (record for change in changes for record in (change.old, change.new))
    return any(isinstance(record, Redirect) and not record.type.is_exact for record in sides)


def _effects(state: RuleSet) -> Mapping[tuple[bool, str, str], Effect]:
    """Return effects by rule and code: places and sentences may change where the effect does not."""
    redirects = [Placed(placed.record, placed.file, number) for number, placed in enumerate(state.redirects)]
    pages = [Placed(placed.record, placed.file, number) for number, placed in enumerate(state.pages)]
    # list indexes in place of lines, which several rules may share
    hidden = (Effect(state.pages[each.line], each) for each in set_problems(state.matcher, (), pages))
    found = (Effect(state.redirects[each.line], each) for each in set_problems(state.matcher, redirects, ()))
    return {
        (isinstance(each.rule.record, Page), each.rule.record.identity, each.problem.code): each
        for each in (*found, *hidden)
        if each.problem.code in EFFECT_CODES
    }


def find_changed_responses(before: Matcher, after: Matcher, changes: Iterable[Change]) -> Iterator[ChangedResponse]:
    """Yield the requests of changed rules that get another answer; costs a few matches for each change."""
    requests = iter(dict.fromkeys(request for change in changes for request in _requests(change)))
    while some := list(islice(requests, _REQUESTS_OF_ONE_STATE)):
        olds = [_answer(before, request) for request in some]
        for request, old in zip(some, olds, strict=True):
            new = _answer(after, request)
            if old.response != new.response:
                yield ChangedResponse(request, old.response, new.response, old.kinds | new.kinds)


class _Answer(NamedTuple):
    """The response to a request, and the kind of its rule; without a rule there is neither."""

    response: RuleResponse | None = None
    kinds: frozenset[Kind] = frozenset()


_NO_ANSWER = _Answer()


def _answer(matcher: Matcher, request: Request) -> _Answer:
    match = matcher.match(request)
    if match is None:
        return _NO_ANSWER
    return _Answer(RuleResponse(match.status, match.location if match.redirect else None), frozenset({match.kind}))


def _requests(change: Change) -> Iterator[Request]:
    """Yield the requests that a changed rule applies to, as far as its source lists them one by one."""
    for record in (change.old, change.new):
        if isinstance(record, Redirect) and not record.type.is_exact:
            yield from _literal_requests(record)
        elif record is not None and (key := exact_key(record.type.has_host, record.identity)):
            yield parse_key(key)


def _literal_requests(pattern: Redirect) -> Iterator[Request]:
    prefix = literal_prefix(pattern.source)
    for text in prefix.texts if prefix else ():
        if key := exact_key(pattern.type.has_host, text):
            yield parse_key(key) if pattern.type.has_host else request_for(None, text)
