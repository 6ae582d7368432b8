"""Tests of URLs in one call: each URL gets its own result, within a limit of time and of bytes for the call."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from api.http.response import json_views
from api.resources.content.draft_edits import find_faults, read_edits, unknown_record
from content.matching.matcher import Matcher
from content.matching.request import parse_request
from gitstore.drafts.drafts import DraftName
from gitstore.errors import UnknownRecord
from gitstore.store.store import Store

# URLs; more of them are tested in a process, since a thread would slow the reads of this worker down.
MOST_IN_THREAD = 100
BODY_LIMIT = 8 * 1024 * 1024  # bytes of a call: 10,000 URLs of 800 characters
MAX_SECONDS = 10.0
MAX_BYTES = 64 * 1024 * 1024


def resolve_urls(matcher: Matcher, urls: Iterable[str], clock: Callable[[], float] = time.monotonic) -> bytes:
    """Test the URLs by a matcher; return the JSON of the results, in the given order."""
    return b'{"results":[%b]}' % b",".join(_results(matcher, urls, clock))


def resolve_urls_at(
    store: Store, name: tuple[str, DraftName], at: str, urls: Iterable[str], changes: Sequence[Mapping[str, Any]] = ()
) -> bytes:
    """Test the URLs by the rules of a revision, with changes that nothing stores; see `resolve_urls`.

    Changes with invalid records give their `problems`, and no results. `name` is a namespace and a draft in it.
    """
    namespace, draft = name
    edits = read_edits(changes)
    faults = find_faults(edits, store.drafts.call_budget(namespace, draft), "/changes") if edits else []
    if faults:
        return orjson.dumps({"results": [], "problems": [fault.wire() for fault in faults]})
    try:
        return resolve_urls(store.revisions.matcher(namespace, draft.project, at, draft.draft, edits), urls)
    except UnknownRecord as ex:
        raise unknown_record(changes[ex.place], f"/changes/{ex.place}") from ex


def _results(matcher: Matcher, urls: Iterable[str], clock: Callable[[], float]) -> Iterator[bytes]:
    """Yield a result for each URL; those after the limit of the call are not tested."""
    end, size = clock() + MAX_SECONDS, 0
    for url in urls:
        is_within_limits = size < MAX_BYTES and clock() < end
        result = orjson.dumps(
            _result(matcher, url) if is_within_limits else _problem("not_tested", _LIMIT_REACHED, url)
        )
        size += len(result)
        yield result


_LIMIT_REACHED = "The call reached its limit of time or size; test this URL in another call."


def _result(matcher: Matcher, url: str) -> dict[str, Any]:
    try:
        request = parse_request(url)
    except ValueError as ex:
        return _problem("bad_url", str(ex), url)
    return json_views.answer(url, matcher.answer(request), matcher.follow(request))


def _problem(code: str, message: str, url: str) -> dict[str, Any]:
    return {"url": url, "problem": {"code": code, "message": message}}
