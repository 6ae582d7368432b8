"""Commits on release, the only way to publish.

The merged content is checked and compiled first; the move of the ref is the only commit point. A crash before it
leaves only objects without a reference, and compiled files that no manifest in use names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import publish_message
from gitstore.comparison.file_changes import file_changes
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import Manifest
from gitstore.compiled.indexes.served_record import read_served
from gitstore.drafts.drafts import project_tree
from gitstore.errors import Invalid, NothingToPublish, Rewound
from gitstore.git.after_commit import after_commit
from gitstore.git.refs import moved_first
from gitstore.git.repository import Author
from gitstore.git.signed_release import SERVICE_EMAIL
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import MERGED_HEAD, PUBLISHED_BY, VERIFIED_SIGNER, dump_message, signature
from gitstore.history.name_collisions import require_unique_name
from gitstore.history.numbering import PublishDelta
from gitstore.history.reached import note_release
from gitstore.history.rewinds import record_served, require_continuous
from gitstore.history.upkeep.gc import clean_releases
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from gitstore.publish.gate import NextState, check_and_compile, read_served_state


@dataclass(frozen=True, slots=True)
class ReleaseUpdate:
    """The next state of release: `tree` is the project's new folder, None to remove the project.

    `text` is the message, empty for a generated one; `merges` is the draft's head that is merged. With
    `requires_same_policy` the update may not change the project's policy (reviews, lint, signatures). `approval_check` runs
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


@dataclass(frozen=True, slots=True)
class ReleaseCommit:
    """The commit of one or more updates: its author, message and parents; the fields are those of `ReleaseUpdate`.

    `root` is the namespace's tree with the files beside the projects as they are to be; None: as on release.
    """

    release: CommitId
    publisher: Author
    text: str = ""
    trailers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    merges: CommitId | None = None
    approval_check: Callable[[], Mapping[str, str | tuple[str, ...]]] = dict
    root: TreeId | None = None


def commit_release(compiler: Compiler, transaction: Transaction, release_update: ReleaseUpdate) -> PublishResult:
    """Commit an update; Invalid, NotAllowed, NothingToPublish, LostRace or errors of the approval change nothing."""
    before = project_tree(transaction, release_update.release, release_update.project)
    if release_update.tree == before:
        _require_newest(compiler, transaction, release_update.release)
        raise NothingToPublish(f"{release_update.project} is already published in this state; nothing to publish.")
    commit = ReleaseCommit(
        release_update.release,
        release_update.publisher,
        release_update.text,
        release_update.trailers,
        release_update.merges,
        release_update.approval_check,
    )
    return commit_together(compiler, transaction, commit, [release_update])[1][release_update.project]


def commit_together(
    compiler: Compiler, transaction: Transaction, commit: ReleaseCommit, updates: Sequence[ReleaseUpdate]
) -> tuple[CommitId, dict[str, PublishResult]]:
    """Commit the updates of several projects as one commit, all or none; return it, and the publish of each project.

    Each project passes its own checks; the errors are those of `commit_release`. Without any update, the commit has only
    the files beside the projects, and publishes no version.
    """
    _require_newest(compiler, transaction, commit.release)
    deltas = _check_all(compiler, transaction, updates)
    written = _commit(transaction, commit, updates, commit.text.strip() or _text(compiler, updates[0], deltas[0]))
    manifest = ensure_manifest(compiler, written, deltas, waits=False)
    transaction.move(RELEASE_REF, commit.release, written)
    follow_release(compiler, transaction, manifest, [update.project for update in updates])
    return written, {
        update.project: PublishResult(written, manifest.projects[update.project].newest, delta.counts, update.tree)
        for update, delta in zip(updates, deltas, strict=True)
    }


def _check_all(
    compiler: Compiler, transaction: Transaction, updates: Sequence[ReleaseUpdate]
) -> Sequence[PublishDelta]:
    """Check and compile all updates; raises Invalid with the problems of all projects."""
    deltas, failures = list[PublishDelta](), list[Invalid]()
    for update in updates:
        try:
            deltas.append(_check(compiler, transaction, update))
        except Invalid as ex:
            failures.append(ex)
    if failures:
        raise failures[0] if len(failures) == 1 else _join(failures)
    return deltas


def _check(compiler: Compiler, transaction: Transaction, release_update: ReleaseUpdate) -> PublishDelta:
    before = project_tree(transaction, release_update.release, release_update.project)
    if release_update.tree:
        require_unique_name(transaction, release_update.release, release_update.project)
    state = NextState(
        release_update.project,
        before,
        release_update.tree,
        read_served_state(compiler, release_update.release, release_update.project),
        requires_same_policy=release_update.requires_same_policy,
        is_rollback=release_update.is_rollback,
    )
    return check_and_compile(compiler, state)


def _join(failures: Sequence[Invalid]) -> Invalid:
    return Invalid(" ".join(map(str, failures)), [problem for failure in failures for problem in failure.problems])


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


def _text(compiler: Compiler, release_update: ReleaseUpdate, delta: PublishDelta) -> str:
    """Return a generated message."""
    project = release_update.project
    return publish_message(project, delta.counts, file_changes(compiler, project, *delta.trees))


def _commit(transaction: Transaction, commit: ReleaseCommit, updates: Sequence[ReleaseUpdate], text: str) -> CommitId:
    root = commit.root or transaction.commit(commit.release).tree
    for update in updates:
        root = transaction.put_folder(root, update.project, update.tree)
    trailers = {PUBLISHED_BY: signature(commit.publisher), **commit.trailers, **commit.approval_check()}
    parents = (commit.release, commit.merges) if commit.merges else (commit.release,)
    if commit.merges and transaction.is_flat:
        parents, trailers = parents[:1], {**trailers, MERGED_HEAD: commit.merges}
    if transaction.signer:
        trailers = {**trailers, VERIFIED_SIGNER: f"{SERVICE_EMAIL} {transaction.signer.public.fingerprint}"}
    message = dump_message(text, trailers)
    return transaction.write_commit(root, parents, commit.publisher, message)
