"""Namespaces: creating, reading and describing their bare repositories."""

from pathlib import Path
from typing import NamedTuple

from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.git.lock import hold
from gitstore.git.repository import open_repository
from gitstore.git.transaction import update
from gitstore.namespaces.creation import NamespaceCreation, build_namespace, write_first_commit
from gitstore.namespaces.description import read_description, write_description
from gitstore.namespaces.records import NO_RECORDS, NamespaceRecords


class Namespace(NamedTuple):
    """A namespace; `created_at` is seconds since 1970."""

    name: str
    description: str
    created_at: int


def create_namespace(
    directory: DataDirectory, creation: NamespaceCreation, records: NamespaceRecords = NO_RECORDS
) -> Namespace:
    """Create a namespace with an empty release; raises AlreadyExists where the name, ignoring case, is taken."""
    with build_namespace(directory, creation, records) as staged:
        with update(staged.paths.repository, signing_key=creation.signing_key) as opened:
            write_first_commit(opened, creation, staged.numbers)
        return read_namespace(
            staged.paths
        )  # before the commit point at the end of the block, after which no read may fail


def read_namespace(paths: NamespacePaths) -> Namespace:
    """Return a namespace's own fields; raises Broken where its repository cannot be read."""
    with open_repository(paths.repository):
        created = _created_at(paths.repository)
        return Namespace(paths.name, read_description(paths.repository), created)


def describe_namespace(paths: NamespacePaths, description: str) -> Namespace:
    """Change the description; return the namespace as it is then."""
    with hold(paths.repository):
        before = read_namespace(paths)
        write_description(paths.repository, description)
        return before._replace(description=description.strip())


def _created_at(repository: Path) -> int:
    return int((repository / "config").stat().st_mtime)
