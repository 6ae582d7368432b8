"""The files that differ from a revision, as `git` reports them: in a working tree, or between two commits of a bare repository."""

from dataclasses import dataclass

from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.git import Git, fault_text

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


def find_changed_files(git: Git, revision: str, branch: str = "") -> ChangedFiles:
    """Return the files below a folder that differ from a revision: in the working tree, or on `branch`, which may be any revision.

    A branch is compared with the commit where it parts from the revision, as a pull request is. Raises InvalidUsage for
    an unknown revision.
    """
    wanted = _require_commit(git, revision)
    ours = _require_commit(git, branch) if branch else _commit(git, "HEAD")
    parted = run_git(git, "merge-base", wanted, ours).strip() if ours else ""
    if ours and not parted:
        _require_history(git, revision)
    base = parted or wanted
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative", base)
    texts = [run_git(git, "diff", *options, *([ours] if branch else []), "--")]
    if not branch:
        texts.append(run_git(git, "ls-files", "-z", "--others", "--exclude-standard"))
    paths = frozenset(name for text in texts for name in text.split("\0") if name)
    return ChangedFiles(revision, base, parted not in {"", wanted}, paths)


def _require_history(git: Git, revision: str) -> None:
    """Raise CommandFailed for a shallow clone: without the commit where both part, changes of the revision look like removals here."""
    if run_git(git, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise CommandFailed(
            f"{git.folder} is a shallow clone, which lacks the commit where {revision!r} and the checkout part. "
            "Fetch the history: git fetch --unshallow"
        )


def _require_commit(git: Git, revision: str) -> str:
    found = _commit(git, revision)
    if not found:
        if not run_git(git, "rev-list", "--all", "--max-count=1"):
            raise InvalidUsage(
                f"The repository of {git.folder} has no commits, so there is nothing to compare with. Commit first."
            )
        raise InvalidUsage(
            f"{git.folder} has no revision {revision!r}. "
            "Name a commit, branch or tag; in CI, fetch it first, with the history."
        )
    return found


def _commit(git: Git, revision: str) -> str:
    """Return the commit of a revision; empty for an unknown one."""
    found = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return "" if found.returncode else _text(found.stdout).strip()


def run_git(git: Git, *words: str) -> str:
    """Run a command of git and return its output; raises CommandFailed with its reason."""
    found = git.run(*words)
    if found.returncode >= _NOT_FOUND:
        raise CommandFailed(f"git {words[0]} failed: {fault_text(found)}")
    return _text(found.stdout)


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")
