"""The changes of a branch, project by project, and the grants that a pusher needs for them."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from content.records.names import is_name
from gitstore.git.repository import Repository
from gitstore.layout import CommitId, FileRole, TreeId, role_of
from gitstore.pushes.push import Pusher

BESIDE = ""
"""The place of the files beside the projects, in place of the name of a project."""


class Grants(NamedTuple):
    """Grants that a change needs in one project: one of them is enough."""

    words: tuple[str, ...]
    is_held: Callable[[Pusher, str], bool]


REDIRECTS = Grants(("redirect:write",), lambda pusher, project: pusher.redirects.covers(project))
PAGES = Grants(("page:write",), lambda pusher, project: pusher.pages.covers(project))
SETTINGS = Grants(("project:write",), lambda pusher, project: pusher.settings.covers(project))
ANY_WRITE = Grants(
    ("redirect:write", "page:write", "project:write"),
    lambda pusher, project: any(each.is_held(pusher, project) for each in (REDIRECTS, PAGES, SETTINGS)),
)
PUBLISH = Grants(("project:publish",), lambda pusher, project: pusher.publish.covers(project))
OVERRIDE = Grants(("project:override",), lambda pusher, project: pusher.override.covers(project))
_EVERYWHERE = Grants(("project:write",), lambda pusher, _: pusher.settings.everywhere)
_OF_ROLE = {
    FileRole.REDIRECTS: REDIRECTS,
    FileRole.PAGES: PAGES,
    FileRole.CONTENT: PAGES,
    FileRole.PROJECT: SETTINGS,
    FileRole.TESTS: ANY_WRITE,
}
_FOLDERS = {"redirects": REDIRECTS, "pages": PAGES}

# The grants for a change, by project; `BESIDE` for the files beside the projects.
Needs = dict[str, set[Grants]]


class ProjectChange(NamedTuple):
    """The folder of a project in two states; None where it does not exist."""

    project: str
    before: TreeId | None
    after: TreeId | None


def root_of(repository: Repository, commit: CommitId | None) -> TreeId | None:
    """Return the folder of a commit; None without a commit."""
    return repository.commit(commit).tree if commit else None


def changed_projects(repository: Repository, old: TreeId | None, new: TreeId) -> list[ProjectChange]:
    """Return the projects that differ between two namespaces' folders, by name."""
    return sorted(change for change in _changes(repository, old, new) if change.project)


def find_needs(repository: Repository, old: TreeId | None, new: TreeId) -> Needs:
    """Return the write grants that the step from one folder of the namespace to another needs."""
    needs = Needs()
    for change in _changes(repository, old, new):
        found = {_EVERYWHERE} if change.project == BESIDE else set(_grants_of(repository, change))
        needs.setdefault(change.project, set()).update(found)
    return needs


def branch_needs(
    repository: Repository, before: tuple[CommitId | None, CommitId | None], after: tuple[CommitId, CommitId]
) -> Needs:
    """Return the grants for a push to a branch, each state as the branch's base on release and its tip.

    What only came from release, by a merge or a rebase, needs none.
    """
    (old_base, old), (base, new) = before, after
    touched = find_needs(repository, root_of(repository, base), repository.commit(new).tree)
    if old is None:
        return touched
    own = find_needs(repository, root_of(repository, old_base), repository.commit(old).tree)
    moved = find_needs(repository, repository.commit(old).tree, repository.commit(new).tree)
    kept = {place: grants & (touched.get(place, set()) | own.get(place, set())) for place, grants in moved.items()}
    return {place: grants for place, grants in kept.items() if grants}


def find_missing(pusher: Pusher, needs: Needs) -> list[str]:
    """Return the grants that the pusher lacks, as words such as `redirect:write on shop`."""
    return sorted(
        {_describe(place, each) for place in needs for each in needs[place] if not each.is_held(pusher, place)}
    )


def may_write(pusher: Pusher) -> bool:
    """Tell whether a pusher has any write grant in the namespace."""
    return any(scope.everywhere or scope.projects for scope in (pusher.redirects, pusher.pages, pusher.settings))


def _describe(place: str, grants: Grants) -> str:
    return f"{' or '.join(grants.words)} on {place or 'every project (*)'}"


def _changes(repository: Repository, old: TreeId | None, new: TreeId) -> Iterator[ProjectChange]:
    for name, sides in repository.differing_entries(old, new).items():
        folders = [TreeId(entry.id) if entry and entry.is_folder and is_name(name) else None for entry in sides]
        if any(folders):
            yield ProjectChange(name, folders[0], folders[1])
        if any(entry and not folder for entry, folder in zip(sides, folders, strict=True)):
            yield ProjectChange(BESIDE, None, None)


def _grants_of(repository: Repository, change: ProjectChange) -> Iterable[Grants]:
    """Yield the grants for the files of a project that differ, by the files and folders at its top."""
    if change.after is None:
        names = [entry.name for entry in repository.entries(change.before)] if change.before else []
    else:
        names = list(repository.differing_entries(change.before, change.after))
    for name in names:
        yield _FOLDERS.get(name) or _OF_ROLE.get(role_of(name), ANY_WRITE)
