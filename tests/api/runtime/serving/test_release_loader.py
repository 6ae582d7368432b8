"""The release loader of a worker: requests at the same time share one refresh."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.releases.release import Release
from gitstore.history.live import LiveNamespace
from gitstore.layout import RELEASE_REF, TreeId
from tests.e2e.git import rules
from tests.gitstore.fixtures import SHOP, SPACE, create_place, put, redirect


def test_requests_that_wait_share_one_refresh_of_a_ref_that_is_not_trusted_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: right after a publish each waiting request read the repository, one after the other."""
    place = create_place(tmp_path / "data").begin(SHOP)
    store = place.fresh().store
    refreshes: list[str] = []

    async def scenario() -> list[LiveNamespace]:
        loader = ReleaseLoader(store)
        await loader.start()
        await loader.namespace(SPACE)
        loader.listen(lambda namespace, _before, _after: refreshes.append(namespace))
        place.publish(put(redirect("/a")))
        moved = (place.repo / RELEASE_REF).stat().st_mtime_ns
        monkeypatch.setattr(time, "time_ns", lambda: moved)
        found = await asyncio.gather(*(loader.namespace(SPACE) for _ in range(200)))
        await loader.stop()
        return found

    found = asyncio.run(scenario())
    assert {each.manifest.commit for each in found} == {place.tip}
    assert len(refreshes) <= 2


def test_a_state_that_another_reader_met_first_is_compiled_and_told(tmp_path: Path) -> None:
    """Guard: a request for the history took the move of the ref, and again each second; nothing compiled the new state."""
    place = create_place(tmp_path / "data").begin(SHOP)
    store = place.fresh().store
    found: list[bool] = []

    async def scenario() -> None:
        loader = ReleaseLoader(store)
        await loader.start()
        await loader.namespace(SPACE)
        served = asyncio.Event()

        def note(_namespace: str, _before: LiveNamespace | None, after: LiveNamespace) -> None:
            found.append(after.is_unfinished)
            if not after.is_unfinished:
                served.set()

        loader.listen(note)
        place.push({f"{SHOP}/redirects.yaml": rules("/pushed")})
        await asyncio.to_thread(store.releases.faults, SPACE)
        await asyncio.wait_for(served.wait(), 30)
        await loader.stop()

    asyncio.run(scenario())
    assert found[0]
    assert not found[-1]


def test_requests_for_other_projects_do_not_wait_for_a_large_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: each poll of the namespace waited until the checksums of a new release were compared."""
    place = create_place(tmp_path / "data").begin(SHOP, "other")
    store = place.fresh().store
    opening, go_on = threading.Event(), threading.Event()
    find = Compiler.find_compiled

    def wait(self: Compiler, project: str, tree: TreeId) -> Release | None:
        opening.set()
        assert go_on.wait(60)
        return find(self, project, tree)

    async def scenario() -> None:
        loader = ReleaseLoader(store)
        await loader.start()
        before = await loader.project(SPACE, "other")
        place.publish(put(redirect("/a")))
        monkeypatch.setattr(Compiler, "find_compiled", wait)
        changed = asyncio.create_task(loader.project(SPACE, SHOP))
        early = asyncio.create_task(loader.project(SPACE, "other"))
        assert await asyncio.to_thread(opening.wait, 60)
        try:
            assert await asyncio.wait_for(early, 60) == before
            assert await asyncio.wait_for(loader.project(SPACE, "other"), 60) == before
            assert not changed.done()
        finally:
            go_on.set()
        assert (await changed).version == place.tip
        await loader.stop()

    asyncio.run(scenario())
