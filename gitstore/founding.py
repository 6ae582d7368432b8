"""Making a namespace: its repository and compiled files are built aside, and put in place whole.

A crash leaves no namespace rather than half of one; what it leaves aside is swept by whoever makes the next.
"""

import errno
import os
import re
import secrets
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from dulwich.repo import Repo

from content.names import is_name
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.durable import replace_file, sync_directory, translated
from gitstore.errors import AlreadyExists, BadRequest, Broken, Busy
from gitstore.half_written import let_go
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.lock import acquire
from gitstore.messages import dump_message
from gitstore.repository import Author
from gitstore.update import Update

README = "README.md"
DESCRIPTION_FILE = "description"
_ASIDE = ".new-"
_LOCK = ".new.lock"
_WAIT_SECONDS = 30.0
_WIDTH = 72
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}
_README_TEXT = """\
# {name}

Redirects and pages of {name}. Each folder is a project: `project.yaml`, `redirects.yaml`, `pages.yaml`.
What is on the branch `release` is what agents serve.
"""
_CONFIG = """\
[gc]
	auto = 0
[receive]
	autogc = false
	denyNonFastForwards = true
"""
"""No maintenance by a git that happens by, which must not prune beside readers; no rewriting of history."""


class Founding(NamedTuple):
    """What a namespace begins with: its name, a sentence for people, and who makes it."""

    name: str
    description: str
    author: Author


def check_new_name(directory: DataDirectory, name: str) -> None:
    """Raise BadRequest for what is no name, AlreadyExists where it is taken, without regard to case."""
    if not is_name(name):
        raise BadRequest("A namespace's name is 1 to 50 letters, digits, hyphens and underscores.")
    taken = next((other for other in directory.namespaces() if other.lower() == name.lower()), None)
    if taken:
        raise AlreadyExists(f"There is already a namespace {taken} (names are unique without regard to case).")


@contextmanager
def build_namespace(directory: DataDirectory, founding: Founding) -> Iterator[NamespacePaths]:
    """Build a namespace aside; the caller gives it a release at these paths, and then it is put in place.

    Where the caller raises, nothing is left. One process at a time makes namespaces; Busy after half a minute.
    """
    with _once_at_a_time(directory.repositories):
        check_new_name(directory, founding.name)
        aside = directory.repositories / f"{_ASIDE}{secrets.token_hex(8)}"
        paths = NamespacePaths(founding.name, aside / f"{founding.name}.git", aside / "compiled")
        try:
            _init(paths.repository, founding.description)
            paths.bear_witness()
            yield paths
            _put_in_place(paths, directory.namespace(founding.name))
        except OSError as ex:
            let_go(ex)
            raise translated(ex) from ex
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def begin_release(update: Update, founding: Founding, readme: bytes | None = None) -> CommitId:
    """The first commit: a README, the caller's or ours."""
    text = _README_TEXT.format(name=founding.name).encode() if readme is None else readme
    tree = update.write_files(None, {README: update.write_blob(text)})
    if tree is None:
        raise Broken("The first tree of a namespace is empty.")
    message = f"Begin the namespace {founding.name}\n\n{fill_paragraphs(founding.description)}"
    commit = update.write_commit(tree, (), founding.author, dump_message(message, {}))
    update.move(RELEASE_REF, None, commit)
    return commit


def write_description(repository: Path, description: str) -> None:
    """Put down what a namespace is for, where Git and its tools look for it."""
    replace_file(repository / DESCRIPTION_FILE, f"{description.strip()}\n".encode())


def fill_paragraphs(text: str) -> str:
    """Text for the body of a commit message: paragraphs of lines that fit a terminal, as `git log` indents them."""
    paragraphs = (textwrap.fill(part, _WIDTH, break_on_hyphens=False) for part in re.split(r"\n\s*\n", text.strip()))
    return "\n\n".join(paragraphs)


@contextmanager
def _once_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the lock of all who make namespaces; what a dead one left aside is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not acquire(handle, _WAIT_SECONDS):
            raise Busy("Another namespace is still being made. Try again in a moment.")
        for left in folder.glob(f"{_ASIDE}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(handle)


def _init(path: Path, description: str) -> None:
    path.mkdir(parents=True)
    Repo.init_bare(str(path), default_branch=RELEASE_REF.removeprefix("refs/heads/").encode()).close()
    config = path / "config"
    config.write_text(config.read_text() + _CONFIG)
    write_description(path, description)


def _put_in_place(aside: NamespacePaths, paths: NamespacePaths) -> None:
    """Rename the repository, which is the commit point; the compiled files are a cache and follow if they can."""
    _sync_tree(aside.repository)
    try:
        aside.repository.rename(paths.repository)
    except OSError as ex:
        if ex.errno not in _TAKEN:
            raise
        raise AlreadyExists(f"There is already a namespace {paths.name}.") from ex
    sync_directory(paths.repository.parent)
    with suppress(OSError):  # a service that saw the new namespace first has compiled it already
        paths.compiled.parent.mkdir(exist_ok=True)
        aside.compiled.rename(paths.compiled)


def _sync_tree(repository: Path) -> None:
    """Make files and folders of a repository durable that Git's own writer has only written; objects are already."""
    for root, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name != "objects"]
        for name in names:
            with (Path(root) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_directory(Path(root))
