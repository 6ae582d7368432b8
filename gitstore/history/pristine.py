"""Pristine namespaces, which have published nothing: only they can take another history as their own."""

from content.records.names import is_name
from gitstore.git.repository import Repository
from gitstore.history.messages import load_highest_numbers
from gitstore.layout import CommitId


def is_pristine(repository: Repository, release: CommitId) -> bool:
    """Tell whether a commit is the first of a namespace without projects, whose name was not used before."""
    first = repository.commit(release)
    if first.parents or load_highest_numbers(first.message):
        return False
    return not any(entry.is_folder and is_name(entry.name) for entry in repository.entries(first.tree))
