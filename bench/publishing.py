"""Publishing one changed rule: how much more a large project costs than a small one, and when every worker serves it."""

import time
from collections.abc import Iterator
from http.client import HTTPConnection
from statistics import median
from typing import NamedTuple

import httpx

from bench.connections import ask, connect_all
from bench.figure import Figure, at_most
from bench.rules import MANY, spread
from bench.workbench import BIG, SMALL, Site, Workbench, bearer, scope
from content.record import Redirect
from content.vocabulary import RedirectStatus
from tests.service import Service

_WORKERS = 2
_LATEST = 10.0
_MOST = 15


class Publish(NamedTuple):
    """Milliseconds: of the edit, of the call that publishes, and from that call on until every worker serves it."""

    edit: float
    call: float
    everywhere: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """The rows for exact rules of paths, and for projects with hosts and patterns."""
    yield from _measure(bench, bench.plain, "paths only", bound=4)
    yield from _measure(bench, bench.mixed, "with hosts and 10% patterns", bound=4)


def _measure(bench: Workbench, site: Site, name: str, bound: float) -> Iterator[Figure]:
    small, big = site.rules[10 : 10 + _MOST], spread(site.rules[:MANY], _MOST)
    with site.serving(_WORKERS) as service, service.as_token(site.admin) as client:
        workers = list(connect_all(service).values())
        publisher = _Publisher(service, client, workers, bearer(site.agent))
        _ = [publisher.publish(project, site.rules[1], 0) for project in (SMALL, BIG)]
        taken = [
            (publisher.publish(SMALL, small[turn], turn), publisher.publish(BIG, big[turn], turn))
            for turn in bench.turns(_MOST, 25)
        ]
    yield from _figures([small for small, _ in taken], [big for _, big in taken], name, bound)


class _Publisher:
    """Changes rules and publishes them, by the API."""

    def __init__(
        self, service: Service, client: httpx.Client, workers: list[HTTPConnection], agent: dict[str, str]
    ) -> None:
        self._service = service
        self._client = client
        self._workers = workers
        self._agent = agent

    def publish(self, project: str, rule: Redirect, turn: int) -> Publish:
        """Change one rule of a project, and publish that."""
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
        return Publish(*(1000 * taken for taken in (edited - begun, called - edited, time.perf_counter() - edited)))

    def _wait(self, project: str, version: bytes) -> None:
        """Ask each worker until it gives the version; only the first answer is needed, but that is for this to show."""
        deadline = time.perf_counter() + _LATEST
        for worker in self._workers:
            while ask(worker, scope(project) + "/version", self._agent) != version:
                if time.perf_counter() > deadline:
                    raise AssertionError("a worker does not serve what was published")


def _figures(small: list[Publish], big: list[Publish], name: str, bound: float) -> Iterator[Figure]:
    few, many = median(one.call for one in small), median(one.call for one in big)
    detail = f"median of {len(big)}: {many:.0f} ms against {few:.0f} ms; best {min(one.call for one in big):.0f} against {min(one.call for one in small):.0f} ms"
    yield Figure(
        f"publish of one changed rule, 100,000 against 1,000, {name}", many / few, "times", at_most(bound), detail
    )
    everywhere = median(one.everywhere for one in big)
    slowest = max(one.everywhere for one in big)
    edit = median(one.edit for one in big)
    detail = f"median from the call on; slowest {slowest:.0f} ms; the edit before it {edit:.0f} ms"
    yield Figure(f"until both workers serve it, 100,000, {name}", everywhere, "ms", at_most(250), detail)
