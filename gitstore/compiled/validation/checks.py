"""The checks of a snapshot before a publish: of every file, of the whole set, and the project's own tests."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from content.changes.diff import Change
from content.checks.expectations import failed_expectations
from content.checks.set_rules import MAX_HOPS, duplicate_problems, listed_problems, set_problems
from content.matching.canonical import exact_key
from content.matching.hashed_rules import HashedRules
from content.matching.matcher import Matcher
from content.matching.onward import ANY_HOST
from content.matching.request import Request, parse_key
from content.matching.rule_book import RuleBook
from content.records.problem import Problem, Severity
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import differing_files
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.snapshot_rules import SnapshotRedirects

# Raise it when checks of the set block more or less than before: sets that an earlier edition validated are checked
# again.
EDITION = 1
MANY_RULES = 50_000
"""Redirects above which a state is checked file by file."""
# Requests; with more of them, a walk over all rules is as fast (100,000 take about a second).
_MAX_REQUESTS = 20_000
CheckSet = Callable[[Matcher, Sequence[Placed[Redirect]], Sequence[Placed[Page]]], list[Problem]]


def build_matcher(snapshot: Snapshot) -> Matcher:
    """Build a matcher that answers requests by the snapshot's rules."""
    return Matcher(RuleBook(snapshot.redirects(), snapshot.pages()))


def check_snapshot(snapshot: Snapshot, check_set: CheckSet | None = None) -> list[Problem]:
    """Return every error and warning of a project: of single rules, of the set, and of its tests.

    `check_set` does what `set_problems` does, such as on all cores, with all rules in memory.
    """
    if check_set:
        matcher, in_set = check_together(snapshot, check_set)
    else:
        matcher, in_set = (check_many if snapshot.count(Kind.REDIRECTS) > MANY_RULES else check_together)(snapshot)
    found = [*snapshot.problems, *without_pointer(in_set)]
    return sorted([*found, *find_failed_tests(snapshot, matcher, found)], key=_by_position)


def check_together(snapshot: Snapshot, check_set: CheckSet = set_problems) -> tuple[Matcher, list[Problem]]:
    """Return a matcher of the rules, and their problems among each other."""
    redirects, pages = snapshot.redirects(), snapshot.pages()
    matcher = Matcher(RuleBook(redirects, pages))
    return matcher, [*_all_duplicates(redirects, pages), *check_set(matcher, redirects, pages)]


def check_many(snapshot: Snapshot) -> tuple[Matcher, list[Problem]]:
    """Do the same file by file: the redirects are built again when they are read, so that few are in memory."""
    redirects, pages = SnapshotRedirects(snapshot), snapshot.pages()
    rules = HashedRules(redirects, pages, redirects.sources())
    matcher = Matcher(rules)
    are_unique = len(set(redirects.ids())) == len(redirects)
    duplicates = _all_duplicates(*(() if are_unique else (snapshot.redirects(),)), pages)
    in_set = listed_problems(matcher, rules, enumerate(redirects))
    return matcher, [*duplicates, *in_set, *set_problems(matcher, (), pages)]


def check_change(before: Snapshot, snapshot: Snapshot, matcher: Matcher, changes: Sequence[Change]) -> list[Problem]:
    """Return the problems that `changes` cause in a snapshot that was valid `before` them.

    The cost depends on the changes, not on the project; see `_touched` for the rules that are checked.
    """
    files = [problem for problem in snapshot.problems if problem.severity is Severity.ERROR]
    found = [*files, *without_pointer(_new_duplicates(before, snapshot))]
    if not found:
        found = without_pointer(_changed_set_problems(before, snapshot, matcher, changes))
    return [*found, *find_failed_tests(snapshot, matcher, found)]


def find_blocking_problems(snapshot: Snapshot, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that block a publish: the errors, and with `lint: strict` all of them."""
    return [problem for problem in problems if snapshot.settings.strict or problem.severity is Severity.ERROR]


def _changed_set_problems(
    before: Snapshot, snapshot: Snapshot, matcher: Matcher, changes: Sequence[Change]
) -> list[Problem]:
    touched = _touched(snapshot, matcher, changes) if before.hosts == snapshot.hosts else None
    if touched is not None:
        return set_problems(matcher, touched, snapshot.pages())
    redirects, pages = snapshot.redirects(), snapshot.pages()
    return set_problems(
        Matcher(RuleBook(redirects, pages)), redirects, pages
    )  # a walk over all rules is faster in memory


def _touched(snapshot: Snapshot, matcher: Matcher, changes: Sequence[Change]) -> Sequence[Placed[Redirect]] | None:
    """Return the rules that the changes can make invalid: rules at the same sources, and all rules of new loops.

    An exact rule changes only the answers to requests for its own source, on each host of the project. So every new
    loop leads through one of these requests, and is found from there. A pattern can answer anywhere, and a host that is
    newly served lets rules without a host answer there: then the result is None, and all rules have to be checked.
    """
    exact, hosts = _redirects(changes), _reached_hosts(snapshot)
    is_confined = ANY_HOST not in hosts and all(record.type.is_exact for record in exact)
    if not is_confined or len(exact) * len(hosts) > _MAX_REQUESTS:
        return None
    requests = {request for record in exact for request in _requests(record, hosts)}
    keys = {exact_key(record.type.has_host, source) for record in exact for source in _with_path_alone(record.source)}
    at = set(chain.from_iterable(matcher.source.redirects_at(key) for key in keys))
    for request in requests:
        followed = matcher.follow(request, MAX_HOPS)
        at |= {hop.match.redirect.position for hop in followed.hops if followed.is_endless and hop.match.redirect}
    return [matcher.source.redirect(position) for position in sorted(at)]


def _reached_hosts(snapshot: Snapshot) -> set[str | None]:
    """Return the hosts on which rules without a host can answer while a chain is followed; None is an unknown host.

    These are the hosts of exact rules. A pattern can answer on a host that no other rule names; with one, all hosts of
    targets are added.
    """
    led_to = snapshot.target_hosts - {""} if snapshot.has_host_patterns else frozenset()
    return {None, *snapshot.hosts, *led_to}


def _requests(record: Redirect, hosts: Iterable[str | None]) -> Iterator[Request]:
    """Yield the requests that an exact rule answers, on these hosts unless it names one."""
    for source in _with_path_alone(record.source):
        key = exact_key(record.type.has_host, source)
        if key:
            request = parse_key(key)
            yield from [request] if record.type.has_host else (request._replace(host=host) for host in hosts)


def _with_path_alone(source: str) -> set[str]:
    """Return a source, and its path alone, which answers instead for any other query."""
    return {source, source.partition("?")[0]}


def _redirects(changes: Sequence[Change]) -> list[Redirect]:
    return [record for change in changes for record in (change.old, change.new) if isinstance(record, Redirect)]


def _all_duplicates(*lists: Sequence[Placed[Any]]) -> Iterator[Problem]:
    for placed in lists:
        if len({item.record.identity for item in placed}) != len(placed):
            yield from duplicate_problems(placed)


def _new_duplicates(before: Snapshot, snapshot: Snapshot) -> list[Problem]:
    """Find duplicates in a snapshot whose state before had none: only ids that are new in a file can be duplicates."""
    found: list[Problem] = []
    for kind in Kind:
        lists = [state.rule_files[kind] for state in (before, snapshot)]
        old, new = differing_files(*lists), differing_files(*reversed(lists))
        ids = list(chain.from_iterable(file.segment.ids for file in new))
        added = set(ids).difference(*(file.segment.ids for file in old))
        paths = {file.path for file in new}
        elsewhere = (file for file in snapshot.files_with(kind, added) if file.path not in paths)
        if len(set(ids)) != len(ids) or any(elsewhere):
            found += duplicate_problems(snapshot.placed(kind))
    return found


def find_failed_tests(snapshot: Snapshot, matcher: Matcher, found: Iterable[Problem]) -> list[Problem]:
    """Return the failed tests of a project; they are run only if there is no error."""
    if any(problem.severity is Severity.ERROR for problem in found):
        return []
    return without_pointer(failed_expectations(matcher, snapshot.expectations))


def without_pointer(problems: Iterable[Problem]) -> list[Problem]:
    """Remove the pointers from problems of a whole rule, which has file and line: they are relative to the rule."""
    return [replace(problem, pointer="") if problem.file else problem for problem in problems]


def _by_position(problem: Problem) -> tuple[str, int, int]:
    return problem.file, problem.line, problem.column
