"""The count of rules that can never answer, after a small change: from the lint of an earlier state and what has changed since.

It costs what the files that differ cost, whatever the project has besides; `lint` stores all rules again. Both check a rule
again for the same reasons, which the docstring of `lint` lists.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial
from itertools import accumulate

from content.cache import LruCache
from content.checks.set_rules import SetCheck
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleSource
from content.records.problem import Problem
from content.records.problem_codes import NEVER_ANSWER, count_never_answering
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.lint import (
    FEW,
    RULES_PER_CHECK,
    RULES_PER_NEAR_LINT,
    Finding,
    Lint,
    Row,
    find_all,
    find_rule_problems,
    list_keys,
)
from gitstore.layout import BlobId

_Rows = frozenset[Row]
_NONE: _Rows = frozenset()
_OTHER_ORDER: _Rows = frozenset({(0, 0, 0)})
# By the contents of a file in both states, for all files that differ from the linted state: of one publish, few are new.
_compared: LruCache[tuple[BlobId, BlobId], _Rows] = LruCache(20_000, weigh=lambda rows: len(rows) + 1)


def count_after_change(before: Lint, snapshot: Snapshot, source: RuleSource) -> int | None:
    """Count the rules of a valid state that can never answer; `source` has its rules, and `before` is an earlier lint.

    None where so much differs, or in such a way, that the whole state has to be linted.
    """
    if not before.lists or before.hosts != snapshot.hosts:
        return None
    lists = {kind: _ChangedList(before, snapshot, kind) for kind in Kind}
    if not all(each.is_comparable for each in lists.values()):
        return None
    differing = {kind: each.differing_rows() for kind, each in lists.items()}
    keys = {key for rows in differing.values() for _, _, key in rows}
    total = sum(len(before.lists[kind].ids) for kind in Kind)
    if 0 in keys or sum(map(len, differing.values())) * RULES_PER_NEAR_LINT > total:
        return None
    touched = {
        kind: {row[0] for row in differing[kind]} | before.lists[kind].owners_of(keys) for kind, each in lists.items()
    }
    if sum(map(len, touched.values())) * RULES_PER_CHECK > total:
        return None
    unchanged = [
        lists[finding.kind].moved(finding)
        for finding in before.findings
        if finding.kind and finding.problem.code in NEVER_ANSWER and finding.owner not in touched[finding.kind]
    ]
    return count_never_answering([*snapshot.problems, *unchanged, *_check(lists, touched, source)])


def _check(
    lists: Mapping[Kind, "_ChangedList"], touched: Mapping[Kind, Collection[int]], source: RuleSource
) -> Iterator[Problem]:
    """Yield the problems of the touched rules that there still are."""
    check = SetCheck(Matcher(source))
    for kind, changed in lists.items():
        for position in changed.positions(touched[kind]):
            yield from find_rule_problems(check, source, kind, position)


class _ChangedList:
    """The rules of one kind in a linted state and in a later one."""

    def __init__(self, before: Lint, snapshot: Snapshot, kind: Kind) -> None:
        self._rules = before.lists[kind]
        self._old = before.files[kind]
        self._snapshot = snapshot
        self._files = snapshot.rule_files[kind]
        self._index: dict[int, int] = {}  # the places of ids before, where many are looked for

    @property
    def is_comparable(self) -> bool:
        """True if the same files are in the same order."""
        return [each.path for each in self._old] == [each.path for each in self._files]

    @cached_property
    def _differing(self) -> dict[int, None]:
        """The numbers of the files with another content."""
        pairs = enumerate(zip(self._old, self._files, strict=True))
        return {number: None for number, (old, new) in pairs if old.blob != new.blob}

    @cached_property
    def _differing_paths(self) -> frozenset[str]:
        return frozenset(self._snapshot.full_path(self._files[number].path) for number in self._differing)

    @cached_property
    def _old_starts(self) -> list[int]:
        return list(accumulate((each.size for each in self._old), initial=0))

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(each.segment) for each in self._files), initial=0))

    @cached_property
    def _ids(self) -> bytes:
        return self._rules.ids.tobytes()

    def differing_rows(self) -> _Rows:
        """Return id, fingerprint and key of the rules that are in one state only.

        A file whose other rules are in another order has a row without a key.
        """
        pairs = ((self._old[number].blob, self._files[number].blob, number) for number in self._differing)
        return _NONE.union(*(_compared.get((old, new), partial(self._compare, number)) for old, new, number in pairs))

    def _compare(self, number: int) -> _Rows:
        segment = self._files[number].segment
        old = list(self._rules.rows(*self._old_starts[number : number + 2]))
        new = list(zip(segment.ids, segment.fingerprints, list_keys(segment), strict=True))
        rows = frozenset(old) ^ frozenset(new)
        before, after = ([row for row in each if row not in rows] for each in (old, new))
        return rows if before == after else _OTHER_ORDER

    def positions(self, ids: Collection[int]) -> Iterator[int]:
        """Yield the positions of rules in the later state; removed rules have none."""
        if len(ids) > FEW:
            self._index = {number: at for at, number in enumerate(self._rules.ids)}
        for each in ids:
            at = self._place(each)
            if at is not None:
                yield self._starts[at[0]] + at[1]

    def moved(self, finding: Finding) -> Problem:
        """Return the problem of an unchanged rule at its place in the later state."""
        if finding.problem.file not in self._differing_paths:  # a rule that changed its file is in both of them
            return finding.problem
        at = self._place(finding.owner)
        if at is None or at[0] not in self._differing:
            return finding.problem
        file = self._files[at[0]]
        return finding.problem.at(self._snapshot.full_path(file.path), file.segment.lines[at[1]])

    def _place(self, owner: int) -> tuple[int, int] | None:
        """Return the number of a rule's file, and its position there; None for a rule that was removed."""
        for number in self._differing:
            at = self._files[number].segment.place_of(owner)
            if at is not None:
                return number, at
        index = self._index.get(owner) if self._index else next(find_all(self._ids, owner), None)
        if index is None:
            return None
        number = bisect_right(self._old_starts, index) - 1
        return None if number in self._differing else (number, index - self._old_starts[number])
