"""Notes of texts like tokens: they last until the service forgets them, and no link leads it, or a hook, elsewhere."""

import os
from pathlib import Path

import pytest

from gitstore.pushes.found_tokens import FOLDER, forget_found, list_found, note_found

ONE, OTHER = "1" * 64, "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / FOLDER


def test_what_is_noted_is_listed_until_it_is_forgotten(tmp_path: Path, folder: Path) -> None:
    assert list_found(tmp_path) == {}
    assert note_found(tmp_path, {ONE, OTHER})
    folder.joinpath("notes.txt").touch()
    assert list_found(tmp_path).keys() == {ONE, OTHER}
    forget_found(tmp_path, {ONE})
    assert list_found(tmp_path).keys() == {OTHER}
    assert note_found(tmp_path, {OTHER})


def test_a_digest_that_is_noted_again_has_another_time(tmp_path: Path) -> None:
    note_found(tmp_path, {ONE})
    before = list_found(tmp_path)
    forget_found(tmp_path, {ONE})
    note_found(tmp_path, {ONE})
    assert list_found(tmp_path) != before


def test_the_folder_is_open_to_those_who_may_write_to_the_repository(tmp_path: Path, folder: Path) -> None:
    tmp_path.chmod(0o2770)
    before = os.umask(0o077)
    try:
        note_found(tmp_path, {ONE})
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o7777 == 0o2770


def test_no_link_in_place_of_the_folder_is_followed(tmp_path: Path, folder: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.joinpath(ONE).touch()
    folder.symlink_to(elsewhere)
    assert not note_found(tmp_path, {OTHER})
    assert list_found(tmp_path) == {}
    forget_found(tmp_path, {ONE})
    assert [each.name for each in elsewhere.iterdir()] == [ONE]


def test_no_link_in_place_of_a_note_is_followed_or_counts(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    folder.joinpath(ONE).symlink_to(tmp_path / "new")
    assert not note_found(tmp_path, {ONE})
    assert not tmp_path.joinpath("new").exists()
    assert list_found(tmp_path) == {}


def test_a_file_in_place_of_the_folder_stops_no_push(tmp_path: Path, folder: Path) -> None:
    folder.touch()
    assert not note_found(tmp_path, {ONE})
    assert list_found(tmp_path) == {}
