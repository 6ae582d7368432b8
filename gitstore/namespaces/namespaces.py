"""Namespaces: creating, listing and archiving their bare repositories."""

import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitstore.directory import DataDirectory, NamespacePaths, make_folder
from gitstore.git.atomic_io import sync_directory
from gitstore.git.lock import hold
from gitstore.git.repository import Author, Repository, open_repository
from gitstore.git.transaction import update
from gitstore.namespaces.creation import (
    DESCRIPTION_FILE,
    NamespaceCreation,
    build_namespace,
    write_description,
    write_first_commit,
)


class Namespace(NamedTuple):
    """A namespace; `created_at` is seconds since 1970."""

    name: str
    description: str
    created_at: int


def create_namespace(directory: DataDirectory, name: str, description: str, author: Author) -> Namespace:
    """Create a namespace with an empty release; raises AlreadyExists where the name, ignoring case, is taken."""
    creation = NamespaceCreation(name, description, author)
    with build_namespace(directory, creation) as staged, update(staged.repository) as opened:
        write_first_commit(opened, creation)
    return read_namespace(directory.namespace(name))


def read_namespace(paths: NamespacePaths) -> Namespace:
    """Return a namespace's own fields; raises Broken where its repository cannot be read."""
    with open_repository(paths.repository) as repository:
        created = _created_at(paths.repository)
        return Namespace(paths.name, _read_description(repository), created)


def describe_namespace(paths: NamespacePaths, description: str) -> None:
    """Change the description."""
    with hold(paths.repository):
        write_description(paths.repository, description)


def delete_namespace(directory: DataDirectory, paths: NamespacePaths) -> Path:
    """Archive a namespace, whole; returns its new folder. Nothing is erased.

    The marker is removed first: a marker alone on disk means a namespace whose repository was lost.
    """
    with hold(paths.repository):
        trash = directory.trash / f"{paths.name}-{_now()}-{secrets.token_hex(4)}"
        make_folder(trash, levels=2)
        paths.marker.unlink(missing_ok=True)
        paths.repository.rename(trash / paths.repository.name)
        sync_directory(directory.repositories)
        with suppress(FileNotFoundError):
            paths.compiled.rename(trash / "compiled")
    return trash


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def _created_at(repository: Path) -> int:
    return int((repository / "config").stat().st_mtime)


def _read_description(repository: Repository) -> str:
    try:
        return (repository.path / DESCRIPTION_FILE).read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
