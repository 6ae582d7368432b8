"""Errands that get no answer, or fail by a fault of this node."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from api.upstreams.errand_desk import ErrandDesk
from gitstore.layout import CommitId
from gitstore.pushes.pushed_files import find_no_token
from gitstore.store.store import Store
from gitstore.upstream.errands import Errand, hand_over, listen
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
