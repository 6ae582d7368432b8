"""A ref that was reported as moved survives a power cut: its name, and those of the folders made for it, are synced."""

import os
from pathlib import Path

import pytest
from dulwich.refs import DiskRefsContainer

from gitstore.drafts.drafts import DraftName
from gitstore.errors import LostRace
from gitstore.git.lock import FILE_NAME, hold
from gitstore.git.refs import move_ref, remove_idle_folders, remove_ref
from gitstore.layout import RELEASE_REF, CommitId, draft_ref
from tests.gitstore.fixtures import SHOP, SPACE, Place, put, redirect

_SWAPPED = "swapped"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record in order: `swapped` when the ref changed, and the path of each folder that was synced."""
    found: list[str] = []
    real_sync, real_swap = os.fsync, DiskRefsContainer.set_if_equals

    def sync(handle: int) -> None:
        real_sync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        found.extend([str(path)] if path.is_dir() else [])

    def swap(container: DiskRefsContainer, *arguments: object) -> bool:
        swapped = real_swap(container, *arguments)  # type: ignore[arg-type] # passed on as it came
        found.append(_SWAPPED)
        return swapped

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(DiskRefsContainer, "set_if_equals", swap)
    return found


def test_move_of_a_ref_syncs_its_folder_afterwards(place: Place, steps: list[str]) -> None:
    """Guard: without the sync a power cut may bring the older commit back after the reply."""
    tip, older = place.tip, CommitId(place.git("rev-parse", "release~1"))
    with hold(place.repo) as lock:
        move_ref(place.repo, lock, RELEASE_REF, tip, older)
    assert steps == [_SWAPPED, str((place.repo / RELEASE_REF).parent)]


def test_new_ref_syncs_the_folders_that_were_made_for_it(place: Place, steps: list[str]) -> None:
    """Guard: the name of each new folder is in the one above it. The next ref there is in folders that are durable."""
    first, second = draft_ref(SHOP, "first"), draft_ref(SHOP, "second")
    with hold(place.repo) as lock:
        move_ref(place.repo, lock, first, None, place.tip)
        above = [str(folder) for folder in (place.repo / first).parents]
        assert steps == [_SWAPPED, *above[1:3], above[0]]
        remove_ref(place.repo, lock, first, None)
        steps.clear()
        move_ref(place.repo, lock, second, None, place.tip)
    assert steps == [_SWAPPED, above[0]]


def test_folders_of_a_ref_that_was_elsewhere_are_synced_too(place: Place, steps: list[str]) -> None:
    """Guard: the next ref there takes the folders for durable."""
    ref = draft_ref(SHOP, "late")
    with hold(place.repo) as lock, pytest.raises(LostRace):
        move_ref(place.repo, lock, ref, place.tip, place.tip)
    assert steps == [_SWAPPED, *(str(folder) for folder in (place.repo / ref).parents[1:3])]


def test_folders_that_a_dead_writer_made_are_synced_by_the_next(place: Place, steps: list[str]) -> None:
    """Guard: killed between the folder and its sync; the note in the lock tells of it."""
    ref = draft_ref(SHOP, "main")
    (place.repo / FILE_NAME).write_text(ref)
    (place.repo / ref).parent.mkdir(parents=True)
    with hold(place.repo):
        pass
    folders = [str(folder) for folder in (place.repo / ref).parents if folder.is_relative_to(place.repo)]
    assert steps == folders
    assert folders[-1] == str(place.repo)


def test_folders_of_drafts_go_when_they_were_empty_for_long(place: Place) -> None:
    """Guard: a folder with a draft stays, and one that was used just now."""
    place.begin("idle", "used")
    for project in ("idle", "used", SHOP):
        place.save(put(redirect("/a")), draft=DraftName(project, "main"))
    for project in ("idle", "used"):
        place.store.drafts.discard(SPACE, DraftName(project, "main"))
    drafts = place.repo / "refs/heads/draft"
    for project in ("idle", SHOP):
        os.utime(drafts / project, (0, 0))
    remove_idle_folders(place.repo, 60)
    assert sorted(folder.name for folder in drafts.iterdir()) == [SHOP, "used"]
