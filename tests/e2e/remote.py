"""A namespace's repository as C git sees it over HTTP."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.e2e.world import Place

_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
_PEOPLE = {
    f"GIT_{role}_{key}": text for role in ("AUTHOR", "COMMITTER") for key, text in (("NAME", "Grace"), ("EMAIL", "g@x"))
}


@dataclass(frozen=True)
class Remote:
    """The address of a repository with the credentials of a caller, and the version of the protocol."""

    url: str
    version: int = 2

    @classmethod
    def of(cls, place: Place, user: str = "x", password: str = "", version: int = 2) -> "Remote":
        """Return the repository of a place, for a user, or (without a password) for a token with all grants."""
        credentials = f"{quote(user)}:{quote(password or place.world.root.token)}"
        return cls(f"http://{credentials}@127.0.0.1:{place.world.service.port}/git/{place.namespace}.git", version)

    def run(self, folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run git, whatever comes of it."""
        command = ("git", "-c", f"protocol.version={self.version}", *words)
        return subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **_ALONE, **_PEOPLE, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def git(self, folder: Path, *words: str, **env: str) -> str:
        """Run git, and return its output."""
        done = self.run(folder, *words, **env)
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout.strip()

    def clone(self, folder: Path, *options: str) -> Path:
        """Clone into a folder; return it."""
        self.git(folder.parent, "clone", "-q", *options, self.url, str(folder))
        return folder

    def refused(self, folder: Path, *words: str) -> str:
        """Run git, which has to fail; return what it prints about that."""
        done = self.run(folder, *words)
        assert done.returncode != 0, done.stdout
        return done.stderr


def refs_of(repository: Path) -> set[str]:
    """Return the branches and tags of a repository, each with its object."""
    command = ("git", "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
    found = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    return set(found.splitlines())


def objects_of(repository: Path, *words: str) -> set[str]:
    """Return the ids of the objects that `git rev-list --objects` lists."""
    command = ("git", "rev-list", "--objects", "--no-object-names", *words)
    return set(subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.split())


def present_in(repository: Path) -> set[str]:
    """Return the ids of all objects that a repository has."""
    command = ("git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered")
    return set(subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.split())
