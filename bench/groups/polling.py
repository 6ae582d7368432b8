"""The slowest 1% of version polls while 100,000 imported rules are published, against those of an idle service."""

import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import httpx

from bench.figure import Figure, Target, at_most
from bench.load import Load, paced_load
from bench.processes import descendants, scheduling
from bench.rules import MANY, exact_rules, table
from bench.workbench import BIG, NAMESPACE, Workbench, bearer, scope
from tests.service import Service

_CONNECTIONS = 40
# Milliseconds between the polls of a connection: about a thousand polls a second in all, a fraction of the maximum.
_PAUSE = 40


class Polls(NamedTuple):
    """The polls of one phase, and the time that processes waited for a core meanwhile, as shares of its duration."""

    load: Load
    workers: float
    jobs: float
    client: float

    def shares(self) -> str:
        """Describe the shares: if those of workers or client are more than a few per cent, the figure is of the machine."""
        return f"workers {self.workers:.1%}, jobs {self.jobs:.1%}, client {self.client:.1%}"


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield a figure for the publish, and one for the import before it."""
    site = bench.plain
    headers = bearer(site.agent)
    rows = table(exact_rules(MANY))
    with (
        site.serving() as service,
        httpx.Client(base_url=service.url, headers=bearer(site.admin), timeout=300) as client,
    ):
        rounds = [_turn(service, headers, client, f"imported-{turn}", rows) for turn in bench.rounds(3, 45)]
    idle, importing, publishing = (min((turn[part] for turn in rounds), key=_slow) for part in range(3))
    yield compare("while 100,000 imported rules are published", idle, publishing, at_most(3))
    yield compare("while 100,000 rules are imported into a draft", idle, importing, None)


def _turn(
    service: Service, headers: dict[str, str], client: httpx.Client, project: str, rows: bytes
) -> tuple[Polls, Polls, Polls]:
    """Measure polls of an idle service, during the import of a new project's rules, and during their publish."""
    client.post(f"/api/namespace/{NAMESPACE}/projects", json={"name": project}).raise_for_status()
    return (
        during(service, headers, lambda: time.sleep(3)),
        during(service, headers, lambda: _post(client, f"{scope(project)}/import", rows)),
        during(service, headers, lambda: _post(client, f"{scope(project)}/publish", b"")),
    )


def _post(client: httpx.Client, path: str, body: bytes) -> None:
    headers = {"Content-Type": "text/tab-separated-values"} if body else {}
    client.post(path, content=body, headers=headers).raise_for_status()


def during(service: Service, headers: dict[str, str], work: Callable[[], object], project: str = BIG) -> Polls:
    """Send polls while `work` runs, and note how long those who take part were ready but waited for a core."""
    with paced_load(f"{service.url}{scope(project)}/version", headers, _CONNECTIONS, _PAUSE) as load:
        workers = service.workers()
        before = [scheduling(pids) for pids in _parts(workers, load.pid)]
        begun = time.perf_counter()
        work()
        seconds = time.perf_counter() - begun
        after = [scheduling(pids) for pids in _parts(workers, load.pid)]
        waited = [max(late.waited - early.waited, 0) / seconds for early, late in zip(before, after, strict=True)]
        return Polls(load.end(), *waited)


def _parts(workers: Collection[int], client: int) -> tuple[Collection[int], Collection[int], Collection[int]]:
    """Return the processes of the workers, of their jobs, and of the client."""
    return workers, set().union(*map(descendants, workers)), {client}


def _slow(polls: Polls) -> int:
    return polls.load.slow


def compare(when: str, quiet: Polls, held: Polls, target: Target | None) -> Figure:
    """Return the figure of polls during work, against those of an idle service."""
    idle, busy = quiet.load, held.load
    detail = (
        f"{busy.slow / 1000:.2f} ms against {idle.slow / 1000:.2f} ms (median {busy.median / 1000:.2f} against "
        f"{idle.median / 1000:.2f} ms, slowest {busy.slowest / 1000:.0f} ms), over {busy.microseconds / 1e6:.1f} s; "
        f"waited for a core: {held.shares()}, idle {quiet.shares()}"
    )
    return Figure(f"slowest 1% of version polls {when}", busy.slow / idle.slow, "times idle", target, detail)
