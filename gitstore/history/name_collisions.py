"""Projects whose names differ only in case. Only plain Git can create them; some file systems cannot hold both.

The project that existed first continues; the other is neither served nor published until it is the only one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from content.records.names import is_name
from content.records.problem import Problem
from gitstore.compiled.segments.file_problems import collision_message
from gitstore.errors import Invalid
from gitstore.git.repository import Repository, TreeEntry
from gitstore.layout import CommitId, TreeId

_FEW = 8  # names that are looked for one by one; for more, the folder is decoded once


def find_name_holders(repository: Repository, commit: CommitId, names: Collection[str]) -> dict[str, str]:
    """Return, for those of the names that have one, the older project in a release commit that differs only in case.

    Of two from the same commit, the first by name counts as older.
    """
    groups = _name_groups(repository, repository.commit(commit).tree, names) if names else []
    found = {}
    for group in groups:
        holder = _find_oldest(repository, commit, group)
        found.update(dict.fromkeys(group - {holder}, holder))
    return {name: found[name] for name in names if name in found}


def _name_groups(repository: Repository, root: TreeId, names: Collection[str]) -> list[set[str]]:
    """Return the projects of a tree with the same name in any case, if they are several; those of `names` at least."""
    if len(names) <= _FEW:
        found = [_same_name_projects(repository, root, name) for name in {name.lower() for name in names}]
    else:
        by_name = defaultdict[str, set[str]](set)
        for name in _projects(repository.entries(root)):
            by_name[name.lower()].add(name)
        found = list(by_name.values())
    return [group for group in found if len(group) > 1]


def _find_oldest(repository: Repository, commit: CommitId, group: set[str]) -> str:
    left, name = group, min(group)
    for info in repository.first_parents(commit):
        there = left & _same_name_projects(repository, info.tree, name)
        left = there or left
        if len(there) <= 1:
            break
    return min(left)


def require_unique_name(repository: Repository, release: CommitId, name: str) -> None:
    """Raise Invalid if release has an older project whose name differs only in case."""
    present = _same_name_projects(repository, repository.commit(release).tree, name)
    holders = find_name_holders(repository, release, [name]) if name in present else {name: min(present, default="")}
    name_holder = holders.get(name)
    if name_holder:
        raise Invalid(
            f"The project {name} cannot be published.",
            [Problem("duplicate_project", collision_message(name_holder), file=name)],
        )


def find_collisions(repository: Repository, commit: CommitId, changed: Collection[str]) -> set[str]:
    """Return the other projects in a release commit whose name differs from a changed one only in case."""
    root = repository.commit(commit).tree
    if len(changed) <= _FEW:
        return {other for name in changed for other in _same_name_projects(repository, root, name)} - set(changed)
    folded = {name.lower() for name in changed}
    return {name for name in _projects(repository.entries(root)) if name.lower() in folded} - set(changed)


def _same_name_projects(repository: Repository, root: TreeId, name: str) -> set[str]:
    """Return the projects of a namespace's tree that have this name in any case."""
    return set(_projects(repository.named_entries(root, name, ignores_case=True)))


def _projects(entries: Iterable[TreeEntry]) -> list[str]:
    return [entry.name for entry in entries if entry.is_folder and is_name(entry.name)]
