"""What stops a snapshot from being published: every file, the whole set, and the project's own tests."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from content.canonical import exact_key
from content.diff import Change
from content.expectations import failed_expectations
from content.matching import Matcher
from content.onward import ANY_HOST
from content.problem import Problem, Severity
from content.record import Placed, Redirect
from content.request import Request, parse_key
from content.rule_book import RuleBook
from content.set_rules import HOPS, duplicate_problems, set_problems
from content.vocabulary import Kind
from gitstore.snapshot import RuleFile, Snapshot

EDITION = 1
"""Raise it when what stops a set of rules changes: what was found right by an earlier edition is then checked again."""
_MOST_REQUESTS = 20_000
"""Requests beyond which walking all rules is no slower: 100,000 take about a second."""


def matcher_of(snapshot: Snapshot) -> Matcher:
    """Answers requests as the snapshot's rules do."""
    return Matcher(RuleBook(snapshot.redirects(), snapshot.pages()))


def check_snapshot(snapshot: Snapshot) -> list[Problem]:
    """Every error and warning of a project, those of single rules, of the set, and of its tests."""
    redirects, pages = snapshot.redirects(), snapshot.pages()
    matcher = Matcher(RuleBook(redirects, pages))
    in_set = [*_all_duplicates(redirects, pages), *set_problems(matcher, redirects, pages)]
    found = [*snapshot.problems, *_placed_only(in_set)]
    return sorted([*found, *_failed_tests(snapshot, matcher, found)], key=_by_place)


def check_change(before: Snapshot, snapshot: Snapshot, matcher: Matcher, changes: Sequence[Change]) -> list[Problem]:
    """What `changes` make wrong in a snapshot that was right `before` them; costs what changed, not what exists.

    See `_touched` for what that is.
    """
    files = [problem for problem in snapshot.problems if problem.severity is Severity.ERROR]
    found = [*files, *_placed_only(_new_duplicates(before, snapshot))]
    if not found:
        found = _placed_only(_changed_set_problems(before, snapshot, matcher, changes))
    return [*found, *_failed_tests(snapshot, matcher, found)]


def stopping(snapshot: Snapshot, problems: Iterable[Problem]) -> list[Problem]:
    """The problems that stop a publish: the errors, and with `lint: strict` all of them."""
    return [problem for problem in problems if snapshot.settings.strict or problem.severity is Severity.ERROR]


def _changed_set_problems(
    before: Snapshot, snapshot: Snapshot, matcher: Matcher, changes: Sequence[Change]
) -> list[Problem]:
    touched = _touched(snapshot, matcher, changes) if before.hosts == snapshot.hosts else None
    if touched is not None:
        return set_problems(matcher, touched, snapshot.pages())
    redirects, pages = snapshot.redirects(), snapshot.pages()
    return set_problems(Matcher(RuleBook(redirects, pages)), redirects, pages)  # in memory all are walked sooner


def _touched(snapshot: Snapshot, matcher: Matcher, changes: Sequence[Change]) -> Sequence[Placed[Redirect]] | None:
    """The rules that the changes can have made wrong: those that answer where they were made, and new loops whole.

    An exact rule changes the answers to requests for its own source alone, on each host where the project answers; so
    every new loop leads through one of these, and is found from there. A pattern may answer anywhere, and a host that
    comes to be served lets rules without a host answer there: then it is None, for all rules have to be looked at.
    """
    exact, hosts = _redirects(changes), _reached_hosts(snapshot)
    is_confined = ANY_HOST not in hosts and all(record.type.is_exact for record in exact)
    if not is_confined or len(exact) * len(hosts) > _MOST_REQUESTS:
        return None
    requests = {request for record in exact for request in _requests(record, hosts)}
    keys = {exact_key(record.type.has_host, source) for record in exact for source in _with_path_alone(record.source)}
    at = set(chain.from_iterable(matcher.source.redirects_at(key) for key in keys))
    for request in requests:
        followed = matcher.follow(request, HOPS)
        at |= {hop.match.redirect.position for hop in followed.hops if followed.endless and hop.match.redirect}
    return [matcher.source.redirect(position) for position in sorted(at)]


def _reached_hosts(snapshot: Snapshot) -> set[str | None]:
    """The hosts on which rules without a host can come to answer while a chain is followed; None is an unknown one.

    Those are the hosts that exact rules name; and, since a pattern may answer on a host that only it knows, all that
    targets lead to.
    """
    led_to = snapshot.target_hosts - {""} if snapshot.has_host_patterns else frozenset()
    return {None, *snapshot.hosts, *led_to}


def _requests(record: Redirect, hosts: Iterable[str | None]) -> Iterator[Request]:
    """The requests that an exact rule answers, on these hosts unless it names one."""
    for source in _with_path_alone(record.source):
        key = exact_key(record.type.has_host, source)
        if key:
            request = parse_key(key)
            yield from [request] if record.type.has_host else (request._replace(host=host) for host in hosts)


def _with_path_alone(source: str) -> set[str]:
    """A source, and the one that answers in its place for any other query."""
    return {source, source.partition("?")[0]}


def _redirects(changes: Sequence[Change]) -> list[Redirect]:
    return [record for change in changes for record in (change.old, change.new) if isinstance(record, Redirect)]


def _all_duplicates(*lists: Sequence[Placed[Any]]) -> Iterator[Problem]:
    for placed in lists:
        if len({item.record.identity for item in placed}) != len(placed):
            yield from duplicate_problems(placed)


def _new_duplicates(before: Snapshot, snapshot: Snapshot) -> list[Problem]:
    """Duplicates in a snapshot whose state before had none: only ids that are new in a file can be there twice."""
    found: list[Problem] = []
    for kind in Kind:
        old, new = (_files_beside(kind, *pair) for pair in ((before, snapshot), (snapshot, before)))
        ids = list(chain.from_iterable(file.part.ids for file in new))
        added = set(ids).difference(*(file.part.ids for file in old))
        if len(set(ids)) != len(ids) or (added and _hold(snapshot, kind, new, added)):
            found += duplicate_problems(snapshot.placed(kind))
    return found


def _files_beside(kind: Kind, one: Snapshot, other: Snapshot) -> list[RuleFile]:
    """The files that the other snapshot has not just so."""
    same = {(file.path, file.blob) for file in other.rule_files[kind]}
    return [file for file in one.rule_files[kind] if (file.path, file.blob) not in same]


def _hold(snapshot: Snapshot, kind: Kind, besides: Sequence[RuleFile], ids: Collection[int]) -> bool:
    """Tell whether any other file holds one of the ids."""
    paths = {file.path for file in besides}
    return any(not file.part.id_set.isdisjoint(ids) for file in snapshot.rule_files[kind] if file.path not in paths)


def _failed_tests(snapshot: Snapshot, matcher: Matcher, found: Iterable[Problem]) -> list[Problem]:
    if any(problem.severity is Severity.ERROR for problem in found):
        return []
    return _placed_only(failed_expectations(matcher, snapshot.expectations))


def _placed_only(problems: Iterable[Problem]) -> list[Problem]:
    """Problems of a whole rule: at its file and line, without a pointer, which would be one into the rule alone."""
    return [replace(problem, pointer="") if problem.file else problem for problem in problems]


def _by_place(problem: Problem) -> tuple[str, int, int]:
    return problem.file, problem.line, problem.column
