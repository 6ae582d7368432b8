"""Room for the next write, on each disk of a data directory; nothing is left behind."""

import errno
import os
from pathlib import Path

import pytest

from api.app.data_directory import create_data, open_data
from api.runtime.health import disk_check
from api.runtime.health.disk_check import DiskCheck, DiskState, probe_disks
from api.settings import Settings


def test_nothing_is_found_or_left_where_there_is_room(tmp_path: Path) -> None:
    assert probe_disks([tmp_path, tmp_path / "missing"], syncs=True) == DiskState()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("code", "count"), [(errno.ENOSPC, 1), (errno.EDQUOT, 1), (errno.EACCES, 0), (errno.EROFS, 0)])
def test_only_a_lack_of_room_is_its_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, count: int
) -> None:
    """Guard: a folder that may not be written to is reported by the check of that, with another remedy."""

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert probe_disks([tmp_path]) == DiskState(bool(count), "" if count else os.strerror(code))


def test_a_file_system_without_unnamed_files_gets_a_named_one_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)  # then the folder itself is opened to write: EISDIR
    disk_check._write_probe(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_probe_that_a_kill_left_is_removed_at_the_next_look(tmp_path: Path) -> None:
    left, own = tmp_path / ".write-check-4711", tmp_path / "waypost.db"
    for file in (left, own):
        file.touch()
    probe_disks([tmp_path])
    assert left.exists()
    probe_disks([tmp_path], syncs=True)
    assert list(tmp_path.iterdir()) == [own]


def test_one_disk_is_synced_once_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: each sync makes the next publish wait."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    probe_disks(folders)
    assert synced == []
    probe_disks(folders, syncs=True)
    assert len(synced) == 1


def test_what_only_a_sync_finds_stays_until_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the quota of one folder was a fault for one second of ten."""
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    check = DiskCheck(open_data(settings))
    found = {True: DiskState(is_full=True), False: DiskState()}
    monkeypatch.setattr(disk_check, "probe_disks", lambda _folders, *, syncs: found[syncs])
    assert check._look(syncs=True) == check._look(syncs=False) == DiskState(is_full=True)
    found[True] = DiskState()
    assert check._look(syncs=True) == check._look(syncs=False) == DiskState()
