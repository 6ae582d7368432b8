"""`git` as a child, in a folder whose files are only data: whatever they are, `git` finds the checkout's own repository.

A checkout may have files that together look like a bare repository, with a configuration that names commands. `git` takes
such a folder for the repository where it begins to look there, and obeys it. So it begins at the nearest folder with `.git`,
which no commit can have, and each later call names what it found. `git` itself checks there who owns the repository.
"""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.console.exits import CommandFailed, InvalidUsage

_TIMEOUT = 600.0
# Those of `git rev-parse --local-env-vars` that name a repository or its parts. Git sets them for its hooks, and obeys them
# before `-C`; options of the user (`GIT_CONFIG_…`, such as safe.directory in CI) stay.
_OF_A_REPOSITORY = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
_NO_COMMANDS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_NO_FOUND_BARE = ("-c", "safe.bareRepository=explicit")


def find_checkout(path: Path) -> Path | None:
    """Return the nearest folder with `.git`, from a folder upwards; None outside a checkout."""
    return next((each for each in _upwards(path.resolve()) if os.path.lexists(each / ".git")), None)


def is_bare(path: Path) -> bool:
    """Tell whether a folder is a bare repository, or the one of a checkout; files in a checkout never are."""
    if not looks_bare(path):
        return False
    places = {*_upwards(path.parent.resolve()), *_upwards(path.resolve())}
    return path.resolve().name == ".git" or not any(os.path.lexists(each / ".git") for each in places)


def looks_bare(path: Path) -> bool:
    """Tell whether a folder has the files of a bare repository."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


@dataclass(frozen=True, slots=True)
class Git:
    """The `git` of one folder in a repository; `is_offline` fetches no objects that a partial clone lacks."""

    folder: Path
    options: tuple[str, ...]
    is_offline: bool

    def run(self, *words: str, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run a command with `data` as its input. Raises OSError without `git`, and TimeoutExpired after 600 seconds."""
        return subprocess.run(  # noqa: S603 - the words are ours, and a revision cannot be an option
            self._command(words),
            input=data,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT,
            env=_environment(offline=self.is_offline),
        )

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command with pipes as its input and output. Raises OSError without `git`."""
        return subprocess.Popen(  # noqa: S603 - as above
            self._command(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(offline=self.is_offline),
        )

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return ["git", "-C", str(self.folder), *_NO_COMMANDS, *self.options, *words]


def open_git(path: Path, *, offline: bool = False) -> Git:
    """Return the `git` of a folder. Raises InvalidUsage outside a repository, CommandFailed without `git`."""
    bare, root = is_bare(path), find_checkout(path)
    if not bare and root is None:
        raise InvalidUsage(f"{path} is not in a Git repository. Name a folder of a checkout, or a bare repository.")
    begin = path if bare or root is None else root
    finder = Git(begin, () if bare else _NO_FOUND_BARE, offline)
    try:
        found = finder.run("rev-parse", "--absolute-git-dir", *([] if bare else ["--show-toplevel"]))
    except FileNotFoundError as ex:
        raise CommandFailed("The command git is missing. Install git.") from ex
    if found.returncode:
        raise InvalidUsage(f"{path} is not in a Git repository, or cannot be read as one: {fault_text(found)}")
    folder, *top = os.fsdecode(found.stdout).rstrip("\n").split("\n")
    options = (*_NO_FOUND_BARE, f"--git-dir={folder}", *(f"--work-tree={each}" for each in top))
    return Git(path, options, offline)


def fault_text(found: "subprocess.CompletedProcess[bytes]") -> str:
    """Return the reason that `git` gave."""
    lines = found.stderr.decode(errors="surrogateescape").splitlines()
    return lines[0] if lines else f"exit code {found.returncode}"


def _environment(*, offline: bool) -> dict[str, str]:
    """Return an environment in which `git` writes nothing, and finds the repository of the folder that it runs in."""
    own = {"GIT_OPTIONAL_LOCKS": "0", **({"GIT_NO_LAZY_FETCH": "1"} if offline else {})}
    return {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY} | own


def _upwards(path: Path) -> Iterator[Path]:
    yield path
    yield from path.parents
