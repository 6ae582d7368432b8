"""The changes of what protects a namespace, in the commits of release: the policies of projects, and the signers.

They are found in Git, so that it does not matter how a commit came: by a publish, a merge, a push of any kind, or an upstream.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from content.records.names import is_name
from gitstore.compiled.compiler import Compiler
from gitstore.errors import Broken
from gitstore.git.repository import CommitInfo, Repository, TreeEntry
from gitstore.history.history import CommitFields, read_commit_fields
from gitstore.history.pristine import is_pristine
from gitstore.history.rewinds import continues_from, current_release
from gitstore.layout import PROJECT_FILE, BlobId, CommitId, TreeId
from gitstore.publish.signers_change import SignersChange, find_signers_change
from gitstore.yamlfiles.project_file import ProjectFile, default_policy, load_project, policy_of


class PolicyChange(NamedTuple):
    """The policy of a project before and after a commit, by its words; that of no project is the default.

    `unreadable` says which of the two files cannot be read, before or after: then a review is required.
    """

    project: str
    before: dict[str, str]
    after: dict[str, str]
    unreadable: tuple[str, ...] = ()


class ReleaseChange(NamedTuple):
    """The changes by a commit; `rewound_from` is the commit before it where release was moved, empty where it grew."""

    commit: CommitId
    time: int
    fields: CommitFields
    policies: tuple[PolicyChange, ...]
    signers: SignersChange | None
    rewound_from: str = ""


class ReleaseChanges(NamedTuple):
    """The changes of some commits, oldest first, the commit up to which all are known, and the number of commits up to it.

    `is_apart` where the repository does not have the commit that was asked about: another node with the same database has it.
    """

    found: Sequence[ReleaseChange]
    until: CommitId
    passed: int = 0
    is_apart: bool = False


def list_release_changes(compiler: Compiler, since: str, limit: int, *, has_source: bool = False) -> ReleaseChanges:
    """Return the next changes in the commits of release after `since`, at most `limit`; from the first one if it is empty.

    Where release does not continue from there, its present state is compared with that of `since`, as far as that is known.
    With an upstream that is the source, a release behind `since` was not moved back: another node was first, and a sync brings it there.
    From nothing, such as the first commit of a namespace, a history that takes its place begins: each of its commits counts.
    """
    repository, tip = compiler.repository, current_release(compiler)
    ahead = list[CommitId]()  # ids, for it may be a long history
    for info in repository.first_parents(tip):
        if info.id == since:
            break
        ahead.append(info.id)
    else:
        if since and not repository.has(CommitId(since)):
            return ReleaseChanges([], tip, len(ahead), is_apart=True)
        if since and has_source and continues_from(repository, CommitId(since), tip):
            return ReleaseChanges([], CommitId(since))
        if since and not is_pristine(repository, CommitId(since)):
            return ReleaseChanges([*_find_moved(repository, CommitId(since), repository.commit(tip))], tip, len(ahead))
    found = list[ReleaseChange]()
    for passed, commit in enumerate(reversed(ahead), 1):
        info = repository.commit(commit)
        found += _find(repository, _parent_tree(repository, info), info)
        if len(found) == limit:
            return ReleaseChanges(found, commit, passed)
    return ReleaseChanges(found, tip, len(ahead))


def _find_moved(repository: Repository, since: CommitId, tip: CommitInfo) -> Iterator[ReleaseChange]:
    for change in _find(repository, repository.commit(since).tree, tip):
        yield change._replace(rewound_from=since)


def _parent_tree(repository: Repository, info: CommitInfo) -> TreeId | None:
    return repository.commit(info.parents[0]).tree if info.parents else None


def _find(repository: Repository, before: TreeId | None, info: CommitInfo) -> Iterator[ReleaseChange]:
    """Yield the change of a commit, if it has one."""
    pairs = repository.differing_entries(before, info.tree)
    policies = tuple(
        change
        for name in sorted(filter(is_name, pairs))
        if (change := _find_policy_change(repository, name, *pairs[name]))
    )
    signers = find_signers_change(repository, before, info.tree)
    if policies or signers:
        yield ReleaseChange(info.id, info.time, read_commit_fields(repository, info.id), policies, signers)


def _find_policy_change(
    repository: Repository, project: str, old: TreeEntry | None, new: TreeEntry | None
) -> PolicyChange | None:
    files = [_find_file(repository, each) for each in (old, new)]
    if files[0] == files[1]:
        return None
    (before, is_before_read), (after, is_after_read) = (_read_policy(repository, each) for each in files)
    read = {"before": is_before_read, "after": is_after_read}
    unreadable = tuple(name for name, is_read in read.items() if not is_read)
    if before == after and len(unreadable) != 1:
        return None
    return PolicyChange(project, before, after, unreadable)


def _find_file(repository: Repository, folder: TreeEntry | None) -> str:
    """Return the id of the settings in a project's folder; empty without one."""
    if folder is None or not folder.is_folder:
        return ""
    found = repository.named_entries(TreeId(folder.id), PROJECT_FILE)
    return next((entry.id for entry in found if not entry.is_folder), "")


def _read_policy(repository: Repository, file: str) -> tuple[dict[str, str], bool]:
    """Return the policy of a file, and whether the file can be read."""
    if not file:
        return default_policy(), True
    try:
        settings, problems = load_project(repository.blob(BlobId(file)), PROJECT_FILE)
    except Broken:  # damaged, or a submodule
        return policy_of(ProjectFile(), is_read=False), False
    return policy_of(settings, is_read=not problems), not problems
