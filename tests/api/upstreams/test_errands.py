"""Errands that get no answer, whose caller has gone, or that fail by a fault of this node; and a desk that is open again."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from api.upstreams.errand_desk import ErrandDesk
from gitstore.layout import CommitId
from gitstore.pushes.pushed_files import find_no_token
from gitstore.store.store import Store
from gitstore.upstream.errands import SOCKET, Errand, hand_over, listen
from gitstore.wire.client.remote_errors import RemoteAway, RemoteUnknown

PUSH, SYNC = Errand("acme", None, CommitId("1" * 40)), Errand("acme")


@pytest.mark.parametrize(("errand", "kind"), [(PUSH, RemoteUnknown), (SYNC, RemoteAway)])
def test_only_a_push_without_an_answer_may_be_done(tmp_path: Path, errand: Errand, kind: type[RemoteAway]) -> None:
    with listen(tmp_path), pytest.raises(RemoteAway) as caught:
        hand_over(tmp_path, errand, 0.2)
    assert type(caught.value) is kind


@pytest.mark.parametrize(("errand", "kind"), [(PUSH, RemoteUnknown), (SYNC, RemoteAway)])
def test_an_errand_that_fails_by_a_fault_of_this_node_is_done_once(
    tmp_path: Path, errand: Errand, kind: type[RemoteAway]
) -> None:
    runs = list[str]()

    async def fail(kind: str, _work: Callable[[], object]) -> None:
        runs.append(kind)
        raise RuntimeError("a fault")

    async def ask() -> None:
        desk = ErrandDesk(Store(tmp_path / "data"), find_no_token, fail)
        await desk.open(tmp_path)
        try:
            await asyncio.to_thread(hand_over, tmp_path, errand, 5.0)
        finally:
            await desk.close()

    with pytest.raises(RemoteAway) as caught:
        asyncio.run(ask())
    assert (type(caught.value), len(runs)) == (kind, 1)


@pytest.mark.parametrize("errand", [PUSH, SYNC])
def test_an_errand_whose_caller_has_gone_is_not_begun(tmp_path: Path, errand: Errand) -> None:
    runs = list[str]()

    async def ask() -> None:
        running, end = asyncio.Event(), asyncio.Event()

        async def work(kind: str, _work: Callable[[], object]) -> None:
            runs.append(kind)
            running.set()
            if len(runs) == 1:
                await end.wait()

        desk = ErrandDesk(Store(tmp_path / "data"), find_no_token, work)
        await desk.open(tmp_path)
        try:
            first = asyncio.create_task(asyncio.to_thread(hand_over, tmp_path, PUSH, 20.0))
            await running.wait()
            with pytest.raises(RemoteAway):
                await asyncio.to_thread(hand_over, tmp_path, errand, 0.2)
            other = Errand("other")  # its answer shows that the desk has seen the end of the one before
            await asyncio.to_thread(hand_over, tmp_path, other, 20.0)
            end.set()
            await first
            await asyncio.to_thread(hand_over, tmp_path, SYNC, 20.0)
        finally:
            await desk.close()

    asyncio.run(ask())
    assert runs == ["publish", "fetch", "fetch"]


def test_a_sync_that_hangs_ends_with_its_caller_and_holds_up_no_other(tmp_path: Path) -> None:
    runs = list[str]()

    async def ask() -> None:
        async def work(kind: str, _work: Callable[[], object]) -> None:
            runs.append(kind)
            if len(runs) == 1:
                await asyncio.Event().wait()

        desk = ErrandDesk(Store(tmp_path / "data"), find_no_token, work)
        await desk.open(tmp_path)
        try:
            with pytest.raises(RemoteAway):
                await asyncio.to_thread(hand_over, tmp_path, SYNC, 0.2)
            await asyncio.to_thread(hand_over, tmp_path, PUSH, 20.0)
        finally:
            await desk.close()

    asyncio.run(ask())
    assert runs == ["fetch", "publish"]


def test_a_desk_whose_socket_has_gone_is_open_again(tmp_path: Path) -> None:
    async def ask() -> None:
        async def work(_kind: str, _work: Callable[[], object]) -> None:
            pass

        desk = ErrandDesk(Store(tmp_path / "data"), find_no_token, work)
        try:
            for _ in range(2):
                await desk.open(tmp_path)
                await desk.open(tmp_path)
                await asyncio.to_thread(hand_over, tmp_path, SYNC, 20.0)
                (tmp_path / SOCKET).unlink()
        finally:
            await desk.close()

    asyncio.run(ask())
