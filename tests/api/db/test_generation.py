"""The generation: no change without a new stamp and a new number."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from api.db.generation import NO_STAMP, GenerationFile, read_generation
from api.db.state_store import StateStore, open_state_store


@pytest.fixture
def state(tmp_path: Path) -> StateStore:
    return open_state_store(tmp_path)


def number(state: StateStore) -> int:
    with state.database.reading() as connection:
        return read_generation(connection)


def test_every_bump_is_a_stamp_of_its_own_however_fast_they_come(tmp_path: Path) -> None:
    file = GenerationFile(tmp_path / "generation")
    stamps = [file.stamp()]
    assert stamps == [NO_STAMP]
    file.create()
    stamps.append(file.stamp())
    for _ in range(500):
        file.bump()
        stamps.append(file.stamp())
    assert len(set(stamps)) == 502


def test_a_bump_creates_no_file(tmp_path: Path) -> None:
    """Otherwise a change would leave a file in place of a lost data directory."""
    file = GenerationFile(tmp_path / "generation")
    with pytest.raises(FileNotFoundError):
        file.bump()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_not_created_again(tmp_path: Path) -> None:
    file = GenerationFile(tmp_path / "generation")
    file.create()
    file.bump()
    before = file.stamp()
    file.create()
    assert file.stamp() == before


def test_no_bump_of_many_at_once_is_lost(tmp_path: Path) -> None:
    file = GenerationFile(tmp_path / "generation")
    file.create()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(400):
            pool.submit(file.bump)
    assert file.stamp().size == 400


def test_a_change_moves_file_and_number(state: StateStore) -> None:
    before = (state.generation.stamp(), number(state))
    with state.changing():
        pass
    assert state.generation.stamp() != before[0]
    assert number(state) == before[1] + 1


def test_a_change_that_fails_moves_neither(state: StateStore) -> None:
    before = (state.generation.stamp(), number(state))
    with pytest.raises(ZeroDivisionError), state.changing():
        raise ZeroDivisionError
    assert (state.generation.stamp(), number(state)) == before


def test_a_change_is_committed_even_if_the_file_cannot_be_moved(state: StateStore, tmp_path: Path) -> None:
    """Workers then get the change from the database, within a second."""
    (tmp_path / "generation").unlink()
    os.mkdir(tmp_path / "generation")  # noqa: PTH102 - a folder is in the place of the file
    with state.changing():
        pass
    assert number(state) == 2


def test_a_file_that_was_removed_starts_again_with_another_stamp(tmp_path: Path) -> None:
    file = GenerationFile(tmp_path / "generation")
    file.create()
    file.bump()
    before = file.stamp()
    (tmp_path / "generation").unlink()
    assert file.stamp() != before
