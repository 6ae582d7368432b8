"""Room for the next write, on each disk of a data directory; nothing is left behind."""

import errno
import os
from pathlib import Path

import pytest

from api.runtime import disk_check
from api.runtime.disk_check import find_full_disks


def test_nothing_is_found_or_left_where_there_is_room(tmp_path: Path) -> None:
    assert list(find_full_disks([tmp_path, tmp_path / "missing"])) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("code", "count"), [(errno.ENOSPC, 1), (errno.EDQUOT, 1), (errno.EACCES, 0), (errno.EROFS, 0)])
def test_only_a_lack_of_room_is_its_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, count: int
) -> None:
    """Guard: a folder that may not be written to is reported by the check of that, with another remedy."""

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert len(find_full_disks([tmp_path])) == count


def test_a_file_system_without_unnamed_files_gets_a_named_one_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)  # then the folder itself is opened to write: EISDIR
    disk_check._write_probe(tmp_path)
    assert list(tmp_path.iterdir()) == []
