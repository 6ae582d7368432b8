"""Ten thousand agents that wait for a publish on one worker: the memory of each, and the time of the last response."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import httpx

from bench.bare import RecordedResponse
from bench.figure import Figure
from bench.processes import private_megabytes, processor_seconds
from bench.workbench import SMALL, Site, Workbench, bearer, scope
from bench.yardsticks import bare, record_response
from tests.load_client import load_client
from tests.metrics_text import read_metrics, total
from tests.service import Service, wait_until

_MANY = 10_000
_FEW = 2_000
_TIMEOUT_SECONDS = 120.0
_IDLE_SECONDS = 0.5  # without work for so long, a worker has read all requests


class WaitCost(NamedTuple):
    """Kilobytes of private memory for each connection, and seconds until the last response."""

    kilobytes: float
    seconds: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the memory of a waiting poll, and the time until all have the new version."""
    count = _FEW if bench.quick else _MANY
    path = f"{scope(SMALL)}/version"
    with bench.plain.serving() as service, service.as_token(bench.plain.admin) as client:
        answer = record_response(client, path, {})
        ours = _measure_service(service, client, bench.plain, count)
    theirs = _measure_bare(bench, answer, count)
    detail = f"{count:,} connections to one worker; bare {theirs.kilobytes:.1f} kB"
    yield Figure("private memory of a waiting poll", ours.kilobytes, "kB", None, detail)
    detail = f"from the call that publishes, including the publish; bare {theirs.seconds:.2f} s from its signal"
    yield Figure(f"until all {count:,} waiting clients have the new version", ours.seconds, "s", None, detail)


def _measure_service(service: Service, client: httpx.Client, site: Site, count: int) -> WaitCost:
    (worker,) = service.workers()
    _edit(client, site)
    _publish(client)  # starts the process that publishes before the clients wait
    _edit(client, site)
    version = client.get(f"{scope(SMALL)}/version").raise_for_status().json()
    headers = {**bearer(site.agent), "If-None-Match": f'"{version}"', "Prefer": "wait=300"}

    def all_wait() -> bool:
        return total(read_metrics(client, site.admin), "waypost_waiting_polls") == count

    asked = (f"{scope(SMALL)}/version", headers)
    return _measure((service.port, worker), asked, count, all_wait, lambda: _publish(client))


def _edit(client: httpx.Client, site: Site) -> None:
    """Give a rule a new target."""
    number = client.get(f"{scope(SMALL)}/version").headers["X-Publish-Number"]
    path = f"{scope(SMALL)}/draft/redirects/{site.rules[2].id}"
    client.patch(path, json={"target": f"/waited-for-{number}"}).raise_for_status()


def _publish(client: httpx.Client) -> None:
    client.post(f"{scope(SMALL)}/publish").raise_for_status()


def _measure_bare(bench: Workbench, answer: RecordedResponse, count: int) -> WaitCost:
    with bare(answer, bench.new_folder("held"), "--hold") as origin, httpx.Client(base_url=origin.url) as client:
        port = int(origin.url.rpartition(":")[2])
        return _measure((port, origin.worker), ("/", {}), count, lambda: True, lambda: client.get("/go"))


def _measure(
    origin: tuple[int, int],
    asked: tuple[str, dict[str, str]],
    count: int,
    all_wait: Callable[[], bool],
    release: Callable[[], object],
) -> WaitCost:
    """Measure the cost; `origin` is the port and the worker, `asked` the path and headers of every connection."""
    port, worker = origin
    before = private_megabytes(worker)
    with load_client(port, *asked, count) as held, ThreadPoolExecutor(1) as pool:
        wait_until(all_wait, _TIMEOUT_SECONDS, "all to wait")
        wait_until(lambda: _is_idle(worker), _TIMEOUT_SECONDS, "the worker to be idle")
        grown = private_megabytes(worker) - before
        begun = time.perf_counter()
        released = pool.submit(release)
        answers = held.answers(_TIMEOUT_SECONDS)
        seconds = time.perf_counter() - begun
        released.result()
    failed = [answer for answer in answers if b" 200 " not in answer[:20]]
    if failed:
        raise AssertionError(f"{len(failed)} clients did not get the new version: {failed[0][:500]!r}")
    return WaitCost(grown * 1000 / count, seconds)


def _is_idle(worker: int) -> bool:
    before = processor_seconds(worker)
    time.sleep(_IDLE_SECONDS)
    return processor_seconds(worker) - before < _IDLE_SECONDS / 10
