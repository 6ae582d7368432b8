"""Creation of namespaces: the repository and the compiled files are built in a staging folder, then moved into place.

A crash leaves no partial namespace; the next creation removes its staging folder.
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

from content.records.names import is_name
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import AlreadyExists, BadRequest, Broken, Busy
from gitstore.file_lock import hold_lock_file
from gitstore.git.atomic_io import replace_file, sync_directory, translate_os_error
from gitstore.git.refs import close_lock_files
from gitstore.git.repository import Author
from gitstore.git.repository_creation import init_repository
from gitstore.git.transaction import Transaction
from gitstore.history.messages import dump_message
from gitstore.layout import RELEASE_REF, CommitId

README = "README.md"
DESCRIPTION_FILE = "description"
_STAGING_PREFIX = ".new-"
_LOCK = ".new.lock"
_WAIT_SECONDS = 30.0
_WIDTH = 72
# rename(2) onto a folder that is not empty fails with either of them, https://man7.org/linux/man-pages/man2/rename.2.html
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}
_README_TEXT = """\
# {name}

Redirects and pages of {name}. Each folder is a project: `project.yaml`, `redirects.yaml`, `pages.yaml`.
Agents serve what is published on the branch `release`.
"""


class NamespaceCreation(NamedTuple):
    """The name of a new namespace, its description, and its author."""

    name: str
    description: str
    author: Author


def check_new_name(directory: DataDirectory, name: str) -> None:
    """Raise BadRequest for an invalid name, AlreadyExists where it is taken, ignoring case."""
    if not is_name(name):
        raise BadRequest("A namespace's name is 1 to 50 letters, digits, hyphens and underscores.")
    taken = next((other for other in directory.namespaces() if other.lower() == name.lower()), None)
    if taken:
        raise AlreadyExists(f"The namespace {taken} already exists (names ignore case).")


@contextmanager
def build_namespace(directory: DataDirectory, creation: NamespaceCreation) -> Iterator[NamespacePaths]:
    """Build a namespace in a staging folder; the caller commits its release there, then it is moved into place.

    An exception of the caller leaves nothing. One process at a time creates namespaces; raises Busy after 30 seconds.
    """
    with _hold_creation_lock(directory.repositories):
        check_new_name(directory, creation.name)
        staged = directory.repositories / f"{_STAGING_PREFIX}{secrets.token_hex(8)}"
        paths = NamespacePaths(creation.name, staged / f"{creation.name}.git", staged / "compiled")
        try:
            staged.mkdir()
            _init(paths.repository, creation.description)
            paths.write_marker()
            yield paths
            _install(paths, directory.namespace(creation.name))
        except OSError as ex:
            close_lock_files(ex)
            raise translate_os_error(ex) from ex
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def write_first_commit(transaction: Transaction, creation: NamespaceCreation, readme: bytes | None = None) -> CommitId:
    """Commit a README, the caller's or the default one."""
    text = _README_TEXT.format(name=creation.name).encode() if readme is None else readme
    tree = transaction.write_files(None, {README: transaction.write_blob(text)})
    if tree is None:
        raise Broken("The first tree of a namespace is empty.")
    message = f"Create the namespace {creation.name}\n\n{fill_paragraphs(creation.description)}"
    commit = transaction.write_commit(tree, (), creation.author, dump_message(message, {}))
    transaction.move(RELEASE_REF, None, commit)
    return commit


def write_description(repository: Path, description: str) -> None:
    """Write the description of a namespace."""
    # the file in which Git's tools look for it, https://git-scm.com/docs/gitrepository-layout#_description
    replace_file(repository / DESCRIPTION_FILE, f"{description.strip()}\n".encode())


def fill_paragraphs(text: str) -> str:
    """Return text for the body of a commit message: paragraphs of lines that fit a terminal with `git log`'s indent."""
    paragraphs = (textwrap.fill(part, _WIDTH, break_on_hyphens=False) for part in re.split(r"\n\s*\n", text.strip()))
    return "\n\n".join(paragraphs)


@contextmanager
def _hold_creation_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of namespace creation, and remove staging folders of dead processes."""
    with hold_lock_file(folder / _LOCK, _WAIT_SECONDS) as is_held:
        if not is_held:
            raise Busy("Another namespace is being created. Try again in a moment.")
        for left in folder.glob(f"{_STAGING_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _init(path: Path, description: str) -> None:
    init_repository(path)
    write_description(path, description)


def _install(staged: NamespacePaths, paths: NamespacePaths) -> None:
    """Rename the repository, which is the commit point; the compiled files are a cache and follow if possible."""
    _sync_tree(staged.repository)
    try:
        staged.repository.rename(paths.repository)
    except OSError as ex:
        if ex.errno not in _TAKEN:
            raise
        raise AlreadyExists(f"The namespace {paths.name} already exists.") from ex
    sync_directory(paths.repository.parent)
    with suppress(OSError):  # a service that saw the new namespace first has already compiled it
        staged.compiled.rename(paths.compiled)


def _sync_tree(repository: Path) -> None:
    """Sync the files and folders of a repository, except for its objects, which are already synced."""
    # dulwich 1.2 syncs a file but not its folder, https://github.com/jelmer/dulwich/blob/HEAD/dulwich/file.py
    for root, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name != "objects"]
        for name in names:
            with (Path(root) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_directory(Path(root))
