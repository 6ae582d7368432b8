"""The data directory: nothing is created in the place of a part that was lost."""

from pathlib import Path

import pytest

from gitstore.directory import IDENTITY_FILE, DataDirectory, make_folder
from gitstore.errors import Broken


def test_no_folder_is_created_in_an_empty_folder_in_the_place_of_compiled_files(tmp_path: Path) -> None:
    """Guard: a read that was under way when the folder was replaced made the namespace's folder in the other one."""
    directory = DataDirectory(tmp_path)
    directory.create()
    paths = directory.namespace("acme")
    make_folder(paths.releases, levels=2)
    for folder in (directory.repositories, directory.compiled):
        (folder / IDENTITY_FILE).touch()
    make_folder(paths.manifests, levels=2)
    directory.compiled.rename(tmp_path / "away")
    directory.compiled.mkdir()
    with pytest.raises(Broken, match=r"compiled .* restart the service"):
        make_folder(paths.releases, levels=2)
    with pytest.raises(Broken):
        paths.write_marker()
    assert list(directory.compiled.iterdir()) == []


def test_a_new_data_directory_is_closed_to_others_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.mkdir()
    old.chmod(0o755)
    for root in (new, old):
        DataDirectory(root).create()
    assert [root.stat().st_mode & 0o777 for root in (new, old)] == [0o700, 0o755]
