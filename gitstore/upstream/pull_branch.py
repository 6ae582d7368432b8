"""A publish for a pull request: the commit that release would get, made and checked here, pushed as a branch there.

Release does not move. The commit is kept by a ref of its own until the next one.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from content.changes.diff import count
from gitstore.comparison.change_comment import comment_marker, render_comment
from gitstore.comparison.descriptions import count_text
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.drafts.drafts import DraftName, commit_draft, end_draft, project_tree, read_draft
from gitstore.drafts.state_changes import compare_trees
from gitstore.errors import Broken, StoreError
from gitstore.git.repository import Repository, open_repository
from gitstore.git.transaction import Transaction
from gitstore.history.messages import PUBLISHED_BY, load_message
from gitstore.layout import BRANCH_PREFIX, PULLED_BRANCHES, CommitId
from gitstore.merge.draft_merge import merge_draft, write_merged
from gitstore.publish.advance import PublishResult
from gitstore.publish.approval import VerdictSource
from gitstore.publish.publishing import PublishRequest, publish
from gitstore.upstream.attempts import note_attempts
from gitstore.upstream.source_push import open_to_push
from gitstore.upstream.synced_namespace import SyncedNamespace
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import RemoteMoved, RemoteRefused

if TYPE_CHECKING:
    from gitstore.upstream.remotes.remote import Remote

_KEPT_PREFIX = "refs/waypost/pulls/"
_TRIES = 3


@dataclass(frozen=True, slots=True)
class PullCommit:
    """A commit for a pull request: `release` is its first parent, `message` its message for people.

    `changes` describes what it changes, as `2 redirects added`; `diff` shows it rule by rule, in Markdown.
    """

    branch: str
    commit: CommitId
    release: CommitId
    message: str
    changes: str
    diff: str = ""


class _Stopped(Exception):
    """Release was about to move to a commit, which is durable."""

    def __init__(self, commit: CommitId) -> None:
        super().__init__(commit)
        self.commit = commit


def pull_branch(name: DraftName) -> str:
    """Return the branch on the upstream of a draft's pull request."""
    return PULLED_BRANCHES.removeprefix(BRANCH_PREFIX) + f"{name.project}/{name.draft}"


def prepare_pull(
    compiler: Compiler, transaction: Transaction, request: PublishRequest, verdicts: VerdictSource
) -> PullCommit | PublishResult:
    """Make the commit of a publish, with all its checks, and leave release as it is.

    The request of a publish that is on release already gets that one. The errors are those of `publish`.
    """
    hook, transaction.around_release = transaction.around_release, _stop
    try:
        return publish(compiler, transaction, request, verdicts)
    except _Stopped as ex:
        commit = ex.commit
    finally:
        transaction.around_release = hook
    ref = _kept_ref(request.name)
    kept = transaction.ref(ref)
    if kept and _is_same(transaction, kept, commit):
        commit = kept
    else:
        transaction.move(ref, kept, commit)
    info = transaction.commit(commit)
    release = info.parents[0]
    changes = _describe(compiler, request.name.project, release, commit)
    return PullCommit(pull_branch(request.name), commit, release, load_message(info.message).text, changes)


def _describe(compiler: Compiler, project: str, *commits: CommitId) -> str:
    trees = (project_tree(compiler.repository, commit, project) for commit in commits)
    before, after = (compiler.snapshot(project, tree) if tree else None for tree in trees)
    return count_text({kind: count(changes) for kind, changes in changes_between(before, after).items()})


def _stop(_old: CommitId | None, new: CommitId) -> NoReturn:
    raise _Stopped(new)


def _is_same(repository: Repository, one: CommitId, other: CommitId) -> bool:
    """Tell whether two commits differ in their times alone."""
    with suppress(Broken):
        first, second = repository.commit(one), repository.commit(other)
        return (first.tree, first.parents, first.message) == (second.tree, second.parents, second.message)
    return False


def render_pull(compiler: Compiler, project: str, made: PullCommit) -> str:
    """Return the changes of a commit, rule by rule and with their impact, in Markdown."""
    old, new = (project_tree(compiler.repository, each, project) for each in (made.release, made.commit))
    return render_comment([compare_trees(compiler, project, old, new)]).removeprefix(comment_marker()).strip()


def push_pull(namespace: SyncedNamespace, made: PullCommit, known: Collection[str] = ()) -> CommitId:
    """Push the commit of a pull request to its branch on the upstream; return it as the upstream has it.

    An earlier commit of this service there is replaced; `known` are such commits. Raises RemoteRefused where the branch has
    a commit of others, RemoteAway or RemoteMoved.
    """
    ref = BRANCH_PREFIX + made.branch
    remote, repository, commit = _find_outgoing(namespace, made)
    for number in range(_TRIES):
        with note_attempts(namespace.repository):
            tips = remote.read_tips()
        if namespace.settings.ref not in tips:
            raise RemoteMoved(f"The upstream of {namespace.name} has no branch {namespace.settings.branch}.")
        old = tips.get(ref)
        if old == commit:
            break
        if old and old not in known and not _is_own(repository, old):
            raise RemoteRefused(
                f"The branch {made.branch} of the upstream has commits that are not from here, which are never overwritten. "
                "Merge or close its pull request there and delete the branch, then publish again."
            )
        try:
            remote.push(repository, PushedRef(ref, old, commit))
            break
        except RemoteMoved:
            if number == _TRIES - 1:
                raise
    return commit


def _find_outgoing(namespace: SyncedNamespace, made: PullCommit) -> "tuple[Remote, Path, CommitId]":
    """Return where to push, and the commit as it is there: on the whole repository, where only a folder is followed."""
    remote = open_to_push(namespace)
    if namespace.settings.path:
        from gitstore.upstream.remotes.folder_remote import FolderRemote  # noqa: PLC0415 - most upstreams are whole

        if isinstance(remote, FolderRemote):
            return remote.outgoing(namespace.repository, made.release, made.commit)
    return remote, namespace.repository, made.commit


def _is_own(repository: Path, commit: CommitId) -> bool:
    """Tell whether a commit was made by a publish here."""
    with suppress(StoreError), open_repository(repository) as opened:
        return opened.has(commit) and PUBLISHED_BY in load_message(opened.commit(commit).message).trailers
    return False


def follow_merged(compiler: Compiler, transaction: Transaction, name: DraftName) -> bool:
    """End a draft whose changes are all on release, else merge release into it; return whether it has ended.

    A draft with conflicts stays as it is.
    """
    state = read_draft(transaction, name)
    if state.head is None:
        end_draft(transaction, state)
        return True
    merged = merge_draft(compiler, state)
    if merged.conflicts:
        return False
    tree = write_merged(transaction, state, merged)
    if tree == state.release_tree:
        end_draft(transaction, state)
        return True
    if state.base_tree != state.release_tree:
        author = transaction.commit(state.head).author
        commit_draft(transaction, state, tree, author, "Merge release\n", merges=state.release)
    return False


def forget_pull(transaction: Transaction, name: DraftName) -> None:
    """Let go of the commit that was kept for a draft's pull request."""
    transaction.remove(_kept_ref(name), None)


def _kept_ref(name: DraftName) -> str:
    return _KEPT_PREFIX + "/".join(name)
