"""Publishes of one changed rule: the cost in a large project against a small one, and the time until every worker serves it."""

import time
from collections.abc import Iterator
from http.client import HTTPConnection
from statistics import median
from typing import NamedTuple

import httpx

from bench.connections import ask, connect_all
from bench.figure import Figure, at_most
from bench.rules import MANY, sample_evenly
from bench.workbench import BIG, SMALL, Site, Workbench, bearer, scope
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus
from tests.service import Service

_WORKERS = 2
_TIMEOUT_SECONDS = 10.0
_MOST = 15
# Publishes before the measured ones. After them the number of kept releases is at its maximum, and each new file replaces an
# old one. Before that, the kernel needs new memory for the file, which takes a virtual machine ten times as long.
_BEFORE = 12


class Publish(NamedTuple):
    """Milliseconds of the edit, of the call that publishes, and from that call until every worker serves the result."""

    edit: float
    call: float
    everywhere: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the figures for exact rules of paths, and for projects with hosts and patterns."""
    yield from _measure(bench, bench.plain, "paths only", bound=4)
    yield from _measure(bench, bench.mixed, "with hosts and 10% patterns", bound=4)


def _measure(bench: Workbench, site: Site, name: str, bound: float) -> Iterator[Figure]:
    small, big = site.rules[10 : 10 + _MOST], sample_evenly(site.rules[:MANY], _MOST)
    with site.serving(_WORKERS) as service, service.as_token(site.admin) as client:
        workers = list(connect_all(service).values())
        publisher = _Publisher(service, client, workers, bearer(site.agent))
        for turn in range(_BEFORE):
            _ = [publisher.publish(project, site.rules[1], turn) for project in (SMALL, BIG)]
        elapsed = [
            (publisher.publish(SMALL, small[turn], turn), publisher.publish(BIG, big[turn], turn))
            for turn in bench.rounds(_MOST, 25)
        ]
    yield from _figures([small for small, _ in elapsed], [big for _, big in elapsed], name, bound)


class _Publisher:
    """A client of the API that changes rules and publishes them."""

    def __init__(
        self, service: Service, client: httpx.Client, workers: list[HTTPConnection], agent: dict[str, str]
    ) -> None:
        self._service = service
        self._client = client
        self._workers = workers
        self._agent = agent

    def publish(self, project: str, rule: Redirect, turn: int) -> Publish:
        """Change one rule of a project, and publish the change."""
        begun = time.perf_counter()
        statuses = list(RedirectStatus)
        status = statuses[(statuses.index(rule.status) + 1 + turn) % len(statuses)]
        target = f"{rule.target}?turn={turn}"
        path = f"{scope(project)}/draft/redirects/{rule.id}"
        self._client.patch(path, json={"target": target, "status": status}).raise_for_status()
        edited = time.perf_counter()
        version = self._client.post(f"{scope(project)}/publish").raise_for_status().json()["version"]
        called = time.perf_counter()
        self._wait(project, f'"{version}"'.encode())
        return Publish(*(1000 * elapsed for elapsed in (edited - begun, called - edited, time.perf_counter() - edited)))

    def _wait(self, project: str, version: bytes) -> None:
        """Poll each worker until it returns the version; the first response should have it, but this measures the time until then."""
        deadline = time.perf_counter() + _TIMEOUT_SECONDS
        for worker in self._workers:
            while ask(worker, scope(project) + "/version", self._agent) != version:
                if time.perf_counter() > deadline:
                    raise AssertionError("A worker does not serve the published version.")


def _figures(small: list[Publish], big: list[Publish], name: str, bound: float) -> Iterator[Figure]:
    few, many = median(one.call for one in small), median(one.call for one in big)
    detail = f"median of {len(big)}: {many:.0f} ms against {few:.0f} ms; best {min(one.call for one in big):.0f} against {min(one.call for one in small):.0f} ms"
    yield Figure(
        f"publish of one changed rule, 100,000 against 1,000, {name}", many / few, "times", at_most(bound), detail
    )
    everywhere = median(one.everywhere for one in big)
    slowest = max(one.everywhere for one in big)
    edit = median(one.edit for one in big)
    detail = f"median from the call; slowest {slowest:.0f} ms; the edit before it {edit:.0f} ms"
    yield Figure(f"until both workers serve it, 100,000, {name}", everywhere, "ms", at_most(250), detail)
