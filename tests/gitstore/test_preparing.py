"""Publishes that nobody prepared are prepared in the end: nothing is parsed or checked when somebody goes back to one."""

import fcntl
import os

import pytest

from gitstore import preparing
from gitstore.errors import Invalid
from tests.gitstore.places import ADA, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.gitstore.test_rollback import nothing_read_again, remove, roll_back, sent, weeks_later

_PUBLISHES = 5


@pytest.fixture
def restored(place: Place) -> Place:
    """A history whose compiled files did not come along: publishes, a wrong push among commits of one push, a deletion."""
    place.begin("other")
    for number in range(_PUBLISHES):
        place.publish(*(put(redirect(f"/{each}", f"/t{number}")) for each in range(3)))
    clone = place.clone()
    for text in (yaml([("/p", "/q"), ("/q", "/p")]), yaml([("/a", "/b")])):
        (clone / "shop" / "redirects.yaml").write_text(text)
        git(clone, "commit", "--quiet", "--all", "--message", "By hand")
    git(clone, "push", "--quiet", "origin", "HEAD:release")
    place.store.delete_project(SPACE, "other", ADA)
    remove(place.paths.compiled)
    return place


def _prepared(place: Place, seconds: float = 60.0) -> int:
    """Prepare everything; gives how often that had to be asked for."""
    for count in range(1, 100):
        if place.fresh().store.prepare(SPACE, seconds):
            return count
    raise AssertionError("it comes to no end")


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_every_publish_can_be_gone_back_to_at_once(restored: Place, seconds: float) -> None:
    """All in one go, and one at a time; also behind a wrong one, which is checked once and never gone back to."""
    _prepared(restored, seconds)
    with nothing_read_again():
        for version in range(1, _PUBLISHES + 2):
            weeks_later(restored)
            roll_back(restored, version)
    with pytest.raises(Invalid):
        roll_back(restored, _PUBLISHES + 2)


def test_what_is_prepared_is_not_looked_at_again(restored: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the wrong one; and a new publish alone is no reason."""
    assert _prepared(restored, 0.0) > _PUBLISHES
    with nothing_read_again():
        assert _prepared(restored, 0.0) == 1
    restored.publish(put(redirect("/fresh")))
    looked: list[object] = []
    monkeypatch.setattr("gitstore.compiler.Compiler.prepare", lambda *given: looked.append(given) or given[3])  # type: ignore[func-returns-value] # None, then a snapshot
    _prepared(restored)
    assert len(looked) == 1, "the wrong one of the push, once for each new publish"


def test_only_the_newest_publishes_are_prepared(restored: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "MOST", 4)
    _prepared(restored)
    with restored.fresh().store._reading(SPACE) as compiler:
        index = [restored.store.version(SPACE, SHOP, str(number)) for number in range(1, _PUBLISHES + 4)]
        found = [bool(version.tree and compiler.is_prepared(version.tree)) for version in index]
    same_as_other = [True]
    assert found == [*same_as_other, *[False] * (_PUBLISHES - 2), True, True, False, True]


def test_two_processes_do_not_do_it_twice(restored: Place) -> None:
    """Who comes second leaves it to the first."""
    restored.fresh().store.warm(SPACE)
    handle = os.open(restored.paths.compiled / "prepare.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert restored.fresh().store.prepare(SPACE, 60.0)
        assert not restored.paths.prepared.exists()
    finally:
        os.close(handle)
    _prepared(restored)
    assert restored.paths.prepared.exists()


@pytest.mark.parametrize("data", [b"", b"[]", b'{"shop": 1}', b'{"shop": [1]}', b'{"shop": [1, 2, 3, 0]}', b"\xff"])
def test_marks_that_cannot_be_read_are_none(restored: Place, data: bytes) -> None:
    """Then everything is looked at once more."""
    _prepared(restored)
    items = sent(restored, 2)
    for path in (restored.paths.judged, restored.paths.prepared):
        path.unlink()
    restored.paths.prepared.write_bytes(data)
    _prepared(restored)
    with nothing_read_again():
        weeks_later(restored)
        roll_back(restored, 2)
    assert sent(restored) == items
