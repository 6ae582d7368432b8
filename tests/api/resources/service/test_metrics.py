"""`/metrics`: the counts of all workers, from any of them; by route, never by path."""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from api.app.app import create_app
from api.metrics.counters import SECONDS, Counters, method_label
from api.metrics.exposition import CONTENT_TYPE, render
from api.metrics.metrics_store import MetricsStore, Totals
from api.runtime.jobs.background import jobs, run_in_process
from api.server.master import merge_ended_workers
from api.settings import Settings
from tests.api.asgi import call
from tests.api.fakes import dependencies
from tests.metrics_text import read_metrics, total
from tests.service import SKELETON, Service, running, wait_until

SLOW = "/probe/slow"
REQUESTS = "waypost_requests_total"


@pytest.fixture(scope="module")
def metered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service whose processes a test may kill, and whose requests come from these tests only."""
    with running(SKELETON, tmp_path_factory.mktemp("metered") / "data") as service:
        yield service


def ask_both(service: Service, path: str, times: int) -> set[int]:
    """Return the process ids that answered so many requests, each over a new connection."""

    def ask(_: int) -> int:
        return int(httpx.get(service.url + path, timeout=30).json())

    with ThreadPoolExecutor(8) as pool:
        return set(pool.map(ask, range(times)))


def counted(service: Service, route: str, status: int = 200) -> float:
    """Return the number of GETs of a route with this status."""
    metrics = read_metrics(service.client, "none")
    return total(metrics, REQUESTS, route=route, method="GET", status=str(status))


def test_the_requests_of_all_workers_add_up_and_survive_a_kill(metered: Service) -> None:
    before = counted(metered, SLOW)
    asked = ask_both(metered, f"{SLOW}?ms=20", 64)
    assert asked == metered.workers()
    wait_until(lambda: counted(metered, SLOW) == before + 64, 10, "all requests to be counted")
    victim = asked.pop()
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(metered.workers() - {victim}) == 2, 10, "another worker")
    assert counted(metered, SLOW) == before + 64
    folder = metered.data / "metrics"
    wait_until(lambda: not list(folder.glob(f"{victim}-*")), 10, "the page of the killed worker to be kept")
    assert counted(metered, SLOW) == before + 64
    ask_both(metered, SLOW, 8)
    wait_until(lambda: counted(metered, SLOW) == before + 72, 10, "the new worker to count")
    wait_until(lambda: total(read_metrics(metered.client, "none"), "waypost_workers") == 2, 10, "both pages")


def test_paths_that_are_none_share_one_series(metered: Service) -> None:
    def series() -> set[tuple[str, frozenset[tuple[str, str]]]]:
        return set(read_metrics(metered.client, "none"))

    for method in ("GET", "POST", "BREW"):
        metered.client.request(method, "/nowhere")
    wait_until(lambda: counted(metered, "unknown", 404) >= 1, 10, "an unknown path to be counted")
    wait_until(lambda: counted(metered, "/metrics") >= 1, 10, "the metrics themselves to be counted")
    before = series()
    for number in range(500):
        metered.client.request(
            ("GET", "POST", f"M{number}")[number % 3], f"/api/{number}/{os.urandom(8).hex()}?{number}"
        )
    wait_until(lambda: counted(metered, "unknown", 404) >= 167, 10, "all of them to be counted")
    # Two further methods have at most two further statuses; the number of requests adds no series.
    added = series() - before
    assert len(added) <= 8, sorted((name, sorted(labels)) for name, labels in added)
    assert not any("M1" in value for _, labels in series() for _, value in labels)


def test_a_project_in_a_path_is_not_in_the_label(metered: Service) -> None:
    metered.client.get("/api/namespace/secretive/project/merger/probe", headers={"Authorization": "Bearer all"})
    route = "/api/namespace/{namespace}/project/{project}/probe"
    wait_until(lambda: counted(metered, route) >= 1, 10, "the request to be counted")
    text = metered.client.get("/metrics", headers={"Authorization": "Bearer all"}).text
    assert "secretive" not in text
    assert "merger" not in text


def test_what_never_reached_the_application_is_counted(metered: Service) -> None:
    long = "/" + "x" * 9000
    assert httpx.get(metered.url + long).status_code == 414

    def unread() -> float:
        return total(read_metrics(metered.client, "all"), "waypost_unread_requests_total", status="414")

    wait_until(unread, 10, "the refusal to be counted")


def test_work_in_a_process_is_counted(metered: Service) -> None:
    metered.client.get("/probe/worker")

    def done() -> float:
        return total(read_metrics(metered.client, "all"), "waypost_jobs_total", outcome="done")

    wait_until(done, 10, "the work to be counted")
    metrics = read_metrics(metered.client, "all")
    assert total(metrics, "waypost_jobs") == 0
    assert total(metrics, "waypost_job_seconds_total") > 0


def test_without_a_token_no_metrics_are_shown(metered: Service) -> None:
    assert metered.client.get("/metrics").status_code == 401
    assert metered.client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_a_disk_that_takes_no_page_costs_nothing_but_the_metrics(tmp_path: Path) -> None:
    with running(SKELETON, tmp_path / "data") as service:
        folder = service.data / "metrics"
        folder.rename(tmp_path / "metrics")
        folder.write_bytes(b"in the way")

        def reported() -> bool:
            return [line.get("event") for line in service.log_lines()].count("metrics_not_written") >= 2

        wait_until(reported, 10, "both workers to tell of it, once")
        victim = min(service.workers())
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(service.workers() - {victim}) == 2, 10, "another worker")
        assert service.client.get("/health/ping").status_code == 204
        folder.unlink()
        (tmp_path / "metrics").rename(folder)
        wait_until(lambda: counted(service, "/health/ping", 204), 10, "the metrics to be back")


def test_a_master_survives_any_fault_of_the_pages(tmp_path: Path) -> None:
    """Without the error handling of this hook, gunicorn would stop the whole service."""
    folder = tmp_path / "metrics"
    MetricsStore(folder).clear()
    (folder / "12-garbage").write_bytes(b'{"counts": [[1, 2]]}')
    (folder / "0x-garbage").write_bytes(b"")
    merge_ended_workers(Settings(data=tmp_path), type("Arbiter", (), {"WORKERS": {}}), None)


def test_the_histogram_is_cumulative_and_ends_with_all() -> None:
    counters = Counters()
    for seconds in (0.0001, 0.0005, 0.0006, 0.3, 100.0):
        counters.add_request("/a", "GET", 200, seconds)
    text = render(Totals(dict(counters.counts()), {}, 1), {}).decode()
    places = [float(each) for each in re.findall(rf'{SECONDS}_bucket{{le="[^"]+",route="/a"}} (\S+)', text)]
    assert (places[0], places[1], places[-2], places[-1]) == (2, 3, 4, 5)
    assert places == sorted(places)
    assert f'{SECONDS}_count{{route="/a"}} 5.0' in text
    assert f'{SECONDS}_sum{{route="/a"}} 100.3012' in text
    assert f'{REQUESTS}{{method="GET",route="/a",status="200"}} 5.0' in text


def test_everything_that_is_promised_is_there_before_anything_happened() -> None:
    text = render(Totals({}, {}, 0), {}).decode()
    for name in ("waypost_waiting_polls", "waypost_heartbeats_pending", "waypost_jobs", "waypost_workers"):
        assert f"\n{name} 0.0\n" in text
    assert CONTENT_TYPE.startswith("text/plain")


def test_a_method_that_http_does_not_know_is_another() -> None:
    assert [method_label(each) for each in ("GET", "PATCH", "get", "X" * 1000)] == ["GET", "PATCH", "other", "other"]


def test_counting_a_request_makes_no_new_series_for_a_new_path() -> None:
    app = create_app(dependencies())
    for number in range(100):
        call(app, "GET", f"/schemas/none-{number}")
        call(app, "GET", f"/nowhere/{number}")
    routes = {key[1] for key in app.collector.counters.counts()}
    assert routes == {"/schemas/{name}", "unknown"}


async def fail() -> None:
    """Fail as a job does."""
    await run_in_process(int, "no number")


def test_a_job_that_fails_is_counted_as_such(metered: Service) -> None:
    del metered
    before = jobs.ended["failed"], jobs.open
    with pytest.raises(ValueError, match="invalid literal"), jobs.track():
        int("no number")
    assert (jobs.ended["failed"], jobs.open) == (before[0] + 1, before[1])
