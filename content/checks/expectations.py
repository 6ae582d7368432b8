"""The tests of a project: requests, each with the answer that the rules must give before they are published."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from content.matching.match import Match
from content.matching.matcher import Matcher
from content.matching.request import Request, parse_request, request_for
from content.matching.template import location_of
from content.matching.url import split_url
from content.records.problem import Problem
from content.records.problem_codes import problem

NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Expectation:
    """A URL or path, its required status, and optionally its Location; `file` and `line` are its place.

    The Location may be written as the target is, or in full where the request has a host.
    """

    url: str
    status: int
    location: str = ""
    file: str = ""
    line: int = 0


def failed_expectations(matcher: Matcher, expectations: Iterable[Expectation]) -> list[Problem]:
    """Return a problem, with its place, for every expectation that the rules do not meet."""
    return [
        problem("test_failed", message, pointer).at(expectation.file, expectation.line)
        for expectation in expectations
        for pointer, message in _failures(matcher, expectation)
    ]


def _failures(matcher: Matcher, expected: Expectation) -> Iterator[tuple[str, str]]:
    """Yield at most one failure: the pointer of the field that does not match, and a sentence."""
    try:
        request = parse_request(expected.url)
    except ValueError as ex:
        yield "/url", f'"{expected.url[:200]}" cannot be requested: {ex}'
        return
    match = matcher.match(request)
    status = match.status if match else NOT_FOUND
    if status != expected.status:
        yield "/status", f"{expected.url} should get {expected.status}, but gets {_describe(match)}"
    elif match and expected.location and not _same_location(request, expected.location, match.location):
        yield "/location", f"{expected.url} should go to {expected.location}, but gets {_describe(match)}"


def _describe(match: Match | None) -> str:
    if match is None:
        return f"{NOT_FOUND}: no rule matches"
    if match.page:
        return f'200: the page "{match.page.record.path[:200]}"'
    assert match.redirect is not None, "a match is of a redirect or of a page"  # noqa: S101 - for the type checker
    return f'{match.status} to {match.location} by the rule "{match.redirect.record.source[:200]}"'


def _same_location(request: Request, expected: str, location: str) -> bool:
    return _absolute(request, expected) == _absolute(request, location)


def _absolute(request: Request, location: str) -> tuple[str, str, str]:
    """Return host, path and query, and fragment of a Location, as a client that sent the request resolves it."""
    url = split_url(location_of(location))
    host = (request.host or "") if url.authority is None else url.authority.lower()
    return host, request_for(None, url.rest).text, url.rest.partition("#")[2]
