"""Fixes of rules that are safe: no request gets another answer, or it gets that of its chain's end at once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

from content.changes.flattening import Flattening
from content.changes.spelling import correct_spelling, has_other_encoding, has_other_host
from content.checks.expectations import Expectation
from content.matching.matcher import Matcher, RuleBook
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import Kind

_MOST_ROUNDS = 10  # a fix may make another one possible; two rounds are the most that was ever seen


class FixKind(StrEnum):
    """The kinds of fixes."""

    CHAIN = "chain"
    DUPLICATE = "duplicate"
    HOST = "host"
    ENCODING = "encoding"


@dataclass(slots=True)
class FixedRules:
    """The fixed records by kind, at the positions of the old ones: None for one that was dropped.

    `kept` has the position of the equal record that stays in place of a dropped one, `done` each fix with the kind and
    position of its record.
    """

    records: Mapping[Kind, list[Record | None]]
    kept: dict[tuple[Kind, int], int] = field(default_factory=dict)
    done: list[tuple[FixKind, Kind, int]] = field(default_factory=list)

    @property
    def counts(self) -> Counter[FixKind]:
        """The number of fixes of each kind."""
        return Counter(fix for fix, _, _ in self.done)


def fix_rules(
    redirects: Sequence[Placed[Redirect]],
    pages: Sequence[Placed[Page]],
    expectations: Sequence[Expectation] = (),
    *,
    is_whole: bool = True,
    drops: bool = True,
) -> FixedRules:
    """Fix the rules of a project. Chains are left if it is not `is_whole`: rules that cannot be read may be part of them.

    Without `drops`, exact duplicates stay.
    """
    placed: Mapping[Kind, Sequence[Placed[Record]]] = {Kind.REDIRECTS: redirects, Kind.PAGES: pages}
    fixed = FixedRules({kind: [each.record for each in listed] for kind, listed in placed.items()})
    for _ in range(_MOST_ROUNDS):
        before = len(fixed.done)
        for kind in Kind:
            _correct(fixed, kind)
            if drops:
                _drop_duplicates(fixed, kind)
        if is_whole:
            _flatten(fixed, placed, expectations)
        if len(fixed.done) == before:
            break
    return fixed


def _correct(fixed: FixedRules, kind: Kind) -> None:
    records = fixed.records[kind]
    corrected = [correct_spelling(record) if record else None for record in records]
    taken: dict[str, Record] = {record.identity: record for record in reversed(records) if record}
    contested = set(_contested(records, corrected))
    for position, (record, new) in enumerate(zip(records, corrected, strict=True)):
        if record is None or new is None or new is record:
            continue
        other = taken.get(new.identity)
        is_taken = other is not None or record.identity in contested
        if new.identity != record.identity and is_taken and other != new:
            continue  # two rules with one source are an error: no correction makes one, and none hides one
        taken.setdefault(new.identity, new)
        records[position] = new
        differences = {FixKind.HOST: has_other_host, FixKind.ENCODING: has_other_encoding}
        fixed.done += [(fix, kind, position) for fix, differs in differences.items() if differs(record, new)]


def _contested(records: Sequence[Record | None], corrected: Sequence[Record | None]) -> Iterator[str]:
    """Yield the sources that several rules have with other answers: an error, which another spelling of one would hide."""
    first = dict[str, Record]()
    for record, new in zip(records, corrected, strict=True):
        if record and new and first.setdefault(record.identity, new) != new:
            yield record.identity


def _drop_duplicates(fixed: FixedRules, kind: Kind) -> None:
    records, first = fixed.records[kind], dict[str, int]()
    for position, record in enumerate(records):
        if record is None:
            continue
        earlier = first.setdefault(record.identity, position)
        if earlier != position and records[earlier] == record:
            records[position] = None
            fixed.kept[kind, position] = earlier
            fixed.done.append((FixKind.DUPLICATE, kind, position))


def _flatten(
    fixed: FixedRules, placed: Mapping[Kind, Sequence[Placed[Record]]], expectations: Sequence[Expectation]
) -> None:
    redirects = cast("list[Placed[Redirect]]", list(_left(fixed, placed, Kind.REDIRECTS)))
    pages = cast("list[Placed[Page]]", list(_left(fixed, placed, Kind.PAGES)))
    old = [number for number, record in enumerate(fixed.records[Kind.REDIRECTS]) if record]
    chains = Flattening(Matcher(RuleBook(redirects, pages)), redirects, expectations)
    for each in redirects:
        flat = chains.flatten(each)
        if flat is not each.record:
            fixed.records[Kind.REDIRECTS][old[each.position]] = flat
            fixed.done.append((FixKind.CHAIN, Kind.REDIRECTS, old[each.position]))


def _left(fixed: FixedRules, placed: Mapping[Kind, Sequence[Placed[Record]]], kind: Kind) -> Iterator[Placed[Record]]:
    """Yield the records that are left, at their positions in the new list."""
    position = 0
    for record, each in zip(fixed.records[kind], placed[kind], strict=True):
        if record:
            yield Placed(record, each.file, each.line, position)
            position += 1
