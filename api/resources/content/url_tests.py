"""Tests of URLs in one call: each URL gets its own result, within a limit of time and of bytes for the call.

Those that no rule answers get the rules that nearly match, up to a number of URLs.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, NoReturn

import orjson

from api.http.response import json_views
from api.resources.content.draft_edits import find_faults, read_edits, unknown_record
from content.matching.matcher import Matcher
from content.matching.near_misses import NearMiss
from content.matching.request import Request, parse_request
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.other_state import find_near
from gitstore.errors import UnknownRecord
from gitstore.store.store import Store

# URLs; more of them are tested in a process, since a thread would slow the reads of this worker down.
MOST_IN_THREAD = 100
BODY_LIMIT = 8 * 1024 * 1024  # bytes of a call: 10,000 URLs of 800 characters
MAX_SECONDS = 10.0
MAX_BYTES = 64 * 1024 * 1024
# URLs of a call, each some 0.5 ms, and of 2,000 encoded characters some 7. The next ones that no rule answers get their
# results only, as do those after so many seconds.
MOST_WITH_NEAR = 1000
MAX_NEAR_SECONDS = 2.0

NearFinder = Callable[[Request], Sequence[NearMiss]]


class Visible(NamedTuple):
    """The kinds of rules that a caller may see: in the tested state, and in drafts."""

    kinds: Collection[Kind] = tuple(Kind)
    in_drafts: Collection[Kind] = tuple(Kind)


_EVERYTHING = Visible()


def resolve_answered(matcher: Matcher, urls: Iterable[str], visible: Visible = _EVERYTHING) -> bytes | None:
    """Test the URLs as `resolve_urls` does, if each that is valid gets an answer; None otherwise."""
    try:
        return resolve_urls(matcher, urls, _refuse, kinds=visible.kinds)
    except _Unanswered:
        return None


class _Unanswered(Exception):
    """A URL that no rule answers."""


def _refuse(_: Request) -> NoReturn:
    raise _Unanswered


def resolve_urls(
    matcher: Matcher,
    urls: Iterable[str],
    find_near: NearFinder | None = None,
    clock: Callable[[], float] = time.monotonic,
    kinds: Collection[Kind] = tuple(Kind),
) -> bytes:
    """Test the URLs by a matcher; return the JSON of the results, in the given order, which name only rules of `kinds`.

    `find_near` returns the rules that nearly match, of a URL that no rule answers.
    """
    return b'{"results":[%b]}' % b",".join(_results(matcher, urls, find_near, clock, kinds))


def resolve_urls_at(
    store: Store,
    name: tuple[str, DraftName],
    at: str,
    urls: Iterable[str],
    changes: Sequence[Mapping[str, Any]] = (),
    visible: Visible = _EVERYTHING,
) -> bytes:
    """Test the URLs by the rules of a revision, with changes that nothing stores; see `resolve_urls`.

    Changes with invalid records give their `problems`, and no results. `name` is a namespace and a draft in it.
    Where what is published is tested, the draft is looked into as well, for a caller who may see its redirects.
    """
    namespace, draft = name
    edits = read_edits(changes)
    faults = find_faults(edits, store.drafts.call_budget(namespace, draft), "/changes") if edits else []
    if faults:
        return orjson.dumps({"results": [], "problems": [fault.wire() for fault in faults]})
    try:
        matcher = store.revisions.matcher(namespace, draft.project, at, draft.draft, edits)
    except UnknownRecord as ex:
        raise unknown_record(changes[ex.place], f"/changes/{ex.place}") from ex
    other = cache(
        lambda: (
            None
            if edits or Kind.REDIRECTS not in visible.in_drafts
            else store.revisions.other_state(namespace, draft.project, at, draft.draft)
        )
    )
    return resolve_urls(
        matcher, urls, lambda request: find_near(matcher, other(), request, *visible), kinds=visible.kinds
    )


def _results(
    matcher: Matcher,
    urls: Iterable[str],
    find_near: NearFinder | None,
    clock: Callable[[], float],
    kinds: Collection[Kind],
) -> Iterator[bytes]:
    """Yield a result for each URL; those after the limit of the call are not tested."""
    begun, size, left = clock(), 0, MOST_WITH_NEAR
    for url in urls:
        taken = clock() - begun
        finder = find_near if left and taken < MAX_NEAR_SECONDS else None
        is_within_limits = size < MAX_BYTES and taken < MAX_SECONDS
        found = _result(matcher, url, finder, kinds) if is_within_limits else _not_tested(url)
        left -= "near" in found
        result = orjson.dumps(found)
        size += len(result)
        yield result


_LIMIT_REACHED = "The call reached its limit of time or size; test this URL in another call."


def _result(matcher: Matcher, url: str, find_near: NearFinder | None, kinds: Collection[Kind]) -> dict[str, Any]:
    try:
        request = parse_request(url)
    except ValueError as ex:
        return _problem("bad_url", str(ex), url)
    answer = matcher.answer(request)
    near = find_near(request) if find_near and answer.winner is None else None
    return json_views.answer(url, answer, matcher.follow(request), near, kinds)


def _not_tested(url: str) -> dict[str, Any]:
    return _problem("not_tested", _LIMIT_REACHED, url)


def _problem(code: str, message: str, url: str) -> dict[str, Any]:
    return {"url": url, "problem": {"code": code, "message": message}}
