"""Commits on release, the only way to publish.

The merged content is checked and compiled first; the move of the ref is the only commit point. A crash before it
leaves only objects without a reference, and compiled files that no manifest in use names.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import Manifest
from gitstore.compiled.indexes.served_record import read_served
from gitstore.drafts.drafts import project_tree
from gitstore.errors import NothingToPublish, Rewound
from gitstore.git.after_commit import after_commit
from gitstore.git.refs import moved_first
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.history.file_changes import file_changes
from gitstore.history.gc import clean_releases
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import PUBLISHED_BY, dump_message, publish_message, signature
from gitstore.history.name_collisions import require_unique_name
from gitstore.history.reached import note_release
from gitstore.history.rewinds import record_served, require_continuous
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from gitstore.publish.gate import NextState, check_and_compile, read_served_state


@dataclass(frozen=True, slots=True)
class ReleaseUpdate:
    """The next state of release: `tree` is the project's new folder, None to remove the project.

    `text` is the message, empty for a generated one; `merges` is the draft's head that is merged. With
    `requires_same_policy` the update may not change the project's policy of reviews and lint. `approval_check` runs
    last, right before the commit is written: it returns trailers, or raises. With `is_rollback` the rules were
    published before; project.yaml does not change.
    """

    project: str
    release: CommitId
    tree: TreeId | None
    publisher: Author
    text: str = ""
    trailers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    merges: CommitId | None = None
    requires_same_policy: bool = False
    approval_check: Callable[[], Mapping[str, str | tuple[str, ...]]] = dict
    is_rollback: bool = False


@dataclass(frozen=True, slots=True)
class PublishResult:
    """A successful publish: the project's new version and number, and the counts of changed records.

    `tree` is the project's content, None if it was removed. `never_answer` counts the rules of the version that can
    never answer, None where it is unknown.
    """

    version: CommitId
    number: int
    counts: Mapping[Kind, Counts]
    tree: TreeId | None = None
    never_answer: int | None = None


def commit_release(compiler: Compiler, transaction: Transaction, release_update: ReleaseUpdate) -> PublishResult:
    """Commit an update; Invalid, NotAllowed, NothingToPublish, LostRace or errors of the approval change nothing."""
    _require_newest(compiler, transaction, release_update.release)
    before = project_tree(transaction, release_update.release, release_update.project)
    if release_update.tree == before:
        raise NothingToPublish(f"{release_update.project} is already published in this state; nothing to publish.")
    if release_update.tree:
        require_unique_name(transaction, release_update.release, release_update.project)
    delta = check_and_compile(
        compiler,
        NextState(
            release_update.project,
            before,
            release_update.tree,
            read_served_state(compiler, release_update.release, release_update.project),
            requires_same_policy=release_update.requires_same_policy,
            is_rollback=release_update.is_rollback,
        ),
    )
    commit = _commit(transaction, release_update, _text(compiler, release_update, before, delta.counts))
    manifest = ensure_manifest(compiler, commit, delta, waits=False)
    transaction.move(RELEASE_REF, release_update.release, commit)
    follow_release(compiler, transaction, manifest, (release_update.project,))
    number = manifest.projects[release_update.project].newest
    return PublishResult(commit, number, delta.counts, tree=release_update.tree)


def follow_release(compiler: Compiler, transaction: Transaction, manifest: Manifest, projects: Iterable[str]) -> None:
    """Do what follows each move of release: `manifest` is that of its new commit, `projects` are published by it."""
    with after_commit("recording the commits on release"):  # the next publish records them
        note_release(transaction, manifest.commit)
    with after_commit("recording the served commit"):  # the next process that reads release records it
        record_served(compiler, manifest.commit)
    for project in projects:
        with after_commit("removing old compiled files"):  # the next publish removes the rest
            clean_releases(compiler.paths, manifest, project)


def _require_newest(compiler: Compiler, transaction: Transaction, release: CommitId) -> None:
    """Raise Rewound if release does not continue from the served commit, or LostRace if that is later than `release`.

    A push by plain Git takes no lock, and can be served already.
    """
    try:
        require_continuous(transaction, release, read_served(compiler.paths))
    except Rewound:
        if transaction.release() != release:
            raise moved_first(RELEASE_REF) from None
        raise


def _text(
    compiler: Compiler, release_update: ReleaseUpdate, before: TreeId | None, counts: Mapping[Kind, Counts]
) -> str:
    """Return the caller's message, else a generated one."""
    if release_update.text.strip():
        return release_update.text.strip()
    return publish_message(
        release_update.project, counts, file_changes(compiler, release_update.project, before, release_update.tree)
    )


def _commit(transaction: Transaction, release_update: ReleaseUpdate, text: str) -> CommitId:
    root = transaction.put_folder(
        transaction.commit(release_update.release).tree, release_update.project, release_update.tree
    )
    message = dump_message(
        text,
        {
            PUBLISHED_BY: signature(release_update.publisher),
            **release_update.trailers,
            **release_update.approval_check(),
        },
    )
    parents = (release_update.release, release_update.merges) if release_update.merges else (release_update.release,)
    return transaction.write_commit(root, parents, release_update.publisher, message)
