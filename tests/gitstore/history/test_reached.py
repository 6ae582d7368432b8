"""The base of a draft: found in the record of what release reached, equal to the one that Git finds by walking."""

import cProfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from gitstore.drafts.drafts import DraftName, read_draft
from gitstore.errors import Broken
from gitstore.git.repository import Repository, open_repository
from gitstore.history import reached
from gitstore.history.reached import REACHED_FILE, complete_record, find_base, is_record_complete, note_release
from gitstore.history.upkeep.repository_upkeep import keep_up, needs_upkeep
from gitstore.layout import RELEASE_REF, CommitId
from tests.gitstore.fixtures import MAIN, SPACE, Place, git, put, redirect, seeded_random

OTHER = DraftName("other", "main")
BEHIND = 60


def forget_bases() -> None:
    """Let the next look at a draft read the record, or walk."""
    reached._bases.clear()


def count_calls(work: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def test_a_draft_far_behind_costs_what_one_that_is_not_costs(place: Place) -> None:
    """The cost of reading the history does not grow with the publishes since a draft began."""
    place.begin("far", "near", "none")
    far, near, none = (DraftName(name, "main") for name in ("far", "near", "none"))
    place.publish(put(redirect("/first")))
    place.save(put(redirect("/far")), draft=far)
    for number in range(BEHIND):
        place.publish(put(redirect(f"/rule{number}")))
    place.save(put(redirect("/near")), draft=near)
    place.publish(put(redirect("/last")), draft=none)  # the first one imports, and fills what a process keeps
    reports = [count_calls(partial(place.fresh().store.drafts.report, SPACE, name)) for name in (near, far, near, far)]
    assert reports[3] <= 1.2 * reports[2]
    publishes = [count_calls(partial(place.publish, draft=name)) for name in (near, far)]
    assert publishes[1] <= 1.2 * publishes[0]
    assert [place.targets(name) for name in ("far", "near")] == [{"/far": "/new"}, {"/near": "/new"}]


def test_a_draft_of_many_edits_is_found_in_a_short_record(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(BEHIND):
        place.save(put(redirect(f"/rule{number}")))
    monkeypatch.setattr(Repository, "merge_base", refuse_to_walk)
    forget_bases()
    with open_repository(place.repo) as repository:
        assert read_draft(repository, MAIN).base == repository.release()


def test_after_an_edit_only_its_commit_is_read(place: Place) -> None:
    """So the cost of a read does not grow with the edits of a draft."""
    place.begin("short")
    short = DraftName("short", "main")
    for number in range(BEHIND):
        place.save(put(redirect(f"/rule{number}")))
    place.save(put(redirect("/a")), draft=short)
    calls = []
    for name in (short, MAIN):
        with open_repository(place.repo) as repository:
            read_draft(repository, name)
        place.save(put(redirect("/last")), draft=name)
        with open_repository(place.repo) as repository:
            calls.append(count_calls(partial(read_draft, repository, name)))
    assert calls[1] <= 1.2 * calls[0]


class History:
    """A random history in a bare repository: release with merges of drafts, and drafts that begin anywhere."""

    def __init__(self, path: Path, chance: Random) -> None:
        git(path.parent, "init", "--quiet", "--bare", str(path))
        self.path, self.chance = path, chance
        self.tree = git(path, "mktree")
        self.release = [self.commit()]
        self.drafts = [*self.release]

    def commit(self, *parents: str) -> CommitId:
        """Write a commit; no two are the same."""
        given = [word for parent in parents for word in ("-p", parent)]
        text = f"{self.chance.random()}".encode()
        return CommitId(git(self.path, "commit-tree", self.tree, *given, data=text))

    def step(self) -> None:
        """Add a commit to a draft, merge release into one, or publish one."""
        any_draft = self.chance.choice(self.drafts)
        match self.chance.randrange(5):
            case 0 | 1:
                self.drafts.append(self.commit(any_draft))
            case 2:
                self.drafts.append(self.commit(any_draft, self.release[-1]))
            case 3:
                self.release.append(self.commit(self.release[-1], any_draft))
            case _:
                self.release.append(self.commit(self.release[-1]))

    def check(self) -> None:
        """Compare the base of each draft with what C git finds, at the newest state and at an older one.

        At times without the bases that were found before.
        """
        if self.chance.random() < 0.5:
            forget_bases()
        with open_repository(self.path) as repository:
            for release in {self.release[-1], self.chance.choice(self.release)}:
                for head in self.drafts:
                    best = git(self.path, "merge-base", "--all", release, head).split()
                    assert find_base(repository, release, head) in best

    def git_ref(self) -> None:
        """Put the release branch at the newest state."""
        git(self.path, "update-ref", RELEASE_REF, self.release[-1])

    def note(self) -> None:
        """Record the newest state, as a publish does."""
        with open_repository(self.path) as repository:
            note_release(repository, self.release[-1])


@pytest.mark.parametrize("steps", [(2_048, 16), (5, 2)])
@pytest.mark.parametrize("case", range(3))
def test_the_base_is_the_one_that_git_finds(
    tmp_path: Path, case: int, steps: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some states are not recorded, as those of pushes; the record is read in parts, and damaged or cut at times."""
    monkeypatch.setattr(reached, "_STEPS", (steps, (12, 4), (1_000, 100)) if steps[0] < 10 else (steps,))
    chance = seeded_random()
    history = History(tmp_path / f"{case}.git", chance)
    record = history.path / REACHED_FILE
    for number in range(40):
        history.step()
        if chance.random() < 0.7:
            history.note()
        if number % 13 == 12:
            history.check()
            data = record.read_bytes() if record.exists() else b""
            if chance.random() < 0.5 and data:
                at = chance.randrange(len(data))
                record.write_bytes(chance.choice([data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]]))
    history.check()


def test_a_release_that_was_moved_back_is_recorded_from_there(tmp_path: Path) -> None:
    history = History(tmp_path / "some.git", seeded_random())
    for _ in range(12):
        history.step()
        history.note()
    old = history.release
    history.release = old[: len(old) // 2]
    history.release.append(history.commit(history.release[-1], history.drafts[-1]))
    history.note()
    history.check()


def test_a_draft_reads_the_same_without_the_record(place: Place) -> None:
    place.begin("other")
    place.save(put(redirect("/draft")), draft=OTHER)
    place.save(put(redirect("/half")), draft=OTHER)
    place.publish(put(redirect("/more")))
    with open_repository(place.repo) as repository:
        expected = read_draft(repository, OTHER)
        (place.repo / REACHED_FILE).unlink()
        forget_bases()
        assert read_draft(repository, OTHER) == expected
    place.publish(put(redirect("/again")))
    with open_repository(place.repo) as repository:
        assert read_draft(repository, OTHER).base == expected.base
        assert (place.repo / REACHED_FILE).exists()


def test_a_completed_record_is_the_one_that_publishes_write(tmp_path: Path) -> None:
    """Byte for byte, with merges, rebased drafts and publishes since."""
    history = History(tmp_path / "some.git", seeded_random())
    history.git_ref()
    history.note()
    for _ in range(40):
        history.step()
        history.note()
    record = history.path / REACHED_FILE
    written = record.read_bytes()
    assert is_record_complete(history.path)
    record.unlink()
    assert not is_record_complete(history.path)
    history.git_ref()
    complete_record(history.path)
    assert record.read_bytes() == written
    history.check()


def test_the_record_of_a_long_history_is_completed_in_the_background(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draft that is older than the record costs a walk only until then, not until its first update."""
    monkeypatch.setattr(reached, "_MAX_UNRECORDED", 5)
    place.begin("other")
    place.save(put(redirect("/draft")), draft=OTHER)
    assert not needs_upkeep(place.paths), "the record is complete from the first commit on"
    for number in range(10):
        place.publish(put(redirect(f"/rule{number}")))
    assert not needs_upkeep(place.paths)
    (place.repo / REACHED_FILE).write_bytes(b"damaged")
    place.publish(put(redirect("/last")))
    with open_repository(place.repo) as repository:
        expected = read_draft(repository, OTHER)
    assert needs_upkeep(place.paths)
    keep_up(place.paths)
    assert not needs_upkeep(place.paths)
    monkeypatch.setattr(Repository, "merge_base", refuse_to_walk)
    forget_bases()
    with open_repository(place.repo) as repository:
        assert read_draft(repository, OTHER) == expected
    place.save(put(redirect("/first-update")), draft=OTHER)
    place.publish(draft=OTHER)
    assert is_record_complete(place.repo)


def test_a_publish_of_more_commits_than_are_read_at_first_keeps_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reached, "_STEPS", ((5, 2), (1_000, 100)))
    monkeypatch.setattr(reached, "_MAX_UNRECORDED", 2)
    history = History(tmp_path / "some.git", seeded_random())
    history.note()
    for _ in range(5):
        history.release.append(history.commit(history.release[-1]))
        history.note()
    for _ in range(20):
        history.drafts.append(history.commit(history.drafts[-1]))
    history.release.append(history.commit(history.release[-1], history.drafts[-1]))
    history.note()
    assert is_record_complete(history.path)
    history.release.append(history.commit(history.release[-1]))
    history.note()
    assert is_record_complete(history.path)
    history.git_ref()
    written = (history.path / REACHED_FILE).read_bytes()
    complete_record(history.path)
    assert (history.path / REACHED_FILE).read_bytes() == written
    history.check()


def test_a_history_that_cannot_be_read_stops_no_other_upkeep(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shallow repository has no first commit: its record stays incomplete, and its objects are packed."""
    for number in range(60):
        place.publish(put(redirect(f"/rule{number}")))
    oldest = git(place.repo, "rev-list", "--max-parents=0", "release")
    monkeypatch.setattr("gitstore.git.packs.packing.FEWEST_LOOSE", 1)
    monkeypatch.setattr("gitstore.git.packs.packing.MOST_LOOSE", 1)
    (place.repo / REACHED_FILE).unlink()
    (place.repo / "objects" / oldest[:2] / oldest[2:]).unlink()
    before = sum(1 for _ in (place.repo / "objects").glob("??/*"))
    with pytest.raises(Broken):
        keep_up(place.paths)
    assert sum(1 for _ in (place.repo / "objects").glob("??/*")) < before / 2


def refuse_to_walk(*_: object) -> None:
    pytest.fail("the history was walked")
