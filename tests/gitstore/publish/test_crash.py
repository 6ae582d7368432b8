"""kill -9 at any moment: acknowledged publishes are kept, the served state is whole, and no repair is needed."""

import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from content.records.vocabulary import Kind
from gitstore.errors import NothingToPublish
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, create_place, put, redirect, seeded_random
from tests.rounds import rounds

_KILLS = rounds(30, 200)
_RULES = 5


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Place]:
    """Yield the project on a file system in memory, if there is one: kills there need less time, and prove the same."""
    memory = Path("/dev/shm")  # noqa: S108 - the test creates a private folder there
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield create_place(Path(folder) / "data").begin(SHOP)


def _publish_until_killed(root: Path, start: int, reported: int) -> None:
    """Publish one number after the other in all rules at once, writing each acknowledged one to a pipe."""
    store = Store(root)
    number = start
    while True:
        _publish(store, number)
        os.write(reported, b"%d %d\n" % (number, store.releases.project(SPACE, SHOP).number))
        number += 1


def _publish(store: Store, number: int) -> str:
    edits = [put(redirect(f"/rule/{rule}", f"/number/{number}")) for rule in range(_RULES)]
    head = store.drafts.edit(SPACE, MAIN, edits, ADA).head
    return store.publishes.publish(SPACE, PublishRequest(MAIN, ADA, head)).version


def _killed_after(seconds: float, root: Path, start: int) -> list[tuple[int, int]]:
    """Return the publishes acknowledged before the process was killed, as (number in the rules, publish number)."""
    return _reported_until_killed(seconds, lambda reported: _publish_until_killed(root, start, reported))


def _reported_until_killed(seconds: float, work: Callable[[int], None]) -> list[tuple[int, int]]:
    """Return the pairs of numbers that a process running `work` wrote to its pipe before it was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            work(write)
        finally:
            os._exit(1)
    os.close(write)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        lines = (line.split() for line in pipe.read().splitlines())
        return [(int(number), int(publish)) for number, publish in lines]


def _served(place: Place) -> int:
    """Return the number in the rules that are served now; all rules of a whole version have the same."""
    found = set(place.fresh().targets().values())
    assert len(place.fresh().items()) == _RULES
    assert len(found) == 1, f"a mixture is served: {found}"
    return int(found.pop().rpartition("/")[2])


def test_kills_lose_nothing_and_need_no_repair(quick: Place) -> None:
    """After each kill the old or the new version is served, whole, and the next publish works at once.

    At the end every acknowledged publish is on release under its reported number, and C git finds no fault.
    """
    chance = seeded_random()
    usual = statistics.median(_seconds(quick, number) for number in range(5))
    last, reported = 4, {}
    for _ in range(_KILLS):
        acknowledged = _killed_after(chance.uniform(0, 2 * usual), quick.root, last + 1)
        reported.update({publish: number for number, publish in acknowledged})
        usual *= 0.9 if acknowledged else 1.1  # so that half of the kills come before the first reply, on any disk
        newest = acknowledged[-1][0] if acknowledged else last
        last = _served(quick)
        assert last in {newest, newest + 1}
        if chance.random() < 0.1:
            last += 1
            _publish(quick.fresh().store, last)
            assert _served(quick) == last
    _publish(quick.fresh().store, last + 1)
    assert _served(quick) == last + 1
    assert len(reported) > _KILLS / 10, "the kills came too early to test anything"
    _check_history(quick, reported)


def _roll_back_until_killed(root: Path, reported: int) -> None:
    """Roll back and forth between two publishes, each time from packed segments alone; report the acknowledged ones."""
    store = Store(root)
    paths, back = store.directory.namespace(SPACE), 2
    while True:
        for file in (*paths.releases.glob("*.*"), *paths.segments.glob("*/*")):
            file.unlink()
        _roll_back(store, back)
        os.write(reported, b"%d %d\n" % (back - 2, store.releases.project(SPACE, SHOP).number))
        back = 5 - back


def _roll_back(store: Store, version: int) -> None:
    with suppress(NothingToPublish):  # the rollback before the kill had taken effect
        store.publishes.roll_back(SPACE, SHOP, str(version), ADA)


def test_kills_while_rolling_back_leave_one_publish_or_the_other(quick: Place) -> None:
    """The state is whole and served; at most one unacknowledged publish has a number; the next one works at once."""
    for number in range(2):
        _publish(quick.store, number)
    chance, usual, reported = seeded_random(), 0.05, 0
    for _ in range(_KILLS // 5):
        before = quick.fresh().state()[1]
        acknowledged = _reported_until_killed(
            chance.uniform(0, 2 * usual), lambda pipe: _roll_back_until_killed(quick.root, pipe)
        )
        usual *= 0.9 if acknowledged else 1.1
        served, after = _served(quick), quick.fresh().state()[1]
        assert before <= after
        if acknowledged:
            assert after - acknowledged[-1][1] in {0, 1}
            assert served == (acknowledged[-1][0] if after == acknowledged[-1][1] else 1 - acknowledged[-1][0])
        reported += len(acknowledged)
        _roll_back(quick.fresh().store, 3 - served)
        assert _served(quick) == 1 - served
    assert reported > _KILLS / 50, "the kills came too early to test anything"
    _check_history(quick, {})


def _seconds(place: Place, number: int) -> float:
    started = time.monotonic()
    _publish(place.store, number)
    return time.monotonic() - started


def _check_history(place: Place, reported: dict[int, int]) -> None:
    chain = place.chain(SHOP)
    publishes, total = place.fresh().store.publishes.history(SPACE, SHOP, 0, len(chain) + 1)
    assert total == len(chain) == place.fresh().state()[1]
    assert [publish.version for publish in reversed(publishes)] == chain
    assert [publish.number for publish in reversed(publishes)] == list(range(1, total + 1))
    for publish, number in reported.items():
        assert f"/number/{number}" in place.git("cat-file", "blob", f"{chain[publish - 1]}:shop/redirects.yaml")
    place.fsck()
    assert list((place.repo / "refs").rglob("*.lock")) == []


def test_publish_that_was_cut_off_before_its_draft_ended_is_found_again(place: Place) -> None:
    """A kill between the two refs: the retry returns the existing publish, and the draft is gone."""
    head = place.save(put(redirect("/a")))
    published = place.publish(head=head)
    place.git("update-ref", MAIN.ref, head)
    again = place.fresh().publish(head=head)
    assert (again.version, again.number) == (published.version, published.number)
    assert place.store.drafts.names(SPACE, SHOP) == []
    assert place.state() == (published.version, published.number)


def test_selected_publish_that_was_cut_off_is_found_again(place: Place) -> None:
    """A kill before the draft merges the publish: the retry returns the same, and the draft holds only the rest."""
    head = place.save(put(redirect("/a")), put(redirect("/b")))
    chosen = frozenset({redirect("/a").id})
    published = place.publish(head=head, ids=chosen)
    place.git("update-ref", MAIN.ref, head)
    again = place.fresh().publish(head=head, ids=chosen)
    assert (again.version, again.number) == (published.version, published.number)
    assert place.targets() == {"/a": "/new"}
    assert place.store.drafts.report(SPACE, MAIN).counts[Kind.REDIRECTS] == (1, 0, 0)
    place.publish()
    assert set(place.targets()) == {"/a", "/b"}


def test_edit_after_such_a_cut_begins_from_release(place: Place) -> None:
    """The remaining branch of a published draft is not a base for edits."""
    head = place.save(put(redirect("/a")))
    place.publish(head=head)
    place.publish(put(redirect("/b")))
    place.git("update-ref", MAIN.ref, head)
    place.save(put(redirect("/c")))
    assert place.git("rev-parse", f"{MAIN.ref}~1") == place.tip
    place.publish()
    assert set(place.targets()) == {"/a", "/b", "/c"}
