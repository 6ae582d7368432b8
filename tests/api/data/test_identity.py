"""The identity of a data directory: written once, durably, and never read from anything else."""

from pathlib import Path

import pytest

from api.data.identity import create_identity, read_identity, write_identity


def test_each_identity_is_another_one() -> None:
    assert len({create_identity() for _ in range(100)}) == 100


def test_an_identity_is_read_as_it_was_written(tmp_path: Path) -> None:
    identity = create_identity()
    write_identity(tmp_path / "identity", identity)
    assert read_identity(tmp_path / "identity") == identity
    assert [path.name for path in tmp_path.iterdir()] == ["identity"]


def test_an_identity_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    """So a start on a full or read-only disk needs no write."""
    file = tmp_path / "identity"
    write_identity(file, identity := create_identity())
    before = file.stat()
    write_identity(file, identity)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    write_identity(file, other := create_identity())
    assert read_identity(file) == other


@pytest.mark.parametrize("text", [b"", b"\n", b"x" * 32, b"0" * 31, b"0" * 33, b"\xff" * 32, b"A" * 32])
def test_other_text_is_no_identity(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "identity").write_bytes(text)
    assert read_identity(tmp_path / "identity") == ""


def test_a_missing_file_or_folder_has_no_identity(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_identity(tmp_path / "identity") == ""
    assert read_identity(tmp_path / "none" / "identity") == ""
    assert read_identity(tmp_path / "file" / "identity") == ""


def test_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_identity(tmp_path / "none" / "identity", create_identity())
    assert list(tmp_path.iterdir()) == []
