"""kill -9 at any moment: what was acknowledged is there, what is served is whole, and nobody has to repair anything."""

import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from content.vocabulary import Kind
from gitstore.errors import NothingToPublish
from gitstore.publishing import PublishOrder
from gitstore.store import Store
from tests.gitstore.places import ADA, MAIN, SHOP, SPACE, Place, dice, found, put, redirect

_KILLS = 200
_RULES = 5


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Place]:
    """The project on a file system in memory, where there is one: a kill is a kill on any, and there it comes sooner."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield found(Path(folder) / "data").begin(SHOP)


def _publish_for_ever(root: Path, start: int, told: int) -> None:
    """Publish one number after the other in all rules at once, writing each acknowledged one to a pipe."""
    store = Store(root)
    number = start
    while True:
        _publish(store, number)
        os.write(told, b"%d %d\n" % (number, store.project(SPACE, SHOP).number))
        number += 1


def _publish(store: Store, number: int) -> str:
    edits = [put(redirect(f"/rule/{rule}", f"/number/{number}")) for rule in range(_RULES)]
    head = store.edit(SPACE, MAIN, edits, ADA).head
    return store.publish(SPACE, PublishOrder(MAIN, ADA, head)).version


def _killed_after(seconds: float, root: Path, start: int) -> list[tuple[int, int]]:
    """What a publishing process acknowledged (number in the rules, publish number) until it was killed."""
    return _told_until_killed(seconds, lambda told: _publish_for_ever(root, start, told))


def _told_until_killed(seconds: float, work: Callable[[int], None]) -> list[tuple[int, int]]:
    """The pairs of numbers that a process which does the work wrote to its pipe until it was killed."""
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
    """The number in the rules that are served now; they all hold the same one, or the version is not whole."""
    found = set(place.fresh().targets().values())
    assert len(place.fresh().items()) == _RULES
    assert len(found) == 1, f"a mixture is served: {found}"
    return int(found.pop().rpartition("/")[2])


def test_200_kills_lose_nothing_and_need_no_repair(quick: Place) -> None:
    """After each kill the old or the new version is served, whole, and the next publish works at once.

    At the end every acknowledged publish is on release under the number it was told, and C git finds no fault.
    """
    chance = dice()
    usual = statistics.median(_seconds(quick, number) for number in range(5))
    last, told = 4, {}
    for _ in range(_KILLS):
        acknowledged = _killed_after(chance.uniform(0, 2 * usual), quick.root, last + 1)
        told.update({publish: number for number, publish in acknowledged})
        usual *= (
            0.9 if acknowledged else 1.1
        )  # so that half of the kills come before the first reply, whatever the disk
        newest = acknowledged[-1][0] if acknowledged else last
        last = _served(quick)
        assert last in {newest, newest + 1}
        if chance.random() < 0.1:
            last += 1
            _publish(quick.fresh().store, last)
            assert _served(quick) == last
    _publish(quick.fresh().store, last + 1)
    assert _served(quick) == last + 1
    assert len(told) > _KILLS / 10, "the kills came too early to show anything"
    _check_history(quick, told)


def _roll_back_for_ever(root: Path, told: int) -> None:
    """Go to and fro between two publishes, each time with nothing but packed parts, writing down what was acknowledged."""
    store = Store(root)
    paths, back = store.directory.namespace(SPACE), 2
    while True:
        for file in (*paths.releases.glob("*.*"), *paths.parts.glob("*/*")):
            file.unlink()
        _roll_back(store, back)
        os.write(told, b"%d %d\n" % (back - 2, store.project(SPACE, SHOP).number))
        back = 5 - back


def _roll_back(store: Store, version: int) -> None:
    with suppress(NothingToPublish):  # the one before the kill had happened
        store.roll_back(SPACE, SHOP, str(version), ADA)


def test_kills_while_rolling_back_leave_one_publish_or_the_other(quick: Place) -> None:
    """Whole, served, and one number on for each that was acknowledged, at most one more; the next one works at once."""
    for number in range(2):
        _publish(quick.store, number)
    chance, usual, told = dice(), 0.05, 0
    for _ in range(_KILLS // 5):
        before = quick.fresh().state()[1]
        acknowledged = _told_until_killed(
            chance.uniform(0, 2 * usual), lambda pipe: _roll_back_for_ever(quick.root, pipe)
        )
        usual *= 0.9 if acknowledged else 1.1
        served, after = _served(quick), quick.fresh().state()[1]
        assert before <= after
        if acknowledged:
            assert after - acknowledged[-1][1] in {0, 1}
            assert served == (acknowledged[-1][0] if after == acknowledged[-1][1] else 1 - acknowledged[-1][0])
        told += len(acknowledged)
        _roll_back(quick.fresh().store, 3 - served)
        assert _served(quick) == 1 - served
    assert told > _KILLS / 50, "the kills came too early to show anything"
    _check_history(quick, {})


def _seconds(place: Place, number: int) -> float:
    started = time.monotonic()
    _publish(place.store, number)
    return time.monotonic() - started


def _check_history(place: Place, told: dict[int, int]) -> None:
    chain = place.chain(SHOP)
    publishes, total = place.fresh().store.history(SPACE, SHOP, 0, len(chain) + 1)
    assert total == len(chain) == place.fresh().state()[1]
    assert [publish.version for publish in reversed(publishes)] == chain
    assert [publish.number for publish in reversed(publishes)] == list(range(1, total + 1))
    for publish, number in told.items():
        assert f"/number/{number}" in place.git("cat-file", "blob", f"{chain[publish - 1]}:shop/redirects.yaml")
    place.fsck()
    assert list((place.repo / "refs").rglob("*.lock")) == []


def test_publish_that_was_cut_off_before_its_draft_ended_is_found_again(place: Place) -> None:
    """A kill between the two refs: the retry answers with the publish that happened, and the draft is gone."""
    head = place.save(put(redirect("/a")))
    published = place.publish(head=head)
    place.git("update-ref", MAIN.ref, head)
    again = place.fresh().publish(head=head)
    assert (again.version, again.number) == (published.version, published.number)
    assert place.store.drafts(SPACE, SHOP) == []
    assert place.state() == (published.version, published.number)


def test_selected_publish_that_was_cut_off_is_found_again(place: Place) -> None:
    """A kill before the draft took the publish in: the retry answers the same, and the draft holds only the rest."""
    head = place.save(put(redirect("/a")), put(redirect("/b")))
    chosen = frozenset({redirect("/a").id})
    published = place.publish(head=head, ids=chosen)
    place.git("update-ref", MAIN.ref, head)
    again = place.fresh().publish(head=head, ids=chosen)
    assert (again.version, again.number) == (published.version, published.number)
    assert place.targets() == {"/a": "/new"}
    assert place.store.report(SPACE, MAIN).counts[Kind.REDIRECTS] == (1, 0, 0)
    place.publish()
    assert set(place.targets()) == {"/a", "/b"}


def test_edit_after_such_a_cut_begins_from_release(place: Place) -> None:
    """What is left of a published draft is no base to edit on."""
    head = place.save(put(redirect("/a")))
    place.publish(head=head)
    place.publish(put(redirect("/b")))
    place.git("update-ref", MAIN.ref, head)
    place.save(put(redirect("/c")))
    assert place.git("rev-parse", f"{MAIN.ref}~1") == place.tip
    place.publish()
    assert set(place.targets()) == {"/a", "/b", "/c"}
