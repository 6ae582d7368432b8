"""A data directory to damage, the findings on it, and the verdict of C git."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gitstore.care.compiled_check import check_compiled
from gitstore.care.findings import Finding, RemovedFiles
from gitstore.care.repository_check import RepositoryCheck
from gitstore.store.store import Store
from tests.gitstore.fixtures import Place

_ROUNDS = 3


@dataclass(frozen=True)
class Patient:
    """A copy of a data directory with one namespace."""

    root: Path

    @property
    def place(self) -> Place:
        """The namespace, opened as by a new process."""
        return Place(self.root, Store(self.root))

    @property
    def repo(self) -> Path:
        """The bare repository."""
        return self.place.repo

    def check(self) -> list[Finding]:
        """Return all findings on the namespace."""
        paths = self.place.paths
        return [*RepositoryCheck(paths).run(), *check_compiled(paths)]

    def codes(self) -> set[str]:
        """Return the codes of all findings."""
        return {each.code for each in self.check()}

    def repair(self) -> list[str]:
        """Repair as `waypost doctor --fix` does, until nothing is left to repair; return what was done."""
        removed, done = RemovedFiles(self.root), list[str]()
        for _ in range(_ROUNDS):
            fixes = [each.fix for each in self.check() if each.fix]
            done += [fix(removed) for fix in fixes]
            if not fixes:
                return done
        raise AssertionError(f"still to be repaired: {self.check()}")

    def object_files(self) -> list[Path]:
        """Return the files of loose objects."""
        return sorted(path for path in self.repo.glob("objects/[0-9a-f][0-9a-f]/*"))

    def pack(self, suffix: str = ".pack") -> Path:
        """Return the only pack, or a file beside it."""
        return next(self.repo.glob(f"objects/pack/*{suffix}"))

    def fsck(self) -> bool:
        """Tell whether `git fsck` finds nothing."""
        run = subprocess.run(
            ("git", "fsck", "--strict", "--full", "--no-progress"),
            cwd=self.repo,
            env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
            capture_output=True,
            check=False,
        )
        return run.returncode == 0


def overwrite(path: Path, data: bytes) -> None:
    """Replace the bytes of a file that may be read-only."""
    path.chmod(0o644)
    path.write_bytes(data)


def flip(path: Path, at: int) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x10
    overwrite(path, bytes(data))
