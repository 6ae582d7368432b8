"""C git as an independent client of the repositories on disk: clone, commit, push and check."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PERSON = {"NAME": "Grace Hopper", "EMAIL": "grace@example.com"}
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}


def git(folder: Path, *words: str) -> str:
    """Return git's output without its last line break; fail with git's error output."""
    people = {f"GIT_{role}_{name}": text for role in ("AUTHOR", "COMMITTER") for name, text in _PERSON.items()}
    run = subprocess.run(
        ("git", *words), cwd=folder, env={**os.environ, **_ALONE, **people}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, f"git {' '.join(words)}: {run.stderr}"
    return run.stdout.strip()


def check_repository(repository: Path) -> None:
    """Fail unless git finds every object present and valid."""
    git(repository, "fsck", "--strict", "--full")


@dataclass(frozen=True)
class Clone:
    """A working copy of a branch of a bare repository."""

    folder: Path

    @classmethod
    def of(cls, repository: Path, folder: Path, branch: str = "release") -> "Clone":
        """Clone a repository by its path."""
        git(folder.parent, "clone", "-q", "-b", branch, str(repository), str(folder))
        return cls(folder)

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def commit(self, message: str = "Change by hand") -> str:
        """Commit everything; return the new commit's id."""
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", message)
        return git(self.folder, "rev-parse", "HEAD")

    def push(self, target: str = "release") -> None:
        """Push to a branch of the bare repository."""
        git(self.folder, "push", "-q", "origin", f"HEAD:refs/heads/{target}")

    def publish(self, path: str, text: str) -> str:
        """Write a file, commit and push it; return the commit's id."""
        self.write(path, text)
        commit = self.commit()
        self.push()
        return commit


def rules(*sources: str) -> str:
    """Return a file of redirects in the style of a person."""
    entry = "  - type: BASIC\n    source: {}\n    target: /new\n    status: 301\n"
    return "redirects:\n" + "".join(entry.format(source) for source in sources)


def remove_hooks(repository: Path) -> None:
    """Remove the hook of the service, so that a push by path lands as it is; the next start of the service writes it again."""
    (repository / "hooks/pre-receive").unlink()
