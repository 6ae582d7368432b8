"""Matches of URLs among 100,000 exact rules and 10,000 patterns, in the compiled release that the service maps."""

import time
from collections.abc import Iterator, Sequence
from statistics import median

from bench.figure import Figure, at_most, percentile
from bench.rules import MANY, PATTERNS, exact_url, pattern_url, sample_evenly, unknown_url
from bench.workbench import BIG, NAMESPACE, Site, Workbench
from content.matching.matcher import Matcher
from content.matching.request import parse_request
from gitstore.store.store import Store

_URLS = 5_000


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield a figure for each kind of URL, after the first use of every pattern; the details have the first time."""
    site = bench.mixed
    matcher = Store(site.data).releases.project(NAMESPACE, BIG).release.matcher
    begun = time.perf_counter()
    matcher.match(parse_request(unknown_url(0)))
    compiled = time.perf_counter() - begun
    for name, urls, answered in _kinds(site):
        first = _times(matcher, urls, answered=answered)
        elapsed = _times(matcher, urls, answered=answered)
        detail = f"median of {len(elapsed):,} URLs; 99th percentile {percentile(elapsed, 99):.1f} µs; the first time {median(first):.1f}"
        yield Figure(f"match of {name} among 110,000 rules", median(elapsed), "µs", at_most(30), detail)
    yield Figure("compiling the 10,000 patterns, once", compiled, "s")


def _kinds(site: Site) -> Iterator[tuple[str, list[str], bool]]:
    exact = [exact_url(rule) for rule in sample_evenly(site.rules[:MANY], _URLS)]
    patterns = [pattern_url(number * 6_181 % PATTERNS) for number in range(_URLS)]
    unknown = [unknown_url(number * 61_813 % MANY) for number in range(_URLS)]
    yield "an exact URL", exact, True
    yield "a URL of a pattern", patterns, True
    yield "a URL without a matching rule", unknown, False


def _times(matcher: Matcher, urls: Sequence[str], *, answered: bool) -> list[float]:
    """Return the microseconds for each URL, from its text to the match."""
    elapsed = []
    clock = time.perf_counter_ns
    for url in urls:
        begun = clock()
        found = matcher.match(parse_request(url))
        elapsed.append((clock() - begun) / 1000)
        if (found is not None) is not answered:
            raise AssertionError(f"The answer to {url} is {found}.")
    return elapsed
