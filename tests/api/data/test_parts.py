"""The parts that a start needs: each missing one is named, with what to do, and nothing is created."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from api.data.identity import FOLDER_FILE, create_identity, write_identity
from api.data.parts import DataParts, MissingData


def refusal(require: Callable[[], None], root: Path) -> str:
    """Return the message of a refusal, which changes nothing on disk."""
    before = sorted(root.parent.rglob("*"))
    with pytest.raises(MissingData) as caught:
        require()
    assert sorted(root.parent.rglob("*")) == before
    return str(caught.value)


def test_a_complete_directory_is_accepted(parts: DataParts) -> None:
    parts.require_all()
    parts.require_content()
    assert len({parts.known_identity(), *((each / FOLDER_FILE).read_text().strip() for each in parts.folders)}) == 1


def test_a_missing_and_an_empty_directory_are_told_apart(tmp_path: Path) -> None:
    parts = DataParts(tmp_path / "data", tmp_path / "data/waypost.db")
    assert " does not exist. " in refusal(parts.require_all, parts.root)
    parts.root.mkdir()
    message = refusal(parts.require_all, parts.root)
    assert " is empty. " in message
    assert "waypost serve --init" in message


@pytest.mark.parametrize("name", ["repos", "keys", "waypost.db"])
def test_a_lost_part_is_named_and_not_created_by_init(parts: DataParts, name: str) -> None:
    """The directory has an identity, so it was complete once."""
    (parts.root / name).rename(parts.root.parent / "away")
    message = refusal(parts.require_all, parts.root)
    assert f"{name} is missing" in message.replace("/ ", " ")
    assert "Mount or restore it." in message
    assert f"remove {parts.identity} and run" in message


@pytest.mark.parametrize("name", ["repos", "keys"])
def test_an_empty_folder_is_what_an_unmounted_one_leaves(parts: DataParts, name: str) -> None:
    shutil.rmtree(parts.root / name)
    (parts.root / name).mkdir()
    assert f"{name}/ is missing" in refusal(parts.require_all, parts.root)


def test_several_lost_parts_are_one_message(parts: DataParts) -> None:
    shutil.rmtree(parts.keys)
    assert parts.database is not None
    parts.database.write_bytes(b"")
    assert "keys/ and waypost.db are missing" in refusal(parts.require_all, parts.root)


def test_a_folder_of_keys_without_a_key_is_incomplete(parts: DataParts) -> None:
    for key in parts.keys.glob("*.json"):
        key.unlink()
    assert "the keys in keys/ is missing" in refusal(parts.require_all, parts.root)


def test_compiled_files_can_be_rebuilt_at_a_start_but_not_by_a_command(parts: DataParts) -> None:
    shutil.rmtree(parts.root / "compiled")
    parts.require_all()
    assert "compiled/ is missing" in refusal(parts.require_content, parts.root)


def test_a_database_on_a_server_is_no_part(parts: DataParts) -> None:
    assert parts.database is not None
    parts.database.unlink()
    replace(parts, database=None).require_all()


def test_a_folder_of_another_directory_is_refused_until_its_identity_is_removed(parts: DataParts) -> None:
    write_identity(parts.root / "repos" / FOLDER_FILE, create_identity())
    assert "repos/ is part of another data directory" in refusal(parts.require_all, parts.root)
    (parts.root / "repos" / FOLDER_FILE).unlink()
    (parts.root / "repos" / "acme.git").mkdir()
    parts.require_all()


def test_the_identity_of_a_restored_folder_is_known(parts: DataParts) -> None:
    """As after a backup of the folders without the file beside them."""
    identity = parts.known_identity()
    parts.identity.unlink()
    assert parts.known_identity() == identity
    for folder in parts.folders:
        (folder / FOLDER_FILE).unlink()
    assert parts.known_identity() == ""
