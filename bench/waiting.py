"""Ten thousand agents that wait for a publish on one worker: what each costs it, and when the last has heard."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import httpx

from bench.bare import Answer
from bench.figure import Figure
from bench.processes import private_megabytes, processor_seconds
from bench.workbench import SMALL, Site, Workbench, bearer, scope
from bench.yardsticks import bare, take_answer
from tests.crowd import crowd
from tests.metering import read_metrics, total
from tests.service import Service, wait_until

_MANY = 10_000
_FEW = 2_000
_LATEST = 120.0
_REST = 0.5
"""Seconds without work after which a worker is taken to have read all requests."""


class Took(NamedTuple):
    """Kilobytes of private memory for each connection, and seconds until the last one had its answer."""

    kilobytes: float
    seconds: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """The rows for memory and for the time until all have heard."""
    count = _FEW if bench.quick else _MANY
    path = f"{scope(SMALL)}/version"
    with bench.plain.serving() as service, service.as_token(bench.plain.admin) as client:
        answer = take_answer(client, path, {})
        ours = _measure_service(service, client, bench.plain, count)
    theirs = _measure_bare(bench, answer, count)
    detail = f"{count:,} connections to one worker; bare {theirs.kilobytes:.1f} kB"
    yield Figure("private memory for a poll that waits", ours.kilobytes, "kB", None, detail)
    detail = f"from the call that publishes on, with what that takes; bare {theirs.seconds:.2f} s from its signal on"
    yield Figure(f"until all {count:,} that wait have heard of one publish", ours.seconds, "s", None, detail)


def _measure_service(service: Service, client: httpx.Client, site: Site, count: int) -> Took:
    (worker,) = service.workers()
    _edit(client, site)
    _publish(client)  # so that the process which publishes runs before anybody waits
    _edit(client, site)
    version = client.get(f"{scope(SMALL)}/version").raise_for_status().json()
    headers = {**bearer(site.agent), "If-None-Match": f'"{version}"', "Prefer": "wait=300"}

    def all_wait() -> bool:
        return total(read_metrics(client, site.admin), "waypost_waiting_polls") == count

    asked = (f"{scope(SMALL)}/version", headers)
    return _measure((service.port, worker), asked, count, all_wait, lambda: _publish(client))


def _edit(client: httpx.Client, site: Site) -> None:
    """Give a rule a target that it has not."""
    number = client.get(f"{scope(SMALL)}/version").headers["X-Publish-Number"]
    path = f"{scope(SMALL)}/draft/redirects/{site.rules[2].id}"
    client.patch(path, json={"target": f"/waited-for-{number}"}).raise_for_status()


def _publish(client: httpx.Client) -> None:
    client.post(f"{scope(SMALL)}/publish").raise_for_status()


def _measure_bare(bench: Workbench, answer: Answer, count: int) -> Took:
    with bare(answer, bench.new_folder("held"), "--hold") as origin, httpx.Client(base_url=origin.url) as client:
        port = int(origin.url.rpartition(":")[2])
        return _measure((port, origin.worker), ("/", {}), count, lambda: True, lambda: client.get("/go"))


def _measure(
    origin: tuple[int, int],
    asked: tuple[str, dict[str, str]],
    count: int,
    all_wait: Callable[[], bool],
    release: Callable[[], object],
) -> Took:
    """What it costs; `origin` is the port and the worker, `asked` the path and headers of every connection."""
    port, worker = origin
    before = private_megabytes(worker)
    with crowd(port, *asked, count) as held, ThreadPoolExecutor(1) as pool:
        wait_until(all_wait, _LATEST, "all to wait")
        wait_until(lambda: _rests(worker), _LATEST, "the worker to rest")
        grown = private_megabytes(worker) - before
        begun = time.perf_counter()
        released = pool.submit(release)
        answers = held.answers(_LATEST)
        seconds = time.perf_counter() - begun
        released.result()
    wrong = [answer for answer in answers if b" 200 " not in answer[:20]]
    if wrong:
        raise AssertionError(f"{len(wrong)} were not told of the publish: {wrong[0][:500]!r}")
    return Took(grown * 1000 / count, seconds)


def _rests(worker: int) -> bool:
    before = processor_seconds(worker)
    time.sleep(_REST)
    return processor_seconds(worker) - before < _REST / 10
