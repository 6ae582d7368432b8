"""A ref that was reported as moved survives a power cut: its name, and those of the folders made for it, are synced."""

import os
from pathlib import Path

import pytest
from dulwich.refs import DiskRefsContainer

from gitstore.git.lock import hold
from gitstore.git.refs import move_ref
from gitstore.layout import RELEASE_REF, CommitId, draft_ref
from tests.gitstore.fixtures import SHOP, Place

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


def test_new_ref_syncs_each_folder_up_to_that_of_all_branches(place: Place, steps: list[str]) -> None:
    """Guard: the folders of a new ref may be new too, and the name of each is in the one above it."""
    ref = draft_ref(SHOP, "fresh")
    with hold(place.repo) as lock:
        move_ref(place.repo, lock, ref, None, place.tip)
    folders = [folder for folder in (place.repo / ref).parents if folder.is_relative_to(place.repo / "refs/heads")]
    assert len(folders) == 3
    assert steps == [_SWAPPED, *map(str, folders)]
