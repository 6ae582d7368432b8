"""What a change of the rules does beyond the rules that it names: chains, loops and hidden rules, and other answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from content.canonical import exact_key
from content.diff import Change, item_kind
from content.match import Match
from content.matching import Matcher
from content.pattern_shape import literal_head
from content.problem import Problem
from content.record import Page, Placed, Redirect
from content.request import Request, parse_key, request_for
from content.set_rules import set_problems
from content.vocabulary import Kind

EFFECTS = frozenset(
    {"chain", "redirect_loop", "shadowed", "regex_unreachable", "regex_matches_target", "page_unreachable"}
)
"""The problems that a rule has among others."""
_OF_BOTH_KINDS = frozenset({"page_unreachable"})


@dataclass(frozen=True, slots=True)
class Effect:
    """A problem of one rule among the others: its code, the rule, and a sentence."""

    rule: Placed[Redirect] | Placed[Page]
    problem: Problem

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of records that it tells of."""
        own = Kind.PAGES if isinstance(self.rule.record, Page) else Kind.REDIRECTS
        return frozenset(Kind) if self.problem.code in _OF_BOTH_KINDS else frozenset({own})

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API."""
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


class Reply(NamedTuple):
    """What a request is answered with: a status, and the location of a redirect; None for no answer at all."""

    status: int
    location: str | None

    def __str__(self) -> str:
        return f"{self.status} {self.location or 'page'}"


@dataclass(frozen=True, slots=True)
class OtherAnswer:
    """A request that is answered otherwise; `kinds` are those of the rules that answer it, before or after."""

    request: Request
    before: Reply | None
    after: Reply | None
    kinds: frozenset[Kind]

    @property
    def text(self) -> str:
        """Such as `/a: 301 /b -> 301 /c`."""
        return f"{self.request.text}: {self.before or 'nothing'} -> {self.after or 'nothing'}"

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API."""
        before, after = (side._asdict() if side else None for side in (self.before, self.after))
        return {"request": self.request.text, "before": before, "after": after, "text": self.text}


@dataclass(frozen=True, slots=True)
class Impact:
    """What appears, what goes, and which requests of changed rules are answered otherwise."""

    appears: Sequence[Effect]
    goes: Sequence[Effect]
    answers: Sequence[OtherAnswer]


class State(NamedTuple):
    """The rules of a project at one moment, and what answers by them."""

    matcher: Matcher
    redirects: Sequence[Placed[Redirect]]
    pages: Sequence[Placed[Page]]


def find_impact(before: State, after: State, changes: Iterable[Change]) -> Impact:
    """What the changes that lead from one state to the other do; its cost is that of checking both states."""
    old, new = _effects(before), _effects(after)
    return Impact(
        [effect for key, effect in new.items() if key not in old],
        [effect for key, effect in old.items() if key not in new],
        list(_other_answers(before.matcher, after.matcher, changes)),
    )


def _effects(state: State) -> Mapping[tuple[bool, str, str], Effect]:
    """By rule and code: places and sentences may change where the effect does not."""
    redirects = [Placed(placed.record, placed.file, number) for number, placed in enumerate(state.redirects)]
    pages = [Placed(placed.record, placed.file, number) for number, placed in enumerate(state.pages)]
    # numbers stand in for lines, which several rules may share
    hidden = (Effect(state.pages[each.line], each) for each in set_problems(state.matcher, (), pages))
    found = (Effect(state.redirects[each.line], each) for each in set_problems(state.matcher, redirects, ()))
    return {
        (isinstance(each.rule.record, Page), each.rule.record.identity, each.problem.code): each
        for each in (*found, *hidden)
        if each.problem.code in EFFECTS
    }


def _other_answers(before: Matcher, after: Matcher, changes: Iterable[Change]) -> Iterator[OtherAnswer]:
    for request in dict.fromkeys(request for change in changes for request in _requests(change)):
        old, new = before.match(request), after.match(request)
        if _reply(old) != _reply(new):
            kinds = frozenset(kind for match in (old, new) if match for kind in [_kind(match)])
            yield OtherAnswer(request, _reply(old), _reply(new), kinds)


def _requests(change: Change) -> Iterator[Request]:
    """The requests that a changed rule is for, as far as its source names them one by one."""
    for record in (change.old, change.new):
        if isinstance(record, Redirect) and not record.type.is_exact:
            yield from _named_by(record)
        elif record is not None and (key := exact_key(record.type.has_host, record.identity)):
            yield parse_key(key)


def _named_by(pattern: Redirect) -> Iterator[Request]:
    head = literal_head(pattern.source)
    for text in head.texts if head else ():
        if key := exact_key(pattern.type.has_host, text):
            yield parse_key(key) if pattern.type.has_host else request_for(None, text)


def _reply(match: Match | None) -> Reply | None:
    return Reply(match.status, match.location if match.redirect else None) if match else None


def _kind(match: Match) -> Kind:
    return Kind.REDIRECTS if match.redirect else Kind.PAGES
