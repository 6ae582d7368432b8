"""Projects whose names differ in case alone. Only plain Git can make them, and some file systems cannot hold them both.

The one that was there first goes on; the other is neither served nor published until it is the only one.
"""

from collections.abc import Iterable

from content.names import is_name
from content.problem import Problem
from gitstore.errors import Invalid
from gitstore.layout import CommitId, TreeId
from gitstore.repository import Repository


def elder_of(repository: Repository, commit: CommitId, name: str) -> str:
    """The project that stands in a release commit beside another of its name but for case, and came first.

    Empty where the project itself did, or stands alone. Of two that came with one commit it is the first by name.
    """
    left = _alike(repository, repository.commit(commit).tree, name)
    if len(left) < 2:  # noqa: PLR2004 - a twin has another one
        return ""
    for info in repository.first_parents(commit):
        there = left & _alike(repository, info.tree, name)
        left = there or left
        if len(there) <= 1:
            break
    elder = min(left)
    return "" if elder == name else elder


def must_be_alone(repository: Repository, release: CommitId, name: str) -> None:
    """Raise Invalid where release has a project of the same name but for case, which was there before."""
    present = _alike(repository, repository.commit(release).tree, name)
    elder = elder_of(repository, release, name) if name in present else min(present, default="")
    if elder:
        raise Invalid(
            f"The project {name} cannot be published.", [Problem("duplicate_project", told(elder), file=name)]
        )


def told(elder: str) -> str:
    """What is wrong with a project that has an elder twin, and what to do."""
    return (
        f"There is a project {elder} already; names are unique without regard to case. Rename or remove one of the two."
    )


def alike(names: Iterable[str], changed: Iterable[str]) -> set[str]:
    """The other projects that have the name of a changed one but for case."""
    folded, known = {name.lower() for name in changed}, set(changed)
    return {name for name in names if name.lower() in folded} - known


def _alike(repository: Repository, root: TreeId, name: str) -> set[str]:
    """The projects of a namespace's tree that have this name but for case."""
    entries = repository.entries(root)
    return {
        entry.name
        for entry in entries
        if entry.is_folder and entry.name.lower() == name.lower() and is_name(entry.name)
    }
