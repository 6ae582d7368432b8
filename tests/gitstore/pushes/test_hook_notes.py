"""Notes of a hook: they last until the service removes them, are bounded, and no link leads it, or a hook, elsewhere."""

import os
from pathlib import Path

import pytest

from gitstore.pushes import found_tokens as tokens
from gitstore.pushes import hook_notes
from gitstore.pushes.found_tokens import FoundTokens, read_found
from gitstore.pushes.hook_notes import NoteFolder

NAME = f"{1:020}-{'a' * 16}"


@pytest.fixture
def notes(tmp_path: Path) -> NoteFolder:
    return NoteFolder(tmp_path, "notes", 100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def read(notes: NoteFolder, name: str) -> bytes | None:
    with notes.open(name) as note:
        return note.file.read() if note else None


def test_what_is_noted_is_listed_in_order_until_it_is_removed(notes: NoteFolder, folder: Path) -> None:
    assert notes.list() == {}
    assert [notes.write(b"one"), notes.write(b"two")] == ["", ""]
    folder.joinpath("notes.txt").touch()
    first, second = notes.list()
    assert [read(notes, first), read(notes, second)] == [b"one", b"two"]
    notes.remove([first])
    assert [*notes.list()] == [second]


def test_a_note_has_the_user_who_wrote_it(notes: NoteFolder) -> None:
    notes.write(b"one")
    with notes.open(next(iter(notes.list()))) as note:
        assert note
        assert note.user == os.geteuid()


def test_whoever_may_write_to_the_repository_may_note_and_the_service_can_read(
    notes: NoteFolder, tmp_path: Path, folder: Path
) -> None:
    tmp_path.chmod(0o2770)
    before = os.umask(0o077)
    try:
        notes.write(b"one")
    finally:
        os.umask(before)
    [name] = notes.list()
    assert [each.stat().st_mode & 0o7777 for each in (folder, folder / name)] == [0o2770, 0o664]


def test_notes_are_bounded_in_size_and_number(notes: NoteFolder, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_notes, "MOST_NOTES", 2)
    assert [notes.write(b"x" * 101), notes.write(b"x" * 100), notes.write(b"y"), notes.write(b"z")] == [
        "it is too large",
        "",
        "",
        "the folder notes has no room for more notes",
    ]
    assert not notes.has_room()
    with folder.joinpath(next(iter(notes.list()))).open("ab") as file:
        file.truncate(1 << 40)  # by another hand
    assert read(notes, next(iter(notes.list()))) is None


def test_other_files_in_the_folder_take_no_room_and_hide_no_note(
    notes: NoteFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: anyone may leave files there, which switched off all notes."""
    monkeypatch.setattr(hook_notes, "MOST_NOTES", 2)
    folder.mkdir()
    for number in range(10):
        folder.joinpath(f"junk-{number}").touch()
    assert notes.write(b"one") == ""
    assert [read(notes, name) for name in notes.list()] == [b"one"]
    assert len(notes.list_foreign()) == 2


def test_many_notes_are_removed_with_one_look_at_the_folder(
    notes: NoteFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        notes.write(b"one")
    looks = list[object]()
    scandir = os.scandir

    def note(folder: int) -> object:
        looks.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", note)
    notes.remove([*notes.list()])
    assert (len(looks), [*folder.iterdir()]) == (2, [])


def test_no_link_in_place_of_the_folder_is_followed(notes: NoteFolder, tmp_path: Path, folder: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.joinpath(NAME).touch()
    folder.symlink_to(elsewhere)
    assert notes.write(b"one")
    assert (notes.list(), read(notes, NAME)) == ({}, None)
    notes.remove([NAME])
    assert [each.name for each in elsewhere.iterdir()] == [NAME]


def test_no_link_or_pipe_in_place_of_a_note_is_read(notes: NoteFolder, tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    tmp_path.joinpath("secret").write_bytes(b"secret")
    folder.joinpath(NAME).symlink_to(tmp_path / "secret")
    os.mkfifo(folder / NAME.replace("a", "b"))
    assert (notes.list(), read(notes, NAME), read(notes, NAME.replace("a", "b"))) == ({}, None, None)


def test_a_file_in_place_of_the_folder_stops_no_push(notes: NoteFolder, folder: Path) -> None:
    folder.touch()
    assert notes.write(b"one") == "Not a directory (notes)"
    assert notes.list() == {}


def test_what_a_killed_hook_began_is_no_note_and_goes_after_an_hour(
    notes: NoteFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.write(b"one")
    folder.joinpath(f".{NAME}").touch()
    notes.remove([*notes.list()])
    assert [each.name for each in folder.iterdir()] == [f".{NAME}"]
    monkeypatch.setattr(hook_notes, "_DEAD_NS", -1)
    notes.remove([])
    assert [*folder.iterdir()] == []


def test_texts_like_tokens_are_read_in_windows_and_a_repeated_one_takes_no_room(tmp_path: Path) -> None:
    found, digests = FoundTokens(), [f"{number:064x}" for number in range(2_500)]
    for digest in [*digests, *digests]:
        found.add(digest)
    assert len(found) == len(digests)
    assert found.note(tmp_path) == ""
    notes = tokens.found_tokens(tmp_path)
    windows = [*read_found(notes, next(iter(notes.list())))]
    assert [len(each) for each in windows] == [1_000, 1_000, 500]
    assert frozenset[str]().union(*windows) == {*digests}


def test_texts_like_tokens_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_FOUND", 2)
    found = FoundTokens()
    for number in range(3):
        found.add(f"{number:064x}")
    assert (len(found), found.is_full) == (2, True)
