"""What agents ask all day, against a bare function and nginx: version, 304, windows of a list, the whole list."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from typing import NamedTuple

import httpx

from bench.figure import Figure, at_least, at_most
from bench.load import Load, press
from bench.processes import processor_seconds
from bench.rules import MANY
from bench.workbench import BIG, Workbench, bearer, scope
from bench.yardsticks import Origin, bare, nginx, take_answer
from tests.service import Service

_CONNECTIONS = 4
_SECONDS = 1
_ROUNDS = 6
_VERSION = scope(BIG) + "/version"
_LIST = scope(BIG) + "/redirects"
_FIRST = f"{_LIST}?limit=500&offset=0"
_LAST = f"{_LIST}?limit=500&offset=99500"
_SAME = 0.02
"""How much two answers to the same question may differ in size, by what a server adds to the headers."""


class Pressed(NamedTuple):
    """The best of several loads, and the least microseconds of processor that one answer took."""

    load: Load
    cost: float


class Three(NamedTuple):
    """One question put to the service and to both yardsticks."""

    service: Pressed
    bare: Pressed
    nginx: Pressed


def measure(bench: Workbench) -> Iterator[Figure]:
    """All rows of the group, from one service with one worker."""
    token = bearer(bench.plain.agent)
    with bench.plain.serving() as service:
        known = token | {"If-None-Match": service.client.get(_VERSION, headers=token).headers["ETag"]}
        yield _against_bare("GET P/version", _put(bench, service, _VERSION, token), 0.5)
        yield _against_bare("GET P/version, 304", _put(bench, service, _VERSION, known), 0.5)
        yield _against_bare("GET P/redirects, 500 of 100,000 from 0", _put(bench, service, _FIRST, token), 0.6)
        yield _against_bare("GET P/redirects, 500 of 100,000 from 99,500", _put(bench, service, _LAST, token), 0.6)
        yield _against_first(bench, service, token)
        yield _against_nginx(_put(bench, service, f"{_LIST}?limit={MANY}", token))


def _put(bench: Workbench, service: Service, url: str, headers: Mapping[str, str]) -> Three:
    """Ask in turns, so that what else the machine does falls on all three alike."""
    path = url.partition("?")[0]
    answer = take_answer(service.client, url, headers)
    with ExitStack() as stack:
        plain = stack.enter_context(bare(answer, bench.new_folder("bare")))
        file = stack.enter_context(nginx(answer, path, bench.new_folder("nginx")))
        asked = (
            (_origin(service), headers),
            (plain, headers),
            (file, _own_headers(file, path, headers, answer.status)),
        )
        rounds = [
            [_press(origin, url, given) for origin, given in asked]
            for _ in bench.turns(_ROUNDS, _ROUNDS * 3 * _SECONDS)
        ]
    three = Three(*(_best(pressed) for pressed in zip(*rounds, strict=True)))
    _must_match(url, three)
    return three


def _own_headers(origin: Origin, path: str, headers: Mapping[str, str], status: int) -> Mapping[str, str]:
    """The headers for nginx, which has an entity tag of its own."""
    if status != HTTPStatus.NOT_MODIFIED:
        return headers
    return {**headers, "If-None-Match": httpx.get(origin.url + path).headers["ETag"]}


def _press(origin: Origin, url: str, headers: Mapping[str, str]) -> Pressed:
    before = processor_seconds(origin.worker)
    load = press(origin.url + url, headers, _SECONDS, _CONNECTIONS)
    return Pressed(load, (processor_seconds(origin.worker) - before) / load.requests * 1e6)


def _best(turns: Sequence[Pressed]) -> Pressed:
    """The quickest of several: what others do on the machine can only slow one down."""
    load = max((turn.load for turn in turns), key=lambda load: load.rate)
    return Pressed(load, min(turn.cost for turn in turns))


def _must_match(url: str, three: Three) -> None:
    """The service and the bare function must have sent the same."""
    sizes = [pressed.load.bytes / pressed.load.requests for pressed in (three.service, three.bare)]
    if max(sizes) > min(sizes) * (1 + _SAME) and not url.endswith(f"limit={MANY}"):
        raise AssertionError(f"answers to {url} have {sizes[0]:.0f} and {sizes[1]:.0f} bytes")


def _against_bare(what: str, three: Three, bound: float) -> Figure:
    """Answers a second; by processor the same ratio, which holds on a busy machine too, is told beside it."""
    detail = f"{_rates(three)}; by processor {three.bare.cost / three.service.cost:.2f}"
    return Figure(what, three.service.load.rate / three.bare.load.rate, "of bare", at_least(bound), detail)


def _against_first(bench: Workbench, service: Service, headers: Mapping[str, str]) -> Figure:
    """How much longer an answer from the end of the list takes than one from its beginning, asked in turns."""
    ours = _origin(service)
    rounds = [
        [_press(ours, url, headers) for url in (_FIRST, _LAST)] for _ in bench.turns(_ROUNDS, _ROUNDS * 2 * _SECONDS)
    ]
    first, last = (_best(pressed) for pressed in zip(*rounds, strict=True))
    detail = f"{last.load.rate:,.0f}/s against {first.load.rate:,.0f}/s; by processor {last.cost / first.cost:.2f}"
    return Figure("the same, from 99,500 against 0", first.load.rate / last.load.rate, "times", at_most(1.1), detail)


def _against_nginx(three: Three) -> Figure:
    named = zip(Three._fields, three, strict=True)
    flows = ", ".join(f"{name} {pressed.load.flow / 1e6:,.0f} MB/s ({pressed.cost:,.0f} µs)" for name, pressed in named)
    detail = f"{flows}; by processor {three.nginx.cost / three.service.cost:.2f}"
    ratio = three.service.load.flow / three.nginx.load.flow
    return Figure("the whole list of 100,000 in one answer", ratio, "of nginx's bytes/s", at_least(1.0), detail)


def _origin(service: Service) -> Origin:
    return Origin(service.url, next(iter(service.workers())))


def _rates(three: Three) -> str:
    named = zip(Three._fields, three, strict=True)
    return ", ".join(f"{name} {pressed.load.rate:,.0f}/s ({pressed.cost:.0f} µs)" for name, pressed in named)
