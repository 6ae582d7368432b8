"""Pushes by path to a repository with the hook of the service, by stock C git."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.settings import Settings
from gitstore.git.push_hook import HOOK, PushHook, apply_hook
from gitstore.git.repository import Author
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.e2e.git import Clone, check_repository, git, rules

SPACE = "acme"
ADA = Author("Ada", "ada@example.com")
BAD = rules("/a", "/a")
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}


@dataclass(frozen=True)
class Hooked:
    """A data directory with a namespace and its hook, and a clone by path."""

    data: Path
    clone: Clone

    @classmethod
    def of(cls, data: Path, *, review: str = "optional", **settings: Any) -> "Hooked":
        """Create the namespace `acme` with the project `shop`."""
        hook = Settings(data=data, **settings).push_hook
        create_store(data)
        store = Store(data, hook=hook)
        store.namespaces.create(SPACE, "", ADA)
        store.projects.create(SPACE, "shop", ProjectFile(review=review), ADA)
        return cls(data, Clone.of(store.directory.namespace(SPACE).repository, data.parent / "clone"))

    @property
    def repository(self) -> Path:
        """The bare repository."""
        return self.data / "repos" / f"{SPACE}.git"

    @property
    def hook(self) -> Path:
        """The file of the hook."""
        return self.repository / HOOK

    @property
    def release(self) -> str:
        """The commit of release."""
        return git(self.repository, "rev-parse", "release")

    def set_python(self, python: object) -> None:
        """Let the hook name another Python."""
        apply_hook(self.repository, PushHook(str(python), self.data))

    def commit(self, text: str, path: str = "shop/redirects.yaml") -> str:
        """Commit a file; return the commit."""
        self.clone.write(path, text)
        return self.clone.commit()

    def push(
        self, *words: str, env: Mapping[str, str] | None = None, user: int | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run `git push`."""
        as_user: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        return subprocess.run(
            ["git", "push", "origin", *(words or ("HEAD:release",))],
            cwd=self.clone.folder,
            env={**os.environ, **_ALONE, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            **as_user,
        )

    def accepted(self, *words: str, env: Mapping[str, str] | None = None, user: int | None = None) -> str:
        """Push, and fail unless it is accepted; return what git prints."""
        done = self.push(*words, env=env, user=user)
        assert done.returncode == 0, done.stderr
        self.check()
        return _plain(done.stderr)

    def refused(self, *words: str, env: Mapping[str, str] | None = None, user: int | None = None) -> str:
        """Push, and fail unless the hook refuses it and nothing of it is left; return what git prints."""
        before = git(self.repository, "for-each-ref"), self.objects()
        done = self.push(*words, env=env, user=user)
        assert done.returncode, done.stderr
        assert "pre-receive hook declined" in done.stderr
        assert (git(self.repository, "for-each-ref"), self.objects()) == before
        self.check()
        assert "Traceback" not in done.stderr
        return _plain(done.stderr)

    def objects(self) -> set[str]:
        """Return all files below the folder of objects."""
        return {str(path) for path in (self.repository / "objects").rglob("*") if path.is_file()}

    def check(self) -> None:
        """Fail unless the repository is valid, and nothing is left of a push."""
        check_repository(self.repository)
        assert not list((self.repository / "objects").glob("*incoming*"))
        assert not list((self.repository / "objects").glob(".waypost*"))


def _plain(text: str) -> str:
    """Return what git prints, without the blanks at the end of lines of the other side."""
    return "\n".join(line.rstrip() for line in text.splitlines())
