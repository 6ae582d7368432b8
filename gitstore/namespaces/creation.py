"""Creation of namespaces: the repository and the compiled files are built in a staging folder, then moved into place.

A crash leaves no partial namespace; the next creation removes its staging folder.
"""

import errno
import os
import re
import secrets
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from content.records.names import is_name
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import AlreadyExists, BadRequest, Broken
from gitstore.git.after_commit import sync_after_commit
from gitstore.git.atomic_io import sync_directory, translate_os_error
from gitstore.git.push_hook import PushHook, apply_hook
from gitstore.git.refs import close_lock_files
from gitstore.git.repository import Author
from gitstore.git.repository_creation import init_repository
from gitstore.git.transaction import Transaction
from gitstore.history.messages import dump_highest_numbers, dump_message
from gitstore.history.reached import note_release
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.namespaces.archive import (
    check_free_name,
    find_newest_archive,
    highest_archived_numbers,
    merge_numbers,
)
from gitstore.namespaces.description import write_description
from gitstore.namespaces.name_lock import hold_creation, hold_names
from gitstore.namespaces.records import NO_RECORDS, NamespaceRecords

README = "README.md"
_STAGING_PREFIX = ".new-"
_WIDTH = 72
_NAME = "/name"  # the field of the request that has it
# rename(2) onto a folder that is not empty fails with either of them, https://man7.org/linux/man-pages/man2/rename.2.html
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}
_README_TEXT = """\
# {name}

Redirects and pages of {name}. Each folder is a project: `project.yaml`, `redirects.yaml`, `pages.yaml`.
Agents serve what is published on the branch `release`.
"""


class NamespaceCreation(NamedTuple):
    """The name of a new namespace, its description, its author, the hook of its repository and the key that signs its commits.

    Both are None for none; the key is its file.
    """

    name: str
    description: str
    author: Author
    hook: PushHook | None = None
    signing_key: Path | None = None


class StagedNamespace(NamedTuple):
    """A namespace that is being built, and the publish numbers that earlier ones of its name reached, by project."""

    paths: NamespacePaths
    numbers: Mapping[str, int]


def check_new_name(directory: DataDirectory, name: str) -> None:
    """Raise BadRequest for an invalid name, AlreadyExists where it is taken, ignoring case."""
    if not is_name(name):
        raise BadRequest("A namespace's name is 1 to 50 letters, digits, hyphens and underscores.")
    check_free_name(directory, name, _NAME)


@contextmanager
def build_namespace(
    directory: DataDirectory, creation: NamespaceCreation, records: NamespaceRecords = NO_RECORDS
) -> Iterator[StagedNamespace]:
    """Build a namespace in a staging folder; the caller commits its release there, then it is moved into place.

    An exception of the caller leaves nothing. One process at a time creates namespaces; raises Busy after 30 seconds.
    """
    with hold_creation(directory):
        _remove_staged(directory.repositories)
        check_new_name(directory, creation.name)
        archived = highest_archived_numbers(directory, creation.name)
        numbers = merge_numbers(archived, records.highest_numbers(creation.name))
        staged = directory.repositories / f"{_STAGING_PREFIX}{secrets.token_hex(8)}"
        paths = NamespacePaths(creation.name, staged / f"{creation.name}.git", staged / "compiled")
        try:
            staged.mkdir()
            _init(paths.repository, creation)
            paths.write_marker()
            yield StagedNamespace(paths, numbers)
            _sync_tree(paths.repository)
            with hold_names(directory):
                check_free_name(directory, creation.name, _NAME)
                records.make_room(creation.name, find_newest_archive(directory, creation.name))
                _install(paths, directory.namespace(creation.name))
        except OSError as ex:
            close_lock_files(ex)
            raise translate_os_error(ex) from ex
        finally:
            with suppress(OSError):  # `rmtree` ignores no failure of close(2); the next creation removes what is left
                shutil.rmtree(staged, ignore_errors=True)


def write_first_commit(
    transaction: Transaction, creation: NamespaceCreation, numbers: Mapping[str, int], readme: bytes | None = None
) -> CommitId:
    """Commit a README, the caller's or the default one; the message carries the numbers of earlier namespaces."""
    text = _README_TEXT.format(name=creation.name).encode() if readme is None else readme
    tree = transaction.write_files(None, {README: transaction.write_blob(text)})
    if tree is None:
        raise Broken("The first tree of a namespace is empty.")
    message = f"Create the namespace {creation.name}\n\n{fill_paragraphs(creation.description)}"
    commit = transaction.write_commit(tree, (), creation.author, dump_message(message, dump_highest_numbers(numbers)))
    transaction.move(RELEASE_REF, None, commit)
    note_release(transaction, commit)  # from the first commit on, so that the record is complete
    return commit


def fill_paragraphs(text: str) -> str:
    """Return text for the body of a commit message: paragraphs of lines that fit a terminal with `git log`'s indent."""
    paragraphs = (textwrap.fill(part, _WIDTH, break_on_hyphens=False) for part in re.split(r"\n\s*\n", text.strip()))
    return "\n\n".join(paragraphs)


def _remove_staged(folder: Path) -> None:
    """Remove the staging folders of dead processes."""
    for left in folder.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


def _init(path: Path, creation: NamespaceCreation) -> None:
    init_repository(path)
    write_description(path, creation.description)
    apply_hook(path, creation.hook)


def _install(staged: NamespacePaths, paths: NamespacePaths) -> None:
    """Rename the repository, which is the commit point; the compiled files are a cache and follow if possible."""
    shutil.rmtree(paths.compiled, ignore_errors=True)  # of an earlier namespace, left by a crash; a cache
    try:
        staged.repository.rename(paths.repository)
    except OSError as ex:
        if ex.errno not in _TAKEN:
            raise
        raise AlreadyExists(f"The namespace {paths.name} already exists.", _NAME) from ex
    sync_after_commit(paths.repository.parent)
    with suppress(OSError):  # a service that saw the new namespace first has already compiled it
        staged.compiled.rename(paths.compiled)


def _sync_tree(repository: Path) -> None:
    """Sync the files and folders of a repository, except for its objects, which their log makes durable."""
    # dulwich 1.2 syncs a file but not its folder, https://github.com/jelmer/dulwich/blob/HEAD/dulwich/file.py
    for root, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name != "objects"]
        for name in names:
            with (Path(root) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_directory(Path(root))
