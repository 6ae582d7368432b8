"""Moving refs: a compare-and-swap counts only if it returns true, and refs are read as Git reads them."""

import cProfile
import os
from pathlib import Path

import pytest
from dulwich.file import FileLocked, GitFile
from dulwich.refs import DiskRefsContainer

from gitstore.errors import AlreadyExists, Broken, Busy, LostRace, OutOfSpace
from gitstore.git.lock import hold
from gitstore.git.refs import list_drafts, move_ref, read_ref, remove_ref, signature
from gitstore.layout import RELEASE_REF, CommitId, draft_ref
from tests.gitstore.fixtures import MAIN, SHOP, Place, put, redirect


def test_move_from_a_value_that_is_not_there_is_a_lost_race(place: Place) -> None:
    """Guard: the bool of `set_if_equals` is checked. Else a caller would take a lost commit for a published one."""
    tip, older = place.tip, CommitId(place.git("rev-parse", "release~1"))
    with hold(place.repo) as lock, pytest.raises(LostRace):
        move_ref(place.repo, lock, RELEASE_REF, older, older)
    assert place.tip == tip


def test_ref_that_must_not_exist_is_not_overwritten(place: Place) -> None:
    """Guard: the zero id means that the ref may not exist. With None, `set_if_equals` does not compare at all."""
    tip, older = place.tip, CommitId(place.git("rev-parse", "release~1"))
    with hold(place.repo) as lock, pytest.raises(LostRace):
        move_ref(place.repo, lock, RELEASE_REF, None, older)
    assert place.tip == tip


def test_packed_ref_that_must_not_exist_is_not_overwritten(place: Place) -> None:
    """The guard also holds for a ref that is only in packed-refs."""
    tip, older = place.tip, CommitId(place.git("rev-parse", "release~1"))
    place.git("pack-refs", "--all")
    with hold(place.repo) as lock, pytest.raises(LostRace):
        move_ref(place.repo, lock, RELEASE_REF, None, older)
    assert place.tip == tip


def test_removal_of_a_ref_that_moved_is_a_lost_race(place: Place) -> None:
    """Guard: the bool of `remove_if_equals` is checked. Without it another's new commit would count as removed."""
    first = place.save(put(redirect("/a")))
    second = place.save(put(redirect("/b")))
    with hold(place.repo) as lock, pytest.raises(LostRace):
        remove_ref(place.repo, lock, MAIN.ref, first)
    assert read_ref(place.repo, MAIN.ref) == second


@pytest.mark.parametrize(("raised", "expected"), [(FileNotFoundError(), LostRace), (FileLocked("a", "b"), Busy)])
def test_errors_of_dulwich_in_a_race_are_translated(
    place: Place, monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: type[Exception]
) -> None:
    """Guards: `FileNotFoundError` (git removed the folder) is a lost race; `FileLocked`, not an OSError, is Busy."""

    def fail(*_: object) -> bool:
        raise raised

    monkeypatch.setattr(DiskRefsContainer, "set_if_equals", fail)
    with hold(place.repo) as lock, pytest.raises(expected):
        move_ref(place.repo, lock, RELEASE_REF, place.tip, place.tip)


def test_full_disk_leaves_no_lock_behind(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the lock is removed when the move fails. Without it publishing stays blocked when there is space again."""

    def fail(*_: object) -> bool:
        held = GitFile(place.repo / RELEASE_REF, "wb")
        held.write(b"half")
        raise OSError(28, "No space left on device")

    head = place.save(put(redirect("/a")))
    with monkeypatch.context() as patch:
        patch.setattr(DiskRefsContainer, "set_if_equals", fail)
        with pytest.raises(OutOfSpace):
            place.publish(head=head)
    place.publish(head=head)
    assert "/a" in place.targets()


def test_publish_that_a_push_overtakes_is_tried_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A push by plain git wins against a publish that began before it; the publish follows it."""
    head = place.save(put(redirect("/ours")))
    real = DiskRefsContainer.set_if_equals

    def overtaken(refs: DiskRefsContainer, *arguments: object) -> bool:
        monkeypatch.undo()
        place.push({"README.md": "Overtaken\n"})
        return real(refs, *arguments)  # type: ignore[arg-type] # passed on unchanged

    monkeypatch.setattr(DiskRefsContainer, "set_if_equals", overtaken)
    place.publish(head=head)
    assert place.targets() == {"/ours": "/new"}
    assert place.file("README.md") == "Overtaken\n"


def test_publish_that_is_always_overtaken_gives_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tries are bounded, and the last lost race changes nothing."""
    tries = []

    def overtaken(_: DiskRefsContainer, *arguments: object) -> bool:
        tries.append(arguments)
        return False

    head = place.save(put(redirect("/ours")))
    before = place.tip
    with monkeypatch.context() as patch:
        patch.setattr(DiskRefsContainer, "set_if_equals", overtaken)
        with pytest.raises(LostRace):
            place.publish(head=head)
    assert (len(tries), place.tip) == (20, before)
    place.publish(head=head)


def test_refs_are_read_loose_and_packed(place: Place) -> None:
    """After `git pack-refs`, a ref has the same value as in Git, and a move out of packed-refs is seen."""
    place.save(put(redirect("/a")))
    before = signature(place.repo, RELEASE_REF)
    place.git("pack-refs", "--all", "--prune")
    assert signature(place.repo, RELEASE_REF) != before
    assert read_ref(place.repo, RELEASE_REF) == place.git("rev-parse", "release")
    assert list_drafts(place.repo, "shop") == ["main"]
    newer = place.save(put(redirect("/b")))
    assert list_drafts(place.repo, "shop") == ["main"]
    place.publish(head=newer)
    assert list_drafts(place.repo, "shop") == []
    assert place.git("for-each-ref", "refs/heads/draft") == ""


def test_drafts_of_other_projects_and_stray_locks_are_not_listed(place: Place) -> None:
    """Only refs of the project itself count."""
    head = place.save(put(redirect("/a")))
    (place.repo / "refs/heads/draft/shop/other.lock").touch()
    place.git("update-ref", "refs/heads/draft/shopping/main", head)
    assert list_drafts(place.repo, "shop") == ["main"]


def test_many_drafts_are_listed_without_a_stat_of_each(place: Place) -> None:
    """A draft more costs a few calls, and no system call, whether its ref has a file or is packed."""
    head = place.save(put(redirect("/a")))
    calls = []
    for size in (50, 450):
        lines = "".join(f"update refs/heads/draft/shop/d{number} {head}\n" for number in range(size))
        place.git("update-ref", "--stdin", data=lines.encode())
        profile = cProfile.Profile()
        assert len(profile.runcall(list_drafts, place.repo, "shop")) == size + 1
        counts = {str(entry.code): entry.callcount for entry in profile.getstats()}
        assert sum(count for name, count in counts.items() if "stat" in name) < 5
        calls.append(sum(counts.values()))
    assert calls[1] - calls[0] <= 4 * 400
    place.git("pack-refs", "--all", "--prune")
    assert len(list_drafts(place.repo, "shop")) == 451


def test_garbage_in_a_ref_is_damage_and_not_absence(place: Place) -> None:
    """A ref that does not name a commit is not read as a missing release."""
    (place.repo / RELEASE_REF).write_text("garbage\n")
    with pytest.raises(Broken):
        read_ref(place.repo, RELEASE_REF)


def test_missing_ref_is_none(place: Place) -> None:
    """The ref of a draft that was never begun is None."""
    assert read_ref(place.repo, draft_ref("shop", "never")) is None
    assert signature(Path("/nowhere"), RELEASE_REF) == (None, None)


def test_a_branch_that_blocks_a_draft_is_named(place: Place) -> None:
    """Git keeps branches as files, so `draft/shop` and `draft/shop/main` cannot both exist."""
    place.git("branch", f"draft/{SHOP}", "release")
    with pytest.raises(AlreadyExists, match="blocks"):
        place.save(put(redirect("/a")))
    place.git("branch", "-D", f"draft/{SHOP}")
    place.save(put(redirect("/a")))


def test_a_named_pipe_in_place_of_a_ref_is_damage_and_does_not_wait(place: Place) -> None:
    path = place.repo / MAIN.ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(Broken):
        read_ref(place.repo, MAIN.ref)
