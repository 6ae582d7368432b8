"""The lint of a state: every error and warning, cached, and after a small change computed only for what it touches.

With the problems of each rule, a lint keeps the keys that its check looked up. A rule is checked again if it changed, if
a rule with one of its keys did, or if its message names the place of another rule. All rules are checked again if the
order, a pattern or the served hosts changed, or if sources are used twice.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from content.checks.set_rules import SetCheck
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook, RuleSource
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.compiled.segments.key_table import POSITION_BITS, key_base
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.checks import check_snapshot, find_failed_tests, without_pointer
from gitstore.compiled.validation.snapshot_rules import SnapshotRules
from gitstore.layout import BlobId

# The messages of these problems name the place of another rule, which may move.
_NAMING_PLACES = frozenset({"shadowed", "page_unreachable"})
# If more rules than one in so many have to be checked, checking all of them is faster.
RULES_PER_CHECK = 4
RULES_PER_NEAR_LINT = 100  # for each differing rule, that of either side
_POSITION = (1 << POSITION_BITS) - 1
_NUMBER_BYTES = 8
FEW = 16  # ids and other numbers that are looked for one by one


Row = tuple[int, int, int]
"""A rule: its id, its fingerprint, and the hash of its key."""
CheckedLists = Mapping[Kind, "CheckedList"]


class LintedFile(NamedTuple):
    """A file of rules in a linted state: its path in the project, its content, and the number of its rules."""

    path: str
    blob: BlobId
    size: int


class Finding(NamedTuple):
    """A problem, with the kind and id of the rule that has it among the others; no kind for other problems."""

    problem: Problem
    kind: Kind | None = None
    owner: int = 0


@dataclass(slots=True)
class CheckedList:
    """The checked rules of one kind, in order: ids, fingerprints, and the hashes of their keys (0 for no key).

    `looked_up` has the hashes of the keys that the checks looked up, and `owners` the ids of the checked rules.
    """

    ids: "array[int]"
    fingerprints: "array[int]"
    keys: "array[int]"
    looked_up: "array[int]" = field(default_factory=lambda: array("Q"))
    owners: "array[int]" = field(default_factory=lambda: array("Q"))

    def extend(self, other: "CheckedList", start: int, end: int) -> None:
        """Add the rules of another list between two positions, without what their checks looked up."""
        self.ids.extend(other.ids[start:end])
        self.fingerprints.extend(other.fingerprints[start:end])
        self.keys.extend(other.keys[start:end])

    def rows(self, start: int, end: int) -> Iterable["Row"]:
        """Return the rules between two positions."""
        return zip(self.ids[start:end], self.fingerprints[start:end], self.keys[start:end], strict=True)

    def owners_of(self, keys: Collection[int]) -> set[int]:
        """Return the ids of the rules whose check looked up any of these keys."""
        return {self.owners[at] for at in find_numbers(self.looked_up, keys)}


@dataclass(frozen=True, slots=True)
class Lint:
    """The findings of a state in the order of their places, and the parts that the next lint needs.

    `lists` is empty where a source or path is used twice: the next lint then checks everything. Otherwise it has the rules
    of `files`, one after the other.
    """

    findings: Sequence[Finding]
    hosts: frozenset[str]
    lists: CheckedLists
    files: Mapping[Kind, Sequence[LintedFile]]

    def problems(self) -> list[Problem]:
        """Return every error and warning."""
        return [finding.problem for finding in self.findings]


def lint_snapshot(snapshot: Snapshot, before: Lint | None = None) -> Lint:
    """Find every error and warning of a state, as `check_snapshot` does; `before` is the lint of any state, for speed."""
    lists = {kind: _read_list(snapshot, kind, before) for kind in Kind}
    if any(_has_repeated(each.ids, before.lists.get(kind) if before else None) for kind, each in lists.items()):
        return Lint([Finding(problem) for problem in check_snapshot(snapshot)], snapshot.hosts, {}, {})
    changed = _changed_rules(snapshot, lists, before) if before else None
    if before is None or changed is None:
        source: RuleSource = RuleBook(snapshot.redirects(), snapshot.pages())
        findings = _check(lists, {kind: set(each.ids) for kind, each in lists.items()}, source)
    else:
        source = SnapshotRules(snapshot)
        findings = [*_reuse(lists, changed, before), *_check(lists, changed, source)]
    files = {
        kind: [LintedFile(file.path, file.blob, len(file.segment)) for file in files]
        for kind, files in snapshot.rule_files.items()
    }
    return Lint(_in_order(snapshot, lists, findings, Matcher(source)), snapshot.hosts, lists, files)


def _has_repeated(ids: "array[int]", before: CheckedList | None) -> bool:
    """Tell whether an id is there twice; a checked list before has each once, and most edits leave the ids as they are."""
    return (before is None or before.ids != ids) and len(set(ids)) != len(ids)


def _read_list(snapshot: Snapshot, kind: Kind, before: Lint | None) -> CheckedList:
    """Read the rules of a state; those of files that the lint before has are copied."""
    found = CheckedList(array("Q"), array("Q"), array("Q"))
    known = {(file.path, file.blob): start for file, start in _begin(before, kind)} if before else {}
    for file in snapshot.rule_files[kind]:
        start = known.get((file.path, file.blob))
        if before and start is not None:
            found.extend(before.lists[kind], start, start + len(file.segment))
            continue
        found.ids.extend(file.segment.ids)
        found.fingerprints.extend(file.segment.fingerprints)
        found.keys.extend(list_keys(file.segment))
    return found


def _begin(lint: Lint, kind: Kind) -> Iterator[tuple[LintedFile, int]]:
    """Yield the files of a lint, each with the position of its first rule."""
    files = lint.files.get(kind, ())
    return zip(files, accumulate((file.size for file in files), initial=0), strict=False)


def list_keys(segment: Segment) -> "array[int]":
    """Return the hash of each record's key, 0 for none."""
    keys = array("Q", bytes(8 * len(segment)))
    for entry in segment.keys:
        keys[entry & _POSITION] = entry >> POSITION_BITS
    return keys


def _changed_rules(snapshot: Snapshot, lists: CheckedLists, before: Lint) -> dict[Kind, set[int]] | None:
    """Return the ids of the rules to check by kind; None if all rules have to be checked."""
    if not before.lists or before.hosts != snapshot.hosts:
        return None
    changed: dict[Kind, set[int]] = {}
    keys: set[int] = set()
    for kind in Kind:
        old, new = _list_parts(snapshot, lists, before, kind)
        differing = {part for part in {*old} ^ {*new} if not isinstance(part, str)}
        changed[kind] = {row[0] for row in differing}
        keys |= {row[2] for row in differing}
        if 0 in keys or _without(old, changed[kind]) != _without(new, changed[kind]):
            return None
    for kind in Kind:
        changed[kind] |= before.lists[kind].owners_of(keys)
    for finding in before.findings:
        if finding.kind and finding.problem.code in _NAMING_PLACES:
            changed[finding.kind].add(finding.owner)
    is_small = sum(map(len, changed.values())) * RULES_PER_CHECK < sum(len(each.ids) for each in lists.values())
    return changed if is_small else None


_Part = str | Row


def _list_parts(snapshot: Snapshot, lists: CheckedLists, before: Lint, kind: Kind) -> tuple[list[_Part], list[_Part]]:
    """Return the rules before and now, in order: a file that both states have by its path, the rules of others by their rows."""
    files = snapshot.rule_files[kind]
    starts = accumulate((len(file.segment) for file in files), initial=0)
    now = [
        (LintedFile(file.path, file.blob, len(file.segment)), start) for file, start in zip(files, starts, strict=False)
    ]
    same = frozenset(before.files[kind]) & {file for file, _ in now}
    return _join(_begin(before, kind), before.lists[kind], same), _join(now, lists[kind], same)


def _join(files: Iterable[tuple[LintedFile, int]], rules: CheckedList, same: Collection[LintedFile]) -> list[_Part]:
    parts: list[_Part] = []
    for file, start in files:
        parts += (file.path,) if file in same else rules.rows(start, start + file.size)
    return parts


def _without(parts: Iterable[_Part], changed: Collection[int]) -> list[_Part]:
    """Return what has not changed, in its order, which decides between equal rules."""
    return [part for part in parts if isinstance(part, str) or part[0] not in changed]


def find_numbers(numbers: "array[int]", wanted: Collection[int]) -> list[int]:
    """Return the positions of some numbers, in order; few are looked for in memory, which is faster than a loop."""
    if len(wanted) > FEW:
        return [at for at, number in enumerate(numbers) if number in wanted]
    data = numbers.tobytes()
    return sorted(at for each in wanted for at in find_all(data, each))


def find_all(numbers: bytes, wanted: int) -> Iterator[int]:
    """Yield the positions of a number in an array of 64-bit numbers."""
    data = array("Q", [wanted]).tobytes()
    at = numbers.find(data)
    while at >= 0:
        if at % _NUMBER_BYTES == 0:
            yield at // _NUMBER_BYTES
        at = numbers.find(data, at + 1)


def _reuse(lists: CheckedLists, changed: Mapping[Kind, Collection[int]], before: Lint) -> Iterator[Finding]:
    """Yield the findings of the rules that are not checked again, and take their look-ups over."""
    for kind, rules in lists.items():
        old, checked = before.lists[kind], changed[kind]
        start = 0
        for at in (*find_numbers(old.owners, checked), len(old.owners)):
            rules.owners.extend(old.owners[start:at])
            rules.looked_up.extend(old.looked_up[start:at])
            start = at + 1
    for finding in before.findings:
        if finding.kind and finding.owner not in changed[finding.kind]:
            yield finding


def _check(lists: CheckedLists, ids: Mapping[Kind, Collection[int]], source: RuleSource) -> list[Finding]:
    """Check the rules with these ids, and note the keys that their checks look up."""
    recorder = _Recorder(source)
    check = SetCheck(Matcher(recorder))
    found = []
    for kind, rules in lists.items():
        for position in find_numbers(rules.ids, ids[kind]):
            owner = rules.ids[position]
            problems = find_rule_problems(check, source, kind, position)
            found += [Finding(problem, kind, owner) for problem in without_pointer(problems)]
            for key in recorder.take():
                rules.looked_up.append(key)
                rules.owners.append(owner)
    return found


def find_rule_problems(check: SetCheck, source: RuleSource, kind: Kind, position: int) -> list[Problem]:
    """Return the problems of one rule among the others, at its place."""
    if kind is Kind.PAGES:
        return check.page_problems(source.page(position))
    return check.redirect_problems(source.redirect(position))


class _Recorder:
    """A source of rules that notes the hashes of the keys that are looked up."""

    def __init__(self, source: RuleSource) -> None:
        self._source = source
        self._keys: set[str] = set()
        self.redirect, self.page = source.redirect, source.page
        self.patterns, self.hosts = source.patterns, source.hosts

    def redirects_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        self._keys.add(key)
        return self._source.redirects_at(key)

    def pages_at(self, key: str) -> Sequence[int]:
        """See `RuleSource`."""
        self._keys.add(key)
        return self._source.pages_at(key)

    def take(self) -> Iterable[int]:
        """Return the hashes since the last call."""
        found = [key_base(key) >> POSITION_BITS for key in self._keys]
        self._keys.clear()
        return found


def _in_order(snapshot: Snapshot, lists: CheckedLists, findings: Iterable[Finding], matcher: Matcher) -> list[Finding]:
    """Return all findings by their place: those of files, of the set with the places of today, and failed tests."""
    by_owner: dict[Kind | None, dict[int, list[Finding]]] = {kind: {} for kind in Kind}
    for finding in findings:
        by_owner[finding.kind].setdefault(finding.owner, []).append(finding)
    rules = SnapshotRules(snapshot)
    found = [Finding(problem) for problem in snapshot.problems]
    for kind, each in lists.items():
        of_kind = by_owner[kind]
        for position in find_numbers(each.ids, of_kind):
            place = rules.place(kind, position)
            found += [_at(finding, *place) for finding in of_kind[each.ids[position]]]
    tests = find_failed_tests(snapshot, matcher, [finding.problem for finding in found])
    return sorted([*found, *(Finding(problem) for problem in tests)], key=_by_position)


def _at(finding: Finding, file: str, line: int) -> Finding:
    problem = finding.problem
    if problem.line == line and problem.file == file:
        return finding
    return Finding(problem.at(file, line), finding.kind, finding.owner)


def _by_position(finding: Finding) -> tuple[str, int, int]:
    problem = finding.problem
    return problem.file, problem.line, problem.column
