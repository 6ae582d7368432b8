"""Namespaces: making, listing and setting aside their bare repositories."""

import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.durable import sync_directory
from gitstore.founding import DESCRIPTION_FILE, Founding, begin_release, build_namespace, write_description
from gitstore.lock import hold
from gitstore.repository import Author, Repository, view
from gitstore.update import update


class Namespace(NamedTuple):
    """A namespace; `created_at` is seconds since 1970."""

    name: str
    description: str
    created_at: int


def create_namespace(directory: DataDirectory, name: str, description: str, author: Author) -> Namespace:
    """Make a namespace with an empty release; AlreadyExists where the name, without regard to case, is taken."""
    founding = Founding(name, description, author)
    with build_namespace(directory, founding) as aside, update(aside.repository) as opened:
        begin_release(opened, founding)
    return read_namespace(directory.namespace(name))


def read_namespace(paths: NamespacePaths) -> Namespace:
    """A namespace's own fields; Broken where its repository cannot be read."""
    with view(paths.repository) as repository:
        created = _created_at(paths.repository)
        return Namespace(paths.name, _read_description(repository), created)


def describe_namespace(paths: NamespacePaths, description: str) -> None:
    """Change the description."""
    with hold(paths.repository):
        write_description(paths.repository, description)


def delete_namespace(directory: DataDirectory, paths: NamespacePaths) -> Path:
    """Move a namespace aside, whole; gives the folder that it is in now. Nothing is erased.

    The witness goes first: alone on disk it would tell of a namespace whose repository was lost.
    """
    with hold(paths.repository):
        trash = directory.trash / f"{paths.name}-{_now()}-{secrets.token_hex(4)}"
        trash.mkdir(parents=True)
        paths.witness.unlink(missing_ok=True)
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
