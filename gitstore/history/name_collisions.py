"""Projects whose names differ only in case. Only plain Git can create them; some file systems cannot hold both.

The project that existed first continues; the other is neither served nor published until it is the only one.
"""

from collections.abc import Iterable

from content.records.names import is_name
from content.records.problem import Problem
from gitstore.errors import Invalid
from gitstore.git.repository import Repository
from gitstore.layout import CommitId, TreeId


def find_name_holder(repository: Repository, commit: CommitId, name: str) -> str:
    """Return the older project in a release commit whose name differs from this one only in case.

    Empty if the project itself is older, or the only one. Of two from the same commit, the first by name counts as
    older.
    """
    left = _same_name_projects(repository, repository.commit(commit).tree, name)
    if len(left) < 2:  # noqa: PLR2004 - a collision has two
        return ""
    for info in repository.first_parents(commit):
        there = left & _same_name_projects(repository, info.tree, name)
        left = there or left
        if len(there) <= 1:
            break
    name_holder = min(left)
    return "" if name_holder == name else name_holder


def require_unique_name(repository: Repository, release: CommitId, name: str) -> None:
    """Raise Invalid if release has an older project whose name differs only in case."""
    present = _same_name_projects(repository, repository.commit(release).tree, name)
    name_holder = find_name_holder(repository, release, name) if name in present else min(present, default="")
    if name_holder:
        raise Invalid(
            f"The project {name} cannot be published.",
            [Problem("duplicate_project", collision_message(name_holder), file=name)],
        )


def collision_message(name_holder: str) -> str:
    """Describe the collision with an older project, and the fix."""
    return f"The project {name_holder} already exists; project names ignore case. Rename or remove one of the two."


def find_collisions(names: Iterable[str], changed: Iterable[str]) -> set[str]:
    """Return the other projects whose name differs from a changed one only in case."""
    folded, known = {name.lower() for name in changed}, set(changed)
    return {name for name in names if name.lower() in folded} - known


def _same_name_projects(repository: Repository, root: TreeId, name: str) -> set[str]:
    """Return the projects of a namespace's tree that have this name in any case."""
    entries = repository.entries(root)
    return {
        entry.name
        for entry in entries
        if entry.is_folder and entry.name.lower() == name.lower() and is_name(entry.name)
    }
