"""A namespace with an upstream on disk, which C git writes too."""

import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from gitstore.layout import CommitId
from gitstore.upstream.upstream_rules import UpstreamRules
from gitstore.upstream.upstream_settings import UpstreamMode, UpstreamSettings
from gitstore.upstream.upstream_state import UpstreamState
from tests.gitstore.fixtures import SPACE, Place, create_place, git, yaml

SOURCE, MIRROR = UpstreamMode.SOURCE, UpstreamMode.MIRROR


@dataclass(frozen=True)
class UpstreamBed:
    """A bare repository, in a folder of its own."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> "UpstreamBed":
        """Create the repository."""
        folder.mkdir()
        git(folder, "init", "--quiet", "--bare", "--initial-branch=release", "up.git")
        return cls(folder)

    @property
    def path(self) -> Path:
        """The bare repository."""
        return self.folder / "up.git"

    @property
    def tip(self) -> str:
        """The commit of its branch; empty without one."""
        return git(self.path, "for-each-ref", "--format=%(objectname)", "refs/heads/release")

    def follow(self, place: Place, mode: UpstreamMode, url: str = "", **fields: Any) -> None:
        """Make it the upstream of a namespace."""
        rules = UpstreamRules(networks=("127.0.0.0/8",), folders=(str(self.folder),), seconds=20.0)
        settings = UpstreamSettings(url or str(self.path), mode, rules=rules, **fields)
        place.store.upstreams.configure(SPACE, settings)

    def node(self, name: str, mode: UpstreamMode = SOURCE) -> Place:
        """Return another data directory that follows it, and is synced."""
        place = create_place(self.folder / name)
        self.follow(place, mode)
        sync_well(place)
        return place

    def work(self) -> Path:
        """Return a working copy at the newest commit."""
        path = self.folder / "work"
        if not path.exists():
            git(self.folder, "clone", "--quiet", str(self.path), str(path))
        git(path, "fetch", "--quiet", "origin")
        git(path, "reset", "--quiet", "--hard", "origin/release")
        return path

    def commit(self, *files: Mapping[str, str | None], push: bool = True) -> list[CommitId]:
        """Commit each set of files (None: removed) as one commit, and push all of them; return the commits."""
        work, made = self.work(), list[CommitId]()
        for each in files:
            for path, text in each.items():
                (work / path).parent.mkdir(parents=True, exist_ok=True)
                if text is None:
                    (work / path).unlink()
                else:
                    (work / path).write_text(text, "utf-8")
            git(work, "add", "--all")
            git(work, "commit", "--quiet", "--message", "On the host")
            made.append(CommitId(git(work, "rev-parse", "HEAD")))
        if push:
            self.push()
        return made

    def push(self, *words: str) -> None:
        """Push the working copy."""
        git(self.folder / "work", "push", "--quiet", *words, "origin", "HEAD:release")


def sync(place: Place) -> UpstreamState:
    """Sync a namespace, and return the state."""
    found = place.store.upstreams.sync(SPACE)
    assert found is not None
    return found


def sync_well(place: Place) -> UpstreamState:
    """Sync a namespace, and fail for a fault."""
    found = sync(place)
    assert found.fault is None, found.fault
    return found


def fault_of(place: Place) -> str:
    """Sync a namespace, and return the code of the fault, which there is."""
    found = sync(place).fault
    assert found is not None
    return found.code


def many(*more: tuple[str, str]) -> str:
    """Return a file of a thousand rules, and more, that compresses badly."""
    return yaml([*((f"/{number}", f"/{sha256(b'%d' % number).hexdigest()}") for number in range(1000)), *more])


@contextmanager
def file_sizes(most: int) -> Iterator[None]:
    """Let this process write no file of more than so many bytes, as on a disk without space."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
