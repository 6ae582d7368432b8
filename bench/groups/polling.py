"""The slowest 1% of version polls while 100,000 imported rules are published, against those of an idle service."""

import time
from collections.abc import Callable, Iterator

import httpx

from bench.figure import Figure, Target, at_most
from bench.load import Load, paced_load
from bench.rules import MANY, exact_rules, table
from bench.workbench import BIG, NAMESPACE, Workbench, bearer, scope
from tests.service import Service

_CONNECTIONS = 40
# Milliseconds between the polls of a connection: about a thousand polls a second in all, a fraction of the maximum.
_PAUSE = 40


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
    yield _compare("while 100,000 imported rules are published", idle, publishing, at_most(10))
    yield _compare("while 100,000 rules are imported into a draft", idle, importing, None)


def _turn(
    service: Service, headers: dict[str, str], client: httpx.Client, project: str, rows: bytes
) -> tuple[Load, Load, Load]:
    """Measure polls of an idle service, during the import of a new project's rules, and during their publish."""
    client.post(f"/api/namespace/{NAMESPACE}/projects", json={"name": project}).raise_for_status()
    return (
        _during(service, headers, lambda: time.sleep(3)),
        _during(service, headers, lambda: _post(client, f"{scope(project)}/import", rows)),
        _during(service, headers, lambda: _post(client, f"{scope(project)}/publish", b"")),
    )


def _post(client: httpx.Client, path: str, body: bytes) -> None:
    headers = {"Content-Type": "text/tab-separated-values"} if body else {}
    client.post(path, content=body, headers=headers).raise_for_status()


def _during(service: Service, headers: dict[str, str], work: Callable[[], object]) -> Load:
    with paced_load(f"{service.url}{scope(BIG)}/version", headers, _CONNECTIONS, _PAUSE) as end:
        work()
        return end()


def _slow(load: Load) -> int:
    return load.slow


def _compare(when: str, idle: Load, busy: Load, target: Target | None) -> Figure:
    detail = (
        f"{busy.slow / 1000:.2f} ms against {idle.slow / 1000:.2f} ms (median {busy.median / 1000:.2f} against "
        f"{idle.median / 1000:.2f} ms, slowest {busy.slowest / 1000:.0f} ms), over {busy.microseconds / 1e6:.1f} s"
    )
    return Figure(f"slowest 1% of version polls {when}", busy.slow / idle.slow, "times idle", target, detail)
