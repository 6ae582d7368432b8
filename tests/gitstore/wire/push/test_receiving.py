"""The reception of pushes: what is installed, which refs move, and what is left behind."""

import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest

from gitstore.compiled.compiler import Compiler
from gitstore.git.packs.packing import hold_packing, is_packing_due, pack_loose
from gitstore.git.quarantine import list_quarantines
from gitstore.git.ref_moves import JOURNAL
from gitstore.git.repository import open_repository
from gitstore.git.transaction import update
from gitstore.history.manifests import ensure_manifest
from gitstore.history.notes import read_note
from gitstore.history.upkeep.repository_upkeep import keep_up, needs_upkeep
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.pushes import receiving
from gitstore.pushes.push import Progress, Push, PushRecords, PushRules, RefVerdict
from gitstore.pushes.receiving import Judge
from gitstore.wire.push.installation import MOST_LOOSE
from tests.gitstore.fixtures import SPACE, Place, git, seeded_random
from tests.gitstore.wire.push.pushing import CAPABILITIES, ZERO, Pushed, accept_all, made_pack, request
from tests.rounds import rounds

ATOMIC = f"{CAPABILITIES} atomic"
TOPIC, OTHER = "refs/heads/topic", "refs/heads/other"


@pytest.fixture
def pushed(place: Place) -> Pushed:
    """Return a namespace to push to."""
    return Pushed(place)


@pytest.fixture
def clone(pushed: Pushed, tmp_path: Path) -> Path:
    """Return a clone."""
    return pushed.clone(tmp_path / "work")


def change(clone: Path, count: int = 1, text: str = "") -> str:
    """Commit `count` new files; return the commit."""
    folder = clone / "shop/pages"
    folder.mkdir(exist_ok=True, parents=True)
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"{text or random.random()} {number}\n")  # noqa: S311 - test data
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "Change")
    return git(clone, "rev-parse", "HEAD")


def push_of(clone: Path, new: str, *commands: tuple[str, str, str], words: str = CAPABILITIES) -> bytes:
    """Return the push of a commit, with what release lacks of it."""
    return request(commands or [(ZERO, new, TOPIC)], made_pack(clone, new, "^origin/release"), words)


def refuse(*refs: str) -> Judge:
    """Return checks that refuse these refs."""

    def judge(
        _compiler: Compiler, push: Push, _progress: Progress, _records: PushRecords, _rules: PushRules
    ) -> tuple[RefVerdict, ...]:
        return tuple(
            RefVerdict(each, "no" if each.name in refs else "", (f"about {each.name}",)) for each in push.updates
        )

    return judge


def packs(pushed: Pushed) -> list[Path]:
    """Return the packs of the repository."""
    return sorted((pushed.repository / "objects/pack").glob("*.pack"))


def test_a_small_push_becomes_loose_objects_and_a_large_one_stays_a_pack(pushed: Pushed, clone: Path) -> None:
    before = len(packs(pushed))
    small = change(clone)
    assert pushed.statuses(push_of(clone, small)) == {TOPIC: ""}
    assert len(packs(pushed)) == before
    large = change(clone, MOST_LOOSE + 1)
    assert pushed.statuses(push_of(clone, large, (small, large, TOPIC))) == {TOPIC: ""}
    assert len(packs(pushed)) == before + 1
    assert not list((pushed.repository / "objects/pack").glob("*.keep"))
    pushed.check()


def test_who_publishes_is_noted_before_release_moves(
    pushed: Pushed, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: a reader of the publish before its note took the author of the commit, whom a pusher chooses, for the publisher."""
    start, head, note = (
        git(clone, "rev-parse", "origin/release"),
        change(clone),
        "Published-by: Eve <eve@shop.example>\n",
    )
    seen = list[str]()

    def noting(*given: Any) -> tuple[RefVerdict, ...]:
        return tuple(each._replace(notes=((CommitId(head), note),)) for each in accept_all(*given))

    def look(*given: Any, **options: Any) -> Any:
        with open_repository(pushed.repository) as repository:
            seen.append(read_note(repository, CommitId(head)))
        return ensure_manifest(*given, **options)

    monkeypatch.setattr(receiving, "ensure_manifest", look)  # the first step after release has moved
    body = request([(start, head, RELEASE_REF)], made_pack(clone, head, f"^{start}"))
    assert replace(pushed, judge=noting).push(body).report.statuses[0].refusal == ""
    assert (pushed.ref(RELEASE_REF), seen) == (head, [note])


def test_a_thin_pack_is_completed(pushed: Pushed, clone: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(2_000))
    (clone / "shop/pages").mkdir(parents=True)
    for number in range(MOST_LOOSE + 20):
        (clone / f"shop/pages/{number}.txt").write_text(f"{number}\n{text}")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "Many")
    first = git(clone, "rev-parse", "HEAD")
    assert pushed.statuses(push_of(clone, first)) == {TOPIC: ""}
    for number in range(MOST_LOOSE + 20):
        (clone / f"shop/pages/{number}.txt").write_text(f"{number}\n{text}again\n")
    git(clone, "commit", "-q", "-a", "-m", "Again")
    second = git(clone, "rev-parse", "HEAD")
    data = made_pack(clone, second, f"^{first}")
    assert len(data) < 200_000  # with the bases of its deltas it would be larger
    assert pushed.statuses(request([(first, second, TOPIC)], data)) == {TOPIC: ""}
    pushed.check()


def test_objects_of_a_refused_ref_are_left_out(pushed: Pushed, clone: Path) -> None:
    first = change(clone)
    second = change(clone, MOST_LOOSE + 50)
    both = replace(pushed, judge=refuse(OTHER))
    found = both.push(push_of(clone, second, (ZERO, first, TOPIC), (ZERO, second, OTHER))).report
    assert {status.ref: status.refusal for status in found.statuses} == {TOPIC: "", OTHER: "no"}
    assert found.lines == (f"about {TOPIC}", f"about {OTHER}")
    assert git(pushed.repository, "cat-file", "-t", first) == "commit"
    with pytest.raises(CalledProcessError):
        git(pushed.repository, "cat-file", "-t", second)
    pushed.check()


def test_large_accepted_parts_of_a_push_become_a_pack_of_their_own(pushed: Pushed, clone: Path) -> None:
    first = change(clone, MOST_LOOSE + 50)
    second = change(clone)
    both = replace(pushed, judge=refuse(OTHER))
    assert both.statuses(push_of(clone, second, (ZERO, first, TOPIC), (ZERO, second, OTHER)))[TOPIC] == ""
    with pytest.raises(CalledProcessError):
        git(pushed.repository, "cat-file", "-t", second)
    pushed.check()


def test_an_old_value_that_is_not_the_refs_is_refused(pushed: Pushed, clone: Path) -> None:
    first = change(clone)
    assert pushed.statuses(push_of(clone, first)) == {TOPIC: ""}
    second = change(clone)
    files = pushed.files()
    for old in (ZERO, "1" * 40, git(clone, "rev-parse", "origin/release")):
        found = pushed.statuses(push_of(clone, second, (old, second, TOPIC)))
        assert found == {TOPIC: "another push moved it first; fetch, then push again"}
    assert pushed.files() == files


@pytest.mark.parametrize("words", [CAPABILITIES, ATOMIC])
def test_a_ref_that_moves_while_a_push_is_checked_stays_there(pushed: Pushed, clone: Path, words: str) -> None:
    release = git(clone, "rev-parse", "origin/release")
    new = change(clone, MOST_LOOSE + 5)

    def judge(
        _compiler: Compiler, push: Push, _progress: Progress, _records: PushRecords, _rules: PushRules
    ) -> tuple[RefVerdict, ...]:
        git(pushed.repository, "update-ref", TOPIC, release)
        return tuple(map(RefVerdict, push.updates))

    overtaken = replace(pushed, judge=judge)
    found = overtaken.statuses(push_of(clone, new, words=words))
    assert found == {TOPIC: "another push moved it first; fetch, then push again"}
    assert pushed.ref(TOPIC) == release
    with pytest.raises(CalledProcessError):
        git(pushed.repository, "cat-file", "-t", new)
    pushed.check()


def test_all_or_nothing(pushed: Pushed, clone: Path) -> None:
    new = change(clone)
    files = pushed.files()
    bad = replace(pushed, judge=refuse(OTHER))
    body = push_of(clone, new, (ZERO, new, TOPIC), (ZERO, new, OTHER), words=ATOMIC)
    assert bad.statuses(body) == {TOPIC: "atomic push failed: another ref was refused", OTHER: "no"}
    stale = push_of(clone, new, (ZERO, new, TOPIC), ("1" * 40, new, OTHER), words=ATOMIC)
    assert set(pushed.statuses(stale)) == {TOPIC, OTHER}
    assert "" not in pushed.statuses(stale).values()
    assert pushed.files() == files
    assert pushed.statuses(body) == {TOPIC: "", OTHER: ""}
    assert not (pushed.repository / JOURNAL).exists()
    gone = request([(new, ZERO, TOPIC), (new, ZERO, OTHER)], words=ATOMIC)
    assert pushed.statuses(gone) == {TOPIC: "", OTHER: ""}
    assert (pushed.ref(TOPIC), pushed.ref(OTHER)) == ("", "")
    pushed.check()


def test_packed_refs_are_deleted_and_moved(pushed: Pushed, clone: Path) -> None:
    new = change(clone)
    pushed.statuses(push_of(clone, new, (ZERO, new, TOPIC), (ZERO, new, OTHER)))
    git(pushed.repository, "pack-refs", "--all")
    later = change(clone)
    body = request([(new, ZERO, TOPIC), (new, later, OTHER)], made_pack(clone, later, f"^{new}"), ATOMIC)
    assert pushed.statuses(body) == {TOPIC: "", OTHER: ""}
    assert (pushed.ref(TOPIC), pushed.ref(OTHER)) == ("", later)
    assert pushed.place.tip
    pushed.check()


@pytest.mark.parametrize("words", [CAPABILITIES, ATOMIC])
def test_a_ref_cannot_be_a_folder_and_a_file(pushed: Pushed, clone: Path, words: str) -> None:
    new = change(clone)
    below = f"{TOPIC}/below"
    found = pushed.statuses(push_of(clone, new, (ZERO, new, TOPIC), (ZERO, new, below), words=words))
    assert "blocks" in found[below]
    pushed.statuses(push_of(clone, new))
    assert "blocks" in pushed.statuses(request([(ZERO, new, below)], made_pack(clone, new)))[below]
    git(pushed.repository, "pack-refs", "--all")
    assert "blocks" in pushed.statuses(request([(ZERO, new, below)], made_pack(clone, new)))[below]
    pushed.statuses(request([(new, ZERO, TOPIC)]))
    assert pushed.statuses(request([(ZERO, new, below)], made_pack(clone, new))) == {below: ""}
    assert "blocks" in pushed.statuses(request([(ZERO, new, TOPIC)], made_pack(clone, new)))[TOPIC]
    pushed.statuses(request([(new, ZERO, below)]))
    assert pushed.statuses(request([(ZERO, new, TOPIC)], made_pack(clone, new))) == {TOPIC: ""}
    pushed.check()


def test_a_git_that_holds_the_lock_of_a_ref_is_not_overtaken(pushed: Pushed, clone: Path) -> None:
    new = change(clone)
    files = pushed.files()
    held = pushed.repository / f"{OTHER}.lock"
    held.touch()
    found = pushed.statuses(push_of(clone, new, (ZERO, new, TOPIC), (ZERO, new, OTHER), words=ATOMIC))
    assert "A git process holds" in found[OTHER]
    assert held.exists()
    held.unlink()
    assert pushed.files() == files
    assert "" not in found.values()


def test_branches_from_an_old_commit_and_from_one_without_a_ref_are_complete(pushed: Pushed, clone: Path) -> None:
    start = git(clone, "rev-parse", "HEAD")
    for number in range(5):
        pushed.place.push({f"shop/pages/{number}.txt": f"{number}\n"})
    old = change(clone)
    assert pushed.statuses(request([(ZERO, old, TOPIC)], made_pack(clone, old, f"^{start}"))) == {TOPIC: ""}
    pushed.statuses(request([(old, ZERO, TOPIC)]))
    later = change(clone)
    data = made_pack(clone, later, f"^{old}")
    assert pushed.statuses(request([(ZERO, later, OTHER)], data)) == {OTHER: ""}
    pushed.check()


def test_a_commit_on_one_whose_files_are_lost_is_refused(pushed: Pushed, clone: Path) -> None:
    old = change(clone, text="lost")
    pushed.statuses(push_of(clone, old))
    pushed.statuses(request([(old, ZERO, TOPIC)]))
    blob = git(clone, "rev-parse", f"{old}:shop/pages/0.txt")
    (pushed.repository / "objects" / blob[:2] / blob[2:]).unlink()
    (clone / "shop/pages/other.txt").write_text("other\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "Other")
    later = git(clone, "rev-parse", "HEAD")
    report = pushed.push(request([(ZERO, later, OTHER)], made_pack(clone, later, f"^{old}", thin=False))).report
    assert blob in report.fault
    assert pushed.ref(OTHER) == ""


def test_many_packs_of_pushes_are_merged(pushed: Pushed, clone: Path) -> None:
    git(pushed.repository, "config", "receive.unpackLimit", "1")  # a pack for each push by plain git
    for _ in range(52):
        change(clone)
        git(clone, "push", "-q", "origin", "HEAD:topic")
    assert len(packs(pushed)) > 50
    assert is_packing_due(pushed.repository)
    with hold_packing(pushed.repository):
        pack_loose(pushed.repository)
    assert len(packs(pushed)) < 5
    assert not is_packing_due(pushed.repository)
    pushed.check()


def test_the_leftovers_of_a_dead_push_are_swept(pushed: Pushed, clone: Path) -> None:
    with pushed.place.store.pushes.quarantine(SPACE) as alive:
        dead = alive.path.with_name(f"{alive.path.name}dead")
        for folder in (dead, dead / "pack"):
            folder.mkdir()
        (dead / "installing").write_text(f"pack-{'1' * 40}")
        half = pushed.repository / f"objects/pack/pack-{'1' * 40}.pack"
        half.write_bytes(b"half")
        half.with_suffix(".keep").touch()
        assert needs_upkeep(pushed.place.paths)
        pushed.statuses(push_of(clone, change(clone)))
        assert [each.path for each in list_quarantines(pushed.repository)] == [alive.path]
        assert not half.exists()
        assert not half.with_suffix(".keep").exists()
        dead.mkdir()
        assert needs_upkeep(pushed.place.paths)
        keep_up(pushed.place.paths)
        assert [each.path for each in list_quarantines(pushed.repository)] == [alive.path]
    assert not list_quarantines(pushed.repository)


def test_moves_that_a_dead_writer_has_noted_are_finished(pushed: Pushed, clone: Path) -> None:
    new = change(clone)
    later = change(clone)
    body = push_of(clone, later, (ZERO, new, TOPIC), (ZERO, new, OTHER), (ZERO, later, "refs/heads/moved"))
    pushed.statuses(body)
    lines = [
        f"{new} {later} {TOPIC}",
        f"{new} {ZERO} {OTHER}",
        f"{new} {'1' * 40} refs/heads/moved",
        f"{ZERO} {new} refs/heads/new",
    ]
    (pushed.repository / JOURNAL).write_text("".join(f"{line}\n" for line in lines))
    assert needs_upkeep(pushed.place.paths)
    with update(pushed.repository):
        pass
    refs = ("topic", "other", "moved", "new")
    assert [pushed.ref(f"refs/heads/{name}") for name in refs] == [later, "", later, new]
    assert not (pushed.repository / JOURNAL).exists()


def _push_in_child(pushed: Pushed, body: bytes) -> int:
    child = os.fork()
    if not child:
        try:
            pushed.push(body)
        finally:
            os._exit(0)
    return child


def _bodies(clone: Path) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Yield pushes of all sorts, each from the refs that the one before left, with the refs that it leaves."""
    start = git(clone, "rev-parse", "origin/release")
    small, large = change(clone), change(clone, MOST_LOOSE + 5)
    both = {TOPIC: small, OTHER: small}
    yield request([(ZERO, small, TOPIC), (ZERO, small, OTHER)], made_pack(clone, small, f"^{start}"), ATOMIC), both
    moved = {TOPIC: large, OTHER: large}
    yield request([(small, large, ref) for ref in both], made_pack(clone, large, f"^{small}"), ATOMIC), moved
    yield (
        request([(large, small, TOPIC), (large, ZERO, OTHER)], made_pack(clone, small, f"^{large}"), ATOMIC),
        {TOPIC: small},
    )
    yield request([(small, ZERO, TOPIC)]), {}


@pytest.mark.timeout(170)
@pytest.mark.parametrize("group", range(6))
def test_a_kill_leaves_the_repository_clean(pushed: Pushed, clone: Path, group: int) -> None:
    """Many kills a group, each at a random moment of a push; then the push is made again, and everything is as it should be."""
    rng = seeded_random()
    kills, before, median = 0, dict[str, str](), 0.02 + 0.01 * group
    while kills < rounds(12, 50):
        for body, after in _bodies(clone):
            child = _push_in_child(pushed, body)
            time.sleep(rng.uniform(0, median))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kills += 1
            with update(pushed.repository):
                pass
            state = {ref: tip for ref in (TOPIC, OTHER) if (tip := pushed.ref(ref))}
            assert state in (before, after)
            pushed.check()
            if state == before:
                assert set(pushed.statuses(body).values()) == {""}
            before = after
    with pushed.place.store.pushes.quarantine(SPACE):
        assert len(list_quarantines(pushed.repository)) == 1
    assert {path.name for path in pushed.repository.rglob("*.lock")} <= {"waypost.lock", "waypost-packing.lock"}
    assert not list(pushed.repository.rglob("*.keep"))
    assert not (pushed.repository / JOURNAL).exists()
