"""The frequent requests of agents, against a bare function and nginx: version, 304, windows of a list, the whole list."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from typing import NamedTuple

import httpx

from api.http.compat import BASE
from bench.figure import Figure, at_least, at_most
from bench.load import Load, run_load
from bench.processes import processor_seconds
from bench.rules import MANY
from bench.workbench import BIG, Workbench, bearer, scope
from bench.yardsticks import Origin, bare, nginx, record_response
from tests.service import Service

_CONNECTIONS = 4
_SECONDS = 1
_ROUNDS = 6
_VERSION = scope(BIG) + "/version"
_LIST = scope(BIG) + "/redirects"
_FIRST = f"{_LIST}?limit=500&offset=0"
_LAST = f"{_LIST}?limit=500&offset=99500"
_COMPAT = BASE + _FIRST
_SAME = 0.02  # the maximum difference in size of two responses to the same request, caused by headers of the server


class LoadSample(NamedTuple):
    """The best of several loads, and the minimum microseconds of processor time for one response."""

    load: Load
    cost: float


class ServerComparison(NamedTuple):
    """One request to the service and to both yardsticks."""

    service: LoadSample
    bare: LoadSample
    nginx: LoadSample


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield all figures of the group, from one service with one worker."""
    token = bearer(bench.plain.agent)
    with bench.plain.serving() as service:
        known = token | {"If-None-Match": service.client.get(_VERSION, headers=token).headers["ETag"]}
        yield _against_bare("GET P/version", _compare_servers(bench, service, _VERSION, token), 0.5)
        yield _against_bare("GET P/version, 304", _compare_servers(bench, service, _VERSION, known), 0.5)
        yield _against_bare(
            "GET P/redirects, 500 of 100,000 from 0", _compare_servers(bench, service, _FIRST, token), 0.6
        )
        yield _against_bare(
            "GET P/redirects, 500 of 100,000 from 99,500", _compare_servers(bench, service, _LAST, token), 0.6
        )
        yield _against_first(bench, service, token)
        yield _against_bare(
            "GET /compat/flecto/P/redirects, 500 of 100,000 from 0",
            _compare_servers(bench, service, _COMPAT, token),
            0.6,
        )
        yield _against_nginx(_compare_servers(bench, service, f"{_LIST}?limit={MANY}", token))


def _compare_servers(bench: Workbench, service: Service, url: str, headers: Mapping[str, str]) -> ServerComparison:
    """Measure in turns, so that other load on the machine affects all three alike."""
    path = url.partition("?")[0]
    answer = record_response(service.client, url, headers)
    with ExitStack() as stack:
        plain = stack.enter_context(bare(answer, bench.new_folder("bare")))
        file = stack.enter_context(nginx(answer, path, bench.new_folder("nginx")))
        asked = (
            (_origin(service), headers),
            (plain, headers),
            (file, _own_headers(file, path, headers, answer.status)),
        )
        rounds = [
            [_sample_load(origin, url, given) for origin, given in asked]
            for _ in bench.rounds(_ROUNDS, _ROUNDS * 3 * _SECONDS)
        ]
    comparison = ServerComparison(*(_best(pressed) for pressed in zip(*rounds, strict=True)))
    _must_match(url, comparison)
    return comparison


def _own_headers(origin: Origin, path: str, headers: Mapping[str, str], status: int) -> Mapping[str, str]:
    """Return the headers for nginx, which has its own entity tag."""
    if status != HTTPStatus.NOT_MODIFIED:
        return headers
    return {**headers, "If-None-Match": httpx.get(origin.url + path).headers["ETag"]}


def _sample_load(origin: Origin, url: str, headers: Mapping[str, str]) -> LoadSample:
    before = processor_seconds(origin.worker)
    load = run_load(origin.url + url, headers, _SECONDS, _CONNECTIONS)
    return LoadSample(load, (processor_seconds(origin.worker) - before) / load.requests * 1e6)


def _best(rounds: Sequence[LoadSample]) -> LoadSample:
    """Return the fastest of several: other load on the machine can only slow one down."""
    load = max((turn.load for turn in rounds), key=lambda load: load.rate)
    return LoadSample(load, min(turn.cost for turn in rounds))


def _must_match(url: str, comparison: ServerComparison) -> None:
    """Raise AssertionError unless the service and the bare function sent responses of the same size."""
    sizes = [pressed.load.bytes / pressed.load.requests for pressed in (comparison.service, comparison.bare)]
    if max(sizes) > min(sizes) * (1 + _SAME) and not url.endswith(f"limit={MANY}"):
        raise AssertionError(f"The responses to {url} have {sizes[0]:.0f} and {sizes[1]:.0f} bytes.")


def _against_bare(label: str, comparison: ServerComparison, bound: float) -> Figure:
    """Compare responses a second; the details have the ratio by processor, which is stable on a busy machine too."""
    detail = f"{_rates(comparison)}; by processor {comparison.bare.cost / comparison.service.cost:.2f}"
    return Figure(label, comparison.service.load.rate / comparison.bare.load.rate, "of bare", at_least(bound), detail)


def _against_first(bench: Workbench, service: Service, headers: Mapping[str, str]) -> Figure:
    """Compare responses from the end of the list with those from its beginning, measured in turns."""
    ours = _origin(service)
    rounds = [
        [_sample_load(ours, url, headers) for url in (_FIRST, _LAST)]
        for _ in bench.rounds(_ROUNDS, _ROUNDS * 2 * _SECONDS)
    ]
    first, last = (_best(pressed) for pressed in zip(*rounds, strict=True))
    detail = f"{last.load.rate:,.0f}/s against {first.load.rate:,.0f}/s; by processor {last.cost / first.cost:.2f}"
    return Figure("the same, from 99,500 against 0", first.load.rate / last.load.rate, "times", at_most(1.1), detail)


def _against_nginx(comparison: ServerComparison) -> Figure:
    named = zip(ServerComparison._fields, comparison, strict=True)
    flows = ", ".join(f"{name} {pressed.load.flow / 1e6:,.0f} MB/s ({pressed.cost:,.0f} µs)" for name, pressed in named)
    detail = f"{flows}; by processor {comparison.nginx.cost / comparison.service.cost:.2f}"
    ratio = comparison.service.load.flow / comparison.nginx.load.flow
    return Figure("the whole list of 100,000 in one response", ratio, "of nginx's bytes/s", at_least(1.0), detail)


def _origin(service: Service) -> Origin:
    return Origin(service.url, next(iter(service.workers())))


def _rates(comparison: ServerComparison) -> str:
    named = zip(ServerComparison._fields, comparison, strict=True)
    return ", ".join(f"{name} {pressed.load.rate:,.0f}/s ({pressed.cost:.0f} µs)" for name, pressed in named)
