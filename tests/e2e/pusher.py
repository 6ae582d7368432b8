"""Pushes over HTTP: by stock C git, and as bytes of our own."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import httpx

from api.auth.permissions.grants import Grant
from tests.e2e.git import check_repository, git
from tests.e2e.world import Place

_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
PUSH_TYPE = "application/x-git-receive-pack-request"


@dataclass(frozen=True)
class Pusher:
    """A clone over HTTP with a token that may do everything."""

    place: Place
    folder: Path
    token: str

    @classmethod
    def of(cls, place: Place, folder: Path) -> "Pusher":
        """Clone a namespace."""
        token = place.world.token([Grant("*", "*", "*", "*")])
        found = cls(place, folder, token)
        git(folder.parent, "clone", "-q", found.url, str(folder))
        git(folder, "config", "user.name", "Ada")
        git(folder, "config", "user.email", "ada@example.com")
        return found

    @property
    def address(self) -> str:
        """The address of the repository."""
        return f"{self.place.world.service.url}/git/{self.place.namespace}.git"

    @property
    def url(self) -> str:
        """The address with the token in it."""
        return self.address.replace("://", f"://any:{self.token}@")

    def commit(self, path: str, data: bytes | str = b"", *, message: str = "Change") -> str:
        """Commit a file; return the commit."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.folder, "rev-parse", "HEAD")

    def push(self, *words: str, settings: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
        """Run `git push` to the service."""
        options = [part for setting in settings for part in ("-c", setting)]
        return subprocess.run(
            ["git", *options, "push", *words],
            cwd=self.folder,
            env={**os.environ, **_ALONE},
            capture_output=True,
            text=True,
            check=False,
        )

    def pushed(self, *words: str, settings: tuple[str, ...] = ()) -> str:
        """Push, and fail unless it is accepted; return what git prints."""
        done = self.push(*words, settings=settings)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def refused(self, *words: str) -> str:
        """Push, and fail unless it is refused; return what git prints."""
        done = self.push(*words)
        assert done.returncode, done.stderr
        return done.stderr

    def ref(self, name: str) -> str:
        """Return the commit of a ref in the repository; empty if there is none."""
        return git(self.place.repository, "for-each-ref", "--format=%(objectname)", name)

    def check_valid(self) -> None:
        """Fail unless git finds every object present and valid."""
        check_repository(self.place.repository)

    def check(self) -> None:
        """Fail unless the repository is valid, and no quarantine is left."""
        check_repository(self.place.repository)
        assert not list((self.place.repository / "objects").glob("tmp_objdir-*"))

    def post(self, body: bytes, **headers: str) -> httpx.Response:
        """Send the body of a push."""
        return httpx.post(
            f"{self.address}/git-receive-pack",
            content=body,
            headers={"Content-Type": PUSH_TYPE, **headers},
            auth=("any", self.token),
            timeout=120,
        )
