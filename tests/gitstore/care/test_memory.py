"""Backups, restores and checks stream: their memory does not grow with the contents of a repository."""

import os
import subprocess
import sys
from pathlib import Path

from tests.gitstore.care.memory_driver import ROOM
from tests.gitstore.fixtures import create_place, git
from tests.service import ROOT

PIECE = 1 << 20


def test_a_repository_of_twice_the_memory_is_saved_restored_and_checked(tmp_path: Path) -> None:
    place = create_place(tmp_path / "data")
    count = 2 * ROOM // PIECE
    lines = [b"commit refs/heads/large\ncommitter A <a@b.example> 1700000000 +0000\ndata 1\nx\n"]
    lines += [b"M 100644 inline %d.bin\ndata %d\n%b\n" % (each, PIECE, os.urandom(PIECE)) for each in range(count)]
    git(place.repo, "fast-import", "--quiet", data=b"".join(lines))
    done = subprocess.run(
        (sys.executable, "-m", "tests.gitstore.care.memory_driver", str(place.root)),
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    restored = tmp_path / "copy" / "repos" / place.repo.name
    assert git(restored, "rev-parse", "large") == git(place.repo, "rev-parse", "large")
