"""The served data directory: a lost part is noticed by the next look, and the same one is known again when it is back."""

import shutil
from pathlib import Path

import pytest

from api.app.data_directory import adopt
from api.data.identity import create_identity, write_identity
from api.data.parts import DataParts
from api.data.served_data import DataLost, ServedData, data_check
from api.readiness import Status

PARTS = ("", "repos", "compiled", "keys", "waypost.db")
each_part = pytest.mark.parametrize("name", PARTS, ids=lambda name: name or "everything")


@pytest.fixture
def served(parts: DataParts) -> ServedData:
    """Serve a complete data directory."""
    served = ServedData(parts, adopt(parts))
    assert served.check() is None
    return served


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, as a restore does."""
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)


@each_part
def test_a_missing_part_is_a_fault_until_it_is_back(served: ServedData, tmp_path: Path, name: str) -> None:
    path = served.parts.root / name
    path.rename(tmp_path / "away")
    with pytest.raises(DataLost, match=r"^The data of this service is not available: .* is missing\.$"):
        served.require()
    assert served.fault is not None
    assert not path.exists()
    (tmp_path / "away").rename(path)
    served.require()
    assert served.fault is None


@each_part
def test_an_empty_one_in_its_place_is_a_fault(served: ServedData, tmp_path: Path, name: str) -> None:
    path = served.parts.root / name
    path.rename(tmp_path / "away")
    path.touch() if path.suffix else path.mkdir()
    assert "was replaced by another or an empty one" in str(served.check())


@each_part
def test_a_copy_of_it_is_the_same(served: ServedData, tmp_path: Path, name: str) -> None:
    path = served.parts.root / name
    path.rename(tmp_path / "away")
    assert served.check() is not None
    copy(tmp_path / "away", path)
    assert served.check() is None


@pytest.mark.parametrize("name", PARTS[:4], ids=lambda name: name or "everything")
def test_a_part_of_another_directory_is_a_fault(served: ServedData, tmp_path: Path, name: str) -> None:
    path = served.parts.root / name
    path.rename(tmp_path / "away")
    copy(tmp_path / "away", path)
    write_identity(path / (".identity" if name else "identity"), create_identity())
    assert "was replaced" in str(served.check())


def test_an_inode_that_is_used_again_is_no_proof(served: ServedData) -> None:
    """The open handle keeps the inode of the removed folder, so the new one gets another."""
    folder = served.parts.root / "repos"
    before = folder.stat().st_ino
    for _ in range(20):
        shutil.rmtree(folder)
        folder.mkdir()
        assert folder.stat().st_ino != before
    assert "was replaced" in str(served.check())


def test_keys_that_are_removed_in_their_folder_are_a_fault(served: ServedData, tmp_path: Path) -> None:
    keys = sorted(served.parts.keys.glob("*.json"))
    for key in keys[1:]:
        key.unlink()
    assert served.check() is None
    (key,) = keys[:1]
    key.rename(tmp_path / key.name)
    assert "keys/ in the data directory was replaced" in str(served.check())
    (tmp_path / key.name).rename(key)
    assert served.check() is None


def test_a_return_is_told_once_and_handles_are_closed(served: ServedData, tmp_path: Path) -> None:
    calls: list[None] = []
    served.listen(lambda: calls.append(None))
    handles = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        (served.parts.root / "repos").rename(tmp_path / "away")
        served.check()
        served.check()
        copy(tmp_path / "away", served.parts.root / "repos")
        shutil.rmtree(tmp_path / "away")
        served.check()
        served.check()
    assert len(calls) == 3
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def test_a_worker_that_starts_while_it_is_away_knows_it_when_it_is_back(parts: DataParts, tmp_path: Path) -> None:
    identity = adopt(parts)
    parts.root.rename(tmp_path / "away")
    late = ServedData(parts, identity)
    assert late.check() is not None
    (tmp_path / "away").rename(parts.root)
    assert late.check() is None


def test_readiness_is_unavailable_and_says_what_to_do(served: ServedData) -> None:
    check = data_check(served)
    assert list(check.find()) == []
    shutil.rmtree(served.parts.root)
    (fault,) = check.find()
    assert (fault.status, fault.code) == (Status.UNAVAILABLE, "data_unavailable")
    assert str(served.parts.root) not in fault.message
    assert "Mount or restore it." in fault.action
