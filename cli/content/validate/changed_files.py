"""The files that differ from a revision, as `git` reports them: in a working tree, or between two commits of a bare repository."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.git_environment import git_environment

_SHORT = 7
_NOT_FOUND = 128  # the exit code of `git` for anything that it cannot do


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The paths below a folder that differ from a commit. That is where the branches part, if `is_merge_base`."""

    revision: str
    commit: str
    is_merge_base: bool
    paths: frozenset[str]

    @property
    def base(self) -> str:
        """The revision with the commit that was compared, for people."""
        where = "where the branches part, " if self.is_merge_base else ""
        return f"{self.revision} ({where}{self.commit[:_SHORT]})"

    @property
    def top_names(self) -> frozenset[str]:
        """The names of the files and folders at the top that have changes."""
        return frozenset(path.partition("/")[0] for path in self.paths)


def find_changed_files(path: Path, revision: str, branch: str = "") -> ChangedFiles:
    """Return the files below `path` that differ from a revision: in the working tree, or on `branch`, which may be any revision.

    A branch is compared with the commit where it parts from the revision, as a pull request is. Raises InvalidUsage for
    an unknown revision, or for a folder outside a repository.
    """
    _require_repository(path)
    wanted = _require_commit(path, revision)
    ours = _require_commit(path, branch) if branch else _commit(path, "HEAD")
    parted = run_git(path, "merge-base", wanted, ours).strip() if ours else ""
    base = parted or wanted
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative", base)
    texts = [run_git(path, "diff", *options, *([ours] if branch else []), "--")]
    if not branch:
        texts.append(run_git(path, "ls-files", "-z", "--others", "--exclude-standard"))
    paths = frozenset(name for text in texts for name in text.split("\0") if name)
    return ChangedFiles(revision, base, parted not in {"", wanted}, paths)


def _require_repository(path: Path) -> None:
    try:
        found = _run(path, ("rev-parse", "--git-dir"))
    except FileNotFoundError as ex:
        raise CommandFailed("The command git is missing. Install git.") from ex
    if found.returncode:
        raise InvalidUsage(f"{path} is not in a Git repository, or cannot be read as one: {_reason(found)}")


def _require_commit(path: Path, revision: str) -> str:
    found = _commit(path, revision)
    if not found:
        if not run_git(path, "rev-list", "--all", "--max-count=1"):
            raise InvalidUsage(
                f"The repository of {path} has no commits, so there is nothing to compare with. Commit first."
            )
        raise InvalidUsage(
            f"{path} has no revision {revision!r}. Name a commit, branch or tag; in CI, fetch it first, with the history."
        )
    return found


def _commit(path: Path, revision: str) -> str:
    """Return the commit of a revision; empty for an unknown one."""
    found = _run(path, ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
    return "" if found.returncode else _text(found.stdout).strip()


def run_git(path: Path, *words: str) -> str:
    """Run git in a folder and return its output; raises CommandFailed with its reason."""
    found = _run(path, words)
    if found.returncode >= _NOT_FOUND:
        raise CommandFailed(f"git {words[0]} failed: {_reason(found)}")
    return _text(found.stdout)


def _run(path: Path, words: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(  # noqa: S603 - the words are ours, and a revision cannot be an option
        ["git", "-C", str(path), *words],  # noqa: S607 - the user's own git, from the PATH
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env=git_environment(),
    )


def _reason(found: "subprocess.CompletedProcess[bytes]") -> str:
    lines = _text(found.stderr).splitlines()
    return lines[0] if lines else f"exit code {found.returncode}"


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")
