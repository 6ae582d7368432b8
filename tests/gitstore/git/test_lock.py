"""The write lock: one writer at a time in a repository, and locks that no crash can make stale."""

import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gitstore.errors import Busy, NotFound
from gitstore.file_lock import acquire
from gitstore.git.lock import FILE_NAME, FOREIGN_LOCK_AGE, hold
from gitstore.layout import RELEASE_REF
from tests.gitstore.fixtures import MAIN, SPACE, Place, put, redirect


def _hold_until_killed(repository: Path, ready: Connection) -> None:
    with hold(repository):
        ready.send("held")
        signal.pause()


def _die_while_moving(repository: Path, ready: Connection) -> None:
    with hold(repository) as lock, lock.moving(RELEASE_REF):
        (repository / f"{RELEASE_REF}.lock").write_text("half a comm")
        ready.send("held")
        signal.pause()


def _killed_while(work: Callable[[Path, Connection], None], repository: Path, *, look: Callable[[], None]) -> None:
    """Let a process do some work, check its effect on others, and kill it."""
    context = get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=work, args=(repository, there))
    child.start()
    try:
        assert here.recv() == "held"
        look()
    finally:
        child.kill()
        child.join()


def test_second_writer_waits_and_gets_busy(place: Place) -> None:
    """Guard: the flock around every change. Without it two writers would be inside at once."""

    def second_writer() -> None:
        with pytest.raises(Busy), hold(place.repo, wait=0.05):
            pytest.fail("two writers hold the lock at once")

    _killed_while(_hold_until_killed, place.repo, look=second_writer)


def test_lock_of_a_killed_writer_is_free_at_once(place: Place) -> None:
    """Guard: a flock, which the kernel releases; a lock file would stay."""
    _killed_while(_hold_until_killed, place.repo, look=lambda: None)
    with hold(place.repo, wait=0):
        pass


def test_ref_lock_of_our_own_crash_is_cleared_at_once(place: Place) -> None:
    """Guard: the note of the lock in progress. Without it the lock counts as a living git's, and publishing is Busy."""
    _killed_while(_die_while_moving, place.repo, look=lambda: None)
    assert (place.repo / f"{RELEASE_REF}.lock").exists()
    place.publish(put(redirect("/after-the-crash")))
    assert "/after-the-crash" in place.targets()


def test_old_lock_of_another_git_is_cleared(place: Place) -> None:
    """Guard: the sweep by age, under the flock. Without it a killed git blocks publishing permanently."""
    stale = place.repo / f"{RELEASE_REF}.lock"
    stale.touch()
    long_ago = time.time() - FOREIGN_LOCK_AGE - 1
    os.utime(stale, (long_ago, long_ago))
    place.publish(put(redirect("/after")))
    assert "/after" in place.targets()
    assert not stale.exists()


def test_lock_of_a_living_git_is_waited_for_and_never_stolen(place: Place) -> None:
    """Guards: the age in the sweep, and the check before the note. Else a living git's lock would be removed."""
    head = place.save(put(redirect("/a")))
    living = place.repo / f"{RELEASE_REF}.lock"
    living.touch()
    started = time.monotonic()
    with pytest.raises(Busy):
        place.publish(head=head)
    assert 0.9 < time.monotonic() - started < 8
    assert living.exists()
    living.unlink()
    place.publish(head=head)
    assert "/a" in place.targets()


def test_crash_while_waiting_for_a_living_git_does_not_free_its_lock(place: Place) -> None:
    """Guard: `is_free` before the note. A writer that dies while it waits has claimed nothing."""
    (place.repo / f"{RELEASE_REF}.lock").touch()
    with hold(place.repo) as lock:
        assert not lock.is_free(RELEASE_REF)
    with pytest.raises(Busy):
        place.publish(put(redirect("/a")))
    assert (place.repo / FILE_NAME).read_text() == ""


def test_packed_refs_held_by_git_keeps_a_draft_whole(place: Place) -> None:
    """Guard: a removal checks packed-refs.lock first; else it would leave an older value of the draft in force."""
    place.save(put(redirect("/one")))
    place.git("pack-refs", "--all")
    newest = place.save(put(redirect("/two")))
    (place.repo / "packed-refs.lock").touch()
    with pytest.raises(Busy):
        place.store.drafts.discard(SPACE, MAIN)
    assert place.git("rev-parse", "refs/heads/draft/shop/main") == newest


def test_publish_succeeds_when_git_keeps_the_draft_from_ending(place: Place) -> None:
    """An error after the move of release cannot fail the publish; the draft is cleaned up later."""
    head = place.save(put(redirect("/one")))
    place.git("pack-refs", "--all")
    (place.repo / "packed-refs.lock").touch()
    published = place.publish(head=head)
    assert place.state() == (published.version, published.number)
    (place.repo / "packed-refs.lock").unlink()
    assert place.publish(head=head).version == published.version
    assert place.store.drafts.names(SPACE, "shop") == []


def test_a_namespace_that_was_deleted_meanwhile_is_not_written_to(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the lock file is compared after the wait; it may have moved away with its repository."""

    def deleted_while_waiting(handle: int, wait: float) -> bool:
        place.repo.rename(tmp_path / "elsewhere.git")
        return acquire(handle, wait)

    monkeypatch.setattr("gitstore.git.lock.acquire", deleted_while_waiting)
    with pytest.raises(NotFound), hold(place.repo):
        pytest.fail("the lock of a deleted repository was taken")
