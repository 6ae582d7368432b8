"""Errands that get no answer, whose caller has gone, or that fail by a fault of this node; and a desk that is open again."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from api.data.served_data import ServedData
from api.upstreams.errand_desk import ErrandDesk, Run
from gitstore.layout import CommitId
from gitstore.pushes.pushed_files import find_no_token
from gitstore.store.store import Store
from gitstore.upstream.errands import SOCKET, Errand, hand_over, listen
from gitstore.wire.client.remote_errors import RemoteAway, RemoteUnknown

PUSH, SYNC = Errand("acme", None, CommitId("1" * 40)), Errand("acme")


def repositories(served: ServedData) -> Path:
    """Return the folder of repositories, beside which the desk has its socket."""
    return served.parts.root / "repos"


def new_desk(served: ServedData, work: Run) -> ErrandDesk:
    """Create a desk whose errands `work` does."""
    return ErrandDesk(Store(served.parts.root), served, find_no_token, work)


@pytest.mark.parametrize(("errand", "kind"), [(PUSH, RemoteUnknown), (SYNC, RemoteAway)])
def test_only_a_push_without_an_answer_may_be_done(tmp_path: Path, errand: Errand, kind: type[RemoteAway]) -> None:
    with listen(tmp_path), pytest.raises(RemoteAway) as caught:
        hand_over(tmp_path, errand, 0.2)
    assert type(caught.value) is kind


@pytest.mark.parametrize(("errand", "kind"), [(PUSH, RemoteUnknown), (SYNC, RemoteAway)])
def test_an_errand_that_fails_by_a_fault_of_this_node_is_done_once(
    served: ServedData, errand: Errand, kind: type[RemoteAway]
) -> None:
    runs = list[str]()

    async def fail(kind: str, _work: Callable[[], object]) -> None:
        runs.append(kind)
        raise RuntimeError("a fault")

    async def ask() -> None:
        desk = new_desk(served, fail)
        await desk.open()
        try:
            await asyncio.to_thread(hand_over, repositories(served), errand, 5.0)
        finally:
            await desk.close()

    with pytest.raises(RemoteAway) as caught:
        asyncio.run(ask())
    assert (type(caught.value), len(runs)) == (kind, 1)


@pytest.mark.parametrize("errand", [PUSH, SYNC])
def test_an_errand_whose_caller_has_gone_is_not_begun(served: ServedData, errand: Errand) -> None:
    runs = list[str]()

    async def ask() -> None:
        running, end = asyncio.Event(), asyncio.Event()

        async def work(kind: str, _work: Callable[[], object]) -> None:
            runs.append(kind)
            running.set()
            if len(runs) == 1:
                await end.wait()

        desk = new_desk(served, work)
        await desk.open()
        try:
            first = asyncio.create_task(asyncio.to_thread(hand_over, repositories(served), PUSH, 20.0))
            await running.wait()
            with pytest.raises(RemoteAway):
                await asyncio.to_thread(hand_over, repositories(served), errand, 0.2)
            other = Errand("other")  # its answer shows that the desk has seen the end of the one before
            await asyncio.to_thread(hand_over, repositories(served), other, 20.0)
            end.set()
            await first
            await asyncio.to_thread(hand_over, repositories(served), SYNC, 20.0)
        finally:
            await desk.close()

    asyncio.run(ask())
    assert runs == ["publish", "fetch", "fetch"]


def test_a_sync_that_hangs_ends_with_its_caller_and_holds_up_no_other(served: ServedData) -> None:
    runs = list[str]()

    async def ask() -> None:
        async def work(kind: str, _work: Callable[[], object]) -> None:
            runs.append(kind)
            if len(runs) == 1:
                await asyncio.Event().wait()

        desk = new_desk(served, work)
        await desk.open()
        try:
            with pytest.raises(RemoteAway):
                await asyncio.to_thread(hand_over, repositories(served), SYNC, 0.2)
            await asyncio.to_thread(hand_over, repositories(served), PUSH, 20.0)
        finally:
            await desk.close()

    asyncio.run(ask())
    assert runs == ["fetch", "publish"]


def test_a_desk_whose_socket_has_gone_is_open_again(served: ServedData) -> None:
    async def ask() -> None:
        async def work(_kind: str, _work: Callable[[], object]) -> None:
            pass

        desk = new_desk(served, work)
        try:
            for _ in range(2):
                await desk.open()
                await desk.open()
                await asyncio.to_thread(hand_over, repositories(served), SYNC, 20.0)
                (repositories(served) / SOCKET).unlink()
        finally:
            await desk.close()

    asyncio.run(ask())


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_desk_makes_nothing_in_the_place_of_a_lost_folder(
    served: ServedData,
    tmp_path: Path,
    is_replaced: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The last look at the data is a second old at most, and may not have seen it."""
    folder = repositories(served)

    async def ask() -> None:
        async def work(_kind: str, _work: Callable[[], object]) -> None:
            pass

        desk = new_desk(served, work)
        try:
            await desk.open()
            folder.rename(tmp_path / "away")
            if is_replaced:
                folder.mkdir()
            await desk.open()
            assert folder.exists() is is_replaced
            assert list(folder.glob("*")) == []
            if is_replaced:
                folder.rmdir()
            (tmp_path / "away").rename(folder)
            await desk.open()
            await asyncio.to_thread(hand_over, folder, SYNC, 20.0)
        finally:
            await desk.close()

    asyncio.run(ask())
