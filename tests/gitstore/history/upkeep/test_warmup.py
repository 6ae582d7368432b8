"""Warm-up: every publish is compiled in the end, so that a rollback parses and checks nothing."""

import fcntl
import os

import pytest

from gitstore.errors import Invalid
from gitstore.history.upkeep import warmup
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.gitstore.publish.test_rollback import nothing_read_again, remove, roll_back, sent, weeks_later

_PUBLISHES = 5


@pytest.fixture
def restored(place: Place) -> Place:
    """Return a history without its compiled files: publishes, an invalid commit among those of one push, a deletion."""
    place.begin("other")
    for number in range(_PUBLISHES):
        place.publish(*(put(redirect(f"/{each}", f"/t{number}")) for each in range(3)))
    clone = place.clone()
    for text in (yaml([("/p", "/q"), ("/q", "/p")]), yaml([("/a", "/b")])):
        (clone / "shop" / "redirects.yaml").write_text(text)
        git(clone, "commit", "--quiet", "--all", "--message", "By hand")
    git(clone, "push", "--quiet", "origin", "HEAD:release")
    place.store.projects.delete(SPACE, "other", ADA)
    remove(place.paths.compiled)
    return place


def _prepared(place: Place, seconds: float = 60.0) -> int:
    """Compile everything; return the number of calls that this took."""
    for count in range(1, 100):
        if place.fresh().store.releases.warm_up(SPACE, seconds):
            return count
    raise AssertionError("the warm-up does not end")


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_every_publish_can_be_rolled_back_to_at_once(restored: Place, seconds: float) -> None:
    """Publishes are compiled all at once, or one per call; an invalid one is checked once and never rolled back to."""
    _prepared(restored, seconds)
    with nothing_read_again():
        for version in range(1, _PUBLISHES + 2):
            weeks_later(restored)
            roll_back(restored, version)
    with pytest.raises(Invalid):
        roll_back(restored, _PUBLISHES + 2)


def test_a_compiled_publish_is_not_checked_again(restored: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid publish is not checked again either, and neither is an old one because of a new one."""
    assert _prepared(restored, 0.0) > _PUBLISHES
    with nothing_read_again():
        assert _prepared(restored, 0.0) == 1
    restored.publish(put(redirect("/fresh")))
    looked: list[object] = []
    monkeypatch.setattr("gitstore.compiled.compiler.Compiler.prepare", lambda *given: looked.append(given) or given[3])  # type: ignore[func-returns-value] # None, then a snapshot
    _prepared(restored)
    assert len(looked) == 1, "the invalid commit of the push, once for each new publish"


def test_only_the_newest_publishes_are_compiled(restored: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "MAX_PUBLISHES", 4)
    _prepared(restored)
    with restored.fresh().store.drafts._access.reading(SPACE) as compiler:
        index = [restored.store.publishes.version(SPACE, SHOP, str(number)) for number in range(1, _PUBLISHES + 4)]
        found = [bool(version.tree and compiler.is_prepared(version.tree)) for version in index]
    same_as_other = [True]
    assert found == [*same_as_other, *[False] * (_PUBLISHES - 2), True, True, False, True]


def test_two_processes_do_not_do_it_twice(restored: Place) -> None:
    """The second process leaves the work to the first."""
    restored.fresh().store.releases.compile(SPACE)
    handle = os.open(restored.paths.compiled / "prepare.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert restored.fresh().store.releases.warm_up(SPACE, 60.0)
        assert not restored.paths.prepared.exists()
    finally:
        os.close(handle)
    _prepared(restored)
    assert restored.paths.prepared.exists()


@pytest.mark.parametrize("data", [b"", b"[]", b'{"shop": 1}', b'{"shop": [1]}', b'{"shop": [1, 2, 3, 0]}', b"\xff"])
def test_unreadable_marks_are_ignored(restored: Place, data: bytes) -> None:
    """Every publish is then checked once more."""
    _prepared(restored)
    items = sent(restored, 2)
    for path in (restored.paths.validations, restored.paths.prepared):
        path.unlink()
    restored.paths.prepared.write_bytes(data)
    _prepared(restored)
    with nothing_read_again():
        weeks_later(restored)
        roll_back(restored, 2)
    assert sent(restored) == items
