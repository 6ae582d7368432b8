"""Redirect chains that one redirect can replace: for every request that the first one answers, the chain has the same end.

A redirect keeps its status. So the others must be permanent if it is, and must keep the method if it does: else a browser
would store, or send, what it did not before.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum

from content.checks.expectations import Expectation
from content.checks.record_rules import record_problems
from content.checks.set_rules import MAX_HOPS
from content.matching.canonical import exact_key, split_host
from content.matching.match import Chain, Match
from content.matching.matcher import Matcher
from content.matching.onward import ChainEndCheck
from content.matching.pattern_shape import literal_prefix
from content.matching.request import Request, parse_key, parse_request, request_for
from content.matching.template import Template, location_of
from content.matching.url import split_url
from content.records.problem import Severity
from content.records.record import Placed, Redirect
from content.records.vocabulary import RedirectStatus, RedirectType

_PERMANENT = frozenset({RedirectStatus.MOVED_PERMANENT, RedirectStatus.PERMANENT_REDIRECT})
_KEEP_METHOD = frozenset({RedirectStatus.TEMPORARY_REDIRECT, RedirectStatus.PERMANENT_REDIRECT})


class Obstacle(Enum):
    """The reason why one redirect cannot replace a chain, as the end of a sentence."""

    NO_CHAIN = "it is no chain"
    TEST = "a test names its location"
    VARIES = "its end differs between requests or hosts"
    ENDLESS = "it never ends"
    STATUS = "a later redirect is temporary, allows another method, or follows a fragment, so one redirect would promise more"
    FAULTY = "the rule has an error of its own"
    INVALID = "its end is not valid as a target"


class Flattening:
    """The chains of a project's redirects. Rules whose Location a test of the project names stay as they are."""

    def __init__(
        self, matcher: Matcher, redirects: Iterable[Placed[Redirect]], expectations: Iterable[Expectation]
    ) -> None:
        self._matcher = matcher
        self._onward = ChainEndCheck(matcher)
        listed = list(redirects)
        pattern_hosts = {_fixed_host(each.record) for each in listed if each.record.type is RedirectType.REGEX_HOST}
        self._has_open_patterns = "" in pattern_hosts
        self._pattern_hosts = pattern_hosts - {""}
        self._hosts_at = _hosts_by_path(listed)
        self._tested = {each.position for each in _named_by_tests(matcher, expectations)}

    def flatten(self, placed: Placed[Redirect]) -> Redirect:
        """Return the redirect with the end of its chain as its target: the same object where that is not safe."""
        end = self._find_end(placed)
        return placed.record if isinstance(end, Obstacle) else replace(placed.record, target=end)

    def find_obstacle(self, placed: Placed[Redirect]) -> Obstacle | None:
        """Return why a redirect stays as it is; None where `flatten` changes it."""
        end = self._find_end(placed)
        return end if isinstance(end, Obstacle) else None

    def _find_end(self, placed: Placed[Redirect]) -> str | Obstacle:
        """Return the target with which the redirect answers as the chain does."""
        if placed.position in self._tested:
            return Obstacle.TEST
        end = self._follow(placed)
        if isinstance(end, Obstacle):
            return end
        if end == placed.record.target:
            return Obstacle.NO_CHAIN
        if _has_errors(placed.record):
            return Obstacle.FAULTY
        return Obstacle.INVALID if _has_errors(replace(placed.record, target=end)) else end

    def _follow(self, placed: Placed[Redirect]) -> str | Obstacle:
        """Return the Location at the end of the chain."""
        record = placed.record
        first = self._first_request(placed)
        if isinstance(first, Obstacle):
            return first
        location = location_of(record.target) if record.type.is_exact else Template.parse(record.target).expand(())
        match = Match(placed, None, location)
        chain = self._matcher.follow_from(first, match, MAX_HOPS)
        if not record.type.has_host and self._has_open_patterns and split_url(location).is_path:
            return Obstacle.VARIES  # a pattern may answer on any host, with another end
        points = _points(chain, record)
        if chain.is_endless:
            return Obstacle.ENDLESS
        if len(points) < len(_locations(chain)):
            return Obstacle.STATUS
        if points[-1] == location:
            return Obstacle.NO_CHAIN
        others = (self._matcher.follow_from(each, match, MAX_HOPS) for each in self._others(first, chain))
        is_on_all = all(points[-1] in _points(each, record) for each in others)
        return points[-1] if is_on_all and (record.type.is_exact or "$" not in points[-1]) else Obstacle.VARIES

    def _first_request(self, placed: Placed[Redirect]) -> Request | Obstacle:
        """Return a request that the redirect answers, without a host unless it names one."""
        record = placed.record
        if not record.type.is_exact:
            return Obstacle.VARIES if Template.parse(record.target).groups else Request(None, "", None)
        key = exact_key(record.type.has_host, record.source)
        if not key or self._matcher.source.redirects_at(key)[0] != placed.position:
            return Obstacle.NO_CHAIN
        host = split_host(key)[0] if record.type.has_host else ""
        return Obstacle.NO_CHAIN if self._onward.ends_chain(host, record.target) else parse_key(key)

    def _others(self, first: Request, chain: Chain) -> Iterator[Request]:
        """Yield the same request on the hosts where the chain may continue in another way."""
        if first.host is not None:
            return
        hosts = {hop.request.host for hop in chain.hops} | self._pattern_hosts
        for location in _locations(chain):
            url = split_url(location)
            path = url.rest if url.authority is not None else location
            hosts |= self._hosts_at.get(request_for(None, path).path, frozenset())
            hosts |= {(url.authority or "").lower() or None}
        yield from (first._replace(host=host) for host in hosts if host is not None)


def _has_errors(record: Redirect) -> bool:
    return any(each.severity is Severity.ERROR for each in record_problems(record))


def _hosts_by_path(redirects: Iterable[Placed[Redirect]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for placed in redirects:
        record = placed.record
        if record.type is RedirectType.BASIC_HOST and (key := exact_key(True, record.source)):  # noqa: FBT003 - as in `exact_key`
            host, path = split_host(key)
            found.setdefault(path.partition("?")[0], set()).add(host)
    return {path: frozenset(hosts) for path, hosts in found.items()}


def _fixed_host(record: Redirect) -> str:
    """Return the only host on which a pattern with a host can match; empty if there may be others."""
    prefix = literal_prefix(record.source)
    host, slash, _ = prefix.literal.partition("/") if prefix else ("", "", "")
    return host if slash else ""


def _named_by_tests(matcher: Matcher, expectations: Iterable[Expectation]) -> Iterator[Placed[Redirect]]:
    for each in expectations:
        try:
            match = matcher.match(parse_request(each.url)) if each.location else None
        except ValueError:
            continue
        if match and match.redirect:
            yield match.redirect


def _locations(chain: Chain) -> list[str]:
    return [hop.match.location for hop in chain.hops if hop.match.redirect]


def _points(chain: Chain, first: Redirect) -> list[str]:
    """Return each Location of a chain as one from the start, up to a redirect that does not allow it."""
    found = list[str]()
    origin = ""
    for hop in chain.hops:
        redirect = hop.match.redirect
        if redirect is None or (found and (_loses(first, redirect.record) or "#" in found[-1])):
            break
        url = split_url(hop.match.location)
        if url.authority is not None:
            origin = f"{url.scheme}://{url.authority}"
        found.append(origin + (hop.match.location if url.authority is None else url.rest))
    return found


def _loses(first: Redirect, later: Redirect) -> bool:
    """Tell whether a redirect in place of both would promise more than the later one does."""
    return (first.status in _PERMANENT and later.status not in _PERMANENT) or (
        first.status in _KEEP_METHOD and later.status not in _KEEP_METHOD
    )
