"""The check of content in the background: complete after a round, at once after a push, and free for the callers."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType

import pytest

from api.app.data_directory import create_data, open_data
from api.data.served_data import ServedData
from api.readiness import FaultReport
from api.runtime.health import content_check
from api.runtime.health.content_check import ContentCheck
from api.runtime.health.readiness_checks import run_checks
from api.runtime.jobs.background import close_pools
from api.runtime.jobs.pace import Pace
from api.runtime.serving.release_loader import ReleaseLoader
from api.settings import Settings
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.e2e.git import remove_hooks
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place
from tests.service import wait_until

PATIENCE = 60.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a data directory without namespaces."""
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    return settings.data


def grow(root: Path, *names: str) -> None:
    """Create namespaces, each with a project."""
    store = Store(root)
    for name in names:
        store.namespaces.create(name, "", ADA)
        store.projects.create(name, SHOP, ProjectFile(), ADA)


def during(root: Path, scenario: Callable[[ContentCheck, ReleaseLoader], Awaitable[None]]) -> None:
    """Run a scenario while a worker's check runs."""

    async def run() -> None:
        store = Store(root)
        loader = ReleaseLoader(store)
        check = ContentCheck(store, loader, open_data(Settings(data=root)))
        await loader.start()
        await check.start()
        try:
            await scenario(check, loader)
        finally:
            await check.stop()
            await loader.stop()
            close_pools()

    asyncio.run(run())


def codes(check: ContentCheck) -> list[str]:
    """Return the codes of the present faults."""
    return [fault.code for fault in check.ready_check().find()]


async def wait_for(check: ContentCheck, *expected: str) -> None:
    """Wait for the codes of the present faults."""
    await asyncio.to_thread(wait_until, lambda: codes(check) == list(expected), PATIENCE, f"{expected} to be reported")


def test_data_that_is_lost_for_a_moment_drops_no_finding(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: what a namespace had as a fault was dropped until the next look at it."""
    grow(root, "one")
    objects = Store(root).directory.namespace("one").repository / "objects"
    objects.rename(objects.with_name("away"))
    store = Store(root)
    data = open_data(Settings(data=root))
    check = ContentCheck(store, ReleaseLoader(store), data)
    pace = Pace(shortest=0, longest=1, most=1, least=0, first=0)

    async def look() -> bool:
        try:
            return await check._look_at_all(pace)
        finally:
            close_pools()

    assert asyncio.run(look()) is True
    before = codes(check)
    assert before
    looks = iter(("It is away.",))
    monkeypatch.setattr(ServedData, "check", lambda _data: next(looks, None))
    assert asyncio.run(look()) is False
    assert codes(check) == before


def test_damage_that_moves_no_ref_is_found_in_a_round_and_so_is_its_end(root: Path) -> None:
    grow(root, "one", "two")
    objects = Store(root).directory.namespace("one").repository / "objects"

    async def scenario(check: ContentCheck, _loader: ReleaseLoader) -> None:
        await wait_for(check)
        objects.rename(objects.with_name("away"))
        await wait_for(check, "unreadable")
        objects.with_name("away").rename(objects)
        await wait_for(check)

    during(root, scenario)


def test_removed_namespace_takes_its_fault_along(root: Path) -> None:
    grow(root, "one", "two")
    store = Store(root)
    objects = store.directory.namespace("one").repository / "objects"
    objects.rename(objects.with_name("away"))

    async def scenario(check: ContentCheck, _loader: ReleaseLoader) -> None:
        await wait_for(check, "unreadable")
        objects.with_name("away").rename(objects)
        store.namespaces.delete("one")
        await wait_for(check)

    during(root, scenario)


def test_push_is_checked_when_it_is_read_not_in_the_next_round(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(root, SPACE)
    monkeypatch.setattr(content_check, "ROUND_SECONDS", 3600.0)
    place = Place(root, Store(root))

    async def scenario(check: ContentCheck, loader: ReleaseLoader) -> None:
        await loader.namespace(SPACE)
        await wait_for(check)
        remove_hooks(place.repo)
        place.push({f"{SHOP}/redirects.yaml": "redirects: [\n"})
        await loader.namespace(SPACE)
        await wait_for(check, "invalid_content")

    during(root, scenario)


def count_calls(work: Callable[[], object]) -> int:
    """Return the number of calls of functions in this thread, also of built-in ones."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_readiness_costs_the_same_for_any_number_of_namespaces(root: Path) -> None:
    counted = list[int]()

    async def scenario(check: ContentCheck, _loader: ReleaseLoader) -> None:
        await wait_for(check)
        counted.append(count_calls(lambda: run_checks([check.ready_check()])))

    grow(root, "few")
    during(root, scenario)
    grow(root, *(f"many-{number}" for number in range(20)))
    during(root, scenario)
    assert counted[0] == counted[1] > 0


def test_age_is_that_of_the_last_complete_round(root: Path) -> None:
    grow(root, "one")

    async def scenario(check: ContentCheck, _loader: ReleaseLoader) -> None:
        await wait_for(check)
        found = run_checks([check.ready_check()])["content"]
        assert found.age is not None
        assert 0 <= found.age < PATIENCE

    begun = time.monotonic()
    during(root, scenario)
    assert time.monotonic() - begun < PATIENCE


def test_before_the_first_round_ends_the_node_is_not_called_ready(root: Path) -> None:
    check = ContentCheck(Store(root), ReleaseLoader(Store(root)), open_data(Settings(data=root)))
    assert codes(check) == ["check_pending"]
    assert run_checks([check.ready_check()])["content"].age is None


def test_check_that_hangs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the last findings of a check on a disk that does not respond stay those of a ready node."""
    report = FaultReport()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 30)
    report.end_round(now)
    assert list(report.find()) == []
    monkeypatch.setattr(time, "monotonic", lambda: now + 30 + 60 + 3 * 30 - 1)
    assert list(report.find()) == []
    monkeypatch.setattr(time, "monotonic", lambda: now + 30 + 60 + 3 * 30 + 1)
    assert [fault.code for fault in report.find()] == ["check_overdue"]
    assert report.age() == pytest.approx(181)
