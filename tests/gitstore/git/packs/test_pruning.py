"""Pruning: objects without a ref are kept for a day after they were found, then removed; nothing in use ever is."""

import os
import threading
import time
from pathlib import Path

import pytest

from gitstore.errors import Broken
from gitstore.git.lock import hold
from gitstore.git.packs.packing import LOCK_FILE, hold_packing, pack_loose
from gitstore.git.packs.pruning import DAY, is_prune_due, prune
from gitstore.git.repository import open_repository
from tests.gitstore.fixtures import MAIN, SPACE, Place, put, redirect
from tests.service import wait_until


def discard(place: Place) -> str:
    """Make a draft, discard it, and return its commit."""
    head = place.save(put(redirect("/draft")))
    place.store.drafts.discard(SPACE, MAIN)
    return head


def age(*files: Path, days: float = 1.1) -> None:
    """Make files older."""
    then = time.time() - days * DAY
    for file in files:
        os.utime(file, (then, then))


def keep_up(place: Place, *kept: str) -> None:
    """Pack all objects, as if they were old, and prune."""
    age(*(place.repo / "objects").glob("??/*"))
    with hold_packing(place.repo):
        pack_loose(place.repo)
        prune(place.repo, kept)


def cruft(place: Place) -> list[Path]:
    """Return the packs of unreachable objects."""
    return [file.with_suffix(".pack") for file in (place.repo / "objects/pack").glob("*.mtimes")]


def has(place: Place, commit: str) -> bool:
    """Tell whether an object is there."""
    with open_repository(place.repo) as repository:
        return repository.has(commit)


def test_a_discarded_draft_is_packed_and_a_day_later_removed(place: Place) -> None:
    place.publish(put(redirect("/a")))
    head = discard(place)
    keep_up(place)
    assert has(place, head)
    keep_up(place)
    assert has(place, head)
    place.fsck()
    age(*cruft(place))
    keep_up(place)
    assert not has(place, head)
    assert cruft(place) == []
    place.fsck()
    assert len(place.fresh().items()) == 1


def test_c_git_knows_the_pack_of_unreachable_objects(place: Place) -> None:
    """`git gc --cruft` keeps objects that it does not take for expired."""
    head = discard(place)
    keep_up(place)
    assert len(cruft(place)) == 1
    place.git("gc", "--cruft", "--quiet")
    assert has(place, head)
    place.fsck()


def test_a_draft_that_comes_back_keeps_its_objects(place: Place) -> None:
    head = discard(place)
    keep_up(place)
    place.git("branch", "back", head)
    age(*cruft(place))
    keep_up(place)
    assert cruft(place) == []
    assert place.git("rev-parse", "back") == head
    place.fsck()


def test_a_commit_in_use_without_a_ref_is_kept(place: Place) -> None:
    """Guard: of a rewound release, the commit that was served last."""
    head = discard(place)
    for _ in range(2):
        keep_up(place, head)
        assert cruft(place) == []
    assert has(place, head)


def test_reflogs_tags_and_heads_keep_their_objects(place: Place) -> None:
    by_tag, by_log, by_head = (discard_named(place, name) for name in ("tag", "log", "head"))
    place.git("tag", "-a", "-m", "text", "kept", by_tag)
    (place.repo / "logs/refs/heads").mkdir(parents=True)
    (place.repo / "logs/refs/heads/x").write_text(f"{'0' * 40} {by_log} A <a@b> 1 +0000\tcommit\n")
    (place.repo / "ORIG_HEAD").write_text(f"{by_head}\n")
    keep_up(place)
    assert cruft(place) == []
    assert all(has(place, commit) for commit in (by_tag, by_log, by_head))


def discard_named(place: Place, name: str) -> str:
    """Make a draft with a rule of its own, discard it, and return its commit."""
    head = place.save(put(redirect(f"/{name}")))
    place.store.drafts.discard(SPACE, MAIN)
    return head


@pytest.mark.parametrize("damage", ["ref", "object"])
def test_nothing_is_pruned_beside_damage(place: Place, damage: str) -> None:
    head = discard(place)
    tip = place.tip
    if damage == "ref":
        (place.repo / "refs/heads/bad").write_text("bad\n")
    else:
        (place.repo / "objects" / tip[:2] / tip[2:]).unlink()
    with pytest.raises(Broken):
        keep_up(place)
    assert has(place, head)
    assert cruft(place) == []


def test_what_head_files_name_may_be_gone(place: Place) -> None:
    """A stale FETCH_HEAD names commits that were never fetched here, or that were pruned."""
    commit = discard(place)
    keep_up(place)
    (place.repo / "FETCH_HEAD").write_text(f"{'12' * 20}\tnot-for-merge\tbranch 'x' of /{'ab' * 20}\n")
    age(*cruft(place))
    keep_up(place)
    assert not has(place, commit)


@pytest.mark.parametrize("name", ["index", "info/grafts"])
def test_nothing_is_pruned_beside_files_that_only_c_git_reads(place: Place, name: str) -> None:
    commit = discard(place)
    keep_up(place)
    (place.repo / name).parent.mkdir(exist_ok=True)
    (place.repo / name).touch()
    age(*cruft(place))
    keep_up(place)
    assert has(place, commit)


def test_a_ref_that_moves_meanwhile_keeps_its_objects(place: Place) -> None:
    """A commit that a writer under way brings back is found, since the pack goes only under the lock."""
    head = discard(place)
    keep_up(place)
    age(*cruft(place))
    started = threading.Event()

    def prune_beside() -> None:
        started.set()
        keep_up(place)

    beside = threading.Thread(target=prune_beside)
    with hold(place.repo):
        beside.start()
        started.wait()
        wait_until(lambda: len(waiting(place)) > 0, 30, "pruning to wait for the lock")
        place.git("branch", "back", head)
    beside.join()
    assert place.git("rev-parse", "back") == head
    place.fsck()


def waiting(place: Place) -> list[str]:
    """Return the threads of this process that wait for the repository's lock, by its open files."""
    target = str(place.repo / "waypost.lock")
    links = [link for link in Path("/proc/self/fd").iterdir() if os.path.lexists(link)]
    return [link.name for link in links if _target(link) == target][1:]  # besides the one that the test holds


def _target(link: Path) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - closed meanwhile
    except OSError:
        return ""


def test_pruning_is_due_once_a_day(place: Place) -> None:
    with hold_packing(place.repo):
        pass
    keep_up(place)
    assert not is_prune_due(place.repo)
    age(place.repo / LOCK_FILE)
    assert is_prune_due(place.repo)
    keep_up(place)
    assert not is_prune_due(place.repo)


def test_a_used_pack_of_unreachable_objects_is_kept(place: Place) -> None:
    """C git sets the time of a pack when it is about to use one of its objects."""
    head = discard(place)
    keep_up(place)
    age(*cruft(place))
    with open_repository(place.repo) as repository:
        content = repository.raw(head)[1]
    assert place.git("hash-object", "-w", "-t", "commit", "--stdin", data=content) == head
    keep_up(place)
    assert has(place, head)


@pytest.mark.parametrize("lender", ["beside", "elsewhere"])
def test_nothing_is_pruned_where_others_use_the_objects(place: Place, lender: str) -> None:
    """Guards: a repository beside it that borrows objects, and the setting for those elsewhere, which C git obeys too."""
    head = discard(place)
    if lender == "beside":
        place.git("clone", "--bare", "--shared", "-q", str(place.repo), str(place.repo.with_name("other.git")))
    else:
        place.git("config", "gc.pruneExpire", "never")
    for _ in range(3):
        keep_up(place)
        age(*(place.repo / "objects/pack").iterdir())
    assert place.git("cat-file", "-t", head) == "commit"


def test_a_symbolic_ref_with_a_tab_is_no_damage(place: Place) -> None:
    """Guard: C git takes any white space after the colon."""
    head = discard(place)
    (place.repo / "refs/heads/tab").write_text("ref:\trefs/heads/release\n")
    keep_up(place)
    age(*(place.repo / "objects/pack").iterdir())
    keep_up(place)
    with open_repository(place.repo) as repository:
        assert not repository.has(head)
