"""Commits on release, the only way to publish.

The merged content is checked and compiled first; the move of the ref is the only commit point. A crash before it
leaves only objects without a reference, and compiled files that no manifest in use names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler, is_rewritten, require_publishable
from gitstore.compiled.indexes.served_record import read_served
from gitstore.compiled.segments.changes import ChangesByKind, changes_between, files_only_in
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.checks import MANY_RULES, check_snapshot
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
from gitstore.history.numbering import PublishDelta, build_publish_delta
from gitstore.history.reached import note_release
from gitstore.history.rewinds import record_served, require_continuous
from gitstore.history.table_changes import build_delta_from_tables
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from gitstore.publish.approval import require_same_policy


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

    `never_answer` counts the rules of the version that can never answer, None where it is unknown.
    """

    version: CommitId
    number: int
    counts: Mapping[Kind, Counts]
    never_answer: int | None = None


def commit_release(compiler: Compiler, transaction: Transaction, release_update: ReleaseUpdate) -> PublishResult:
    """Commit an update; Invalid, NotAllowed, NothingToPublish, LostRace or errors of the approval change nothing."""
    _require_newest(compiler, transaction, release_update.release)
    before = project_tree(transaction, release_update.release, release_update.project)
    if release_update.tree == before:
        raise NothingToPublish(f"{release_update.project} is already published in this state; nothing to publish.")
    if release_update.tree:
        require_unique_name(transaction, release_update.release, release_update.project)
    delta = (release_update.is_rollback and _reuse_validated(compiler, release_update, before)) or _check_and_compile(
        compiler, release_update, before
    )
    commit = _commit(transaction, release_update, _text(compiler, release_update, before, delta.counts))
    manifest = ensure_manifest(compiler, commit, delta, waits=False)
    transaction.move(RELEASE_REF, release_update.release, commit)
    with after_commit("recording the commits on release"):  # the next publish records them
        note_release(transaction, commit)
    with after_commit("recording the served commit"):  # the next process that reads release records it
        record_served(compiler, commit)
    with after_commit("removing old compiled files"):  # the next publish removes the rest
        clean_releases(compiler.paths, manifest, release_update.project)
    return PublishResult(commit, manifest.projects[release_update.project].newest, delta.counts)


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


def _reuse_validated(compiler: Compiler, release_update: ReleaseUpdate, before: TreeId | None) -> PublishDelta | None:
    """Return the delta to a state that is already validated, compared by its tables; None for any other state."""
    if (
        before is None
        or release_update.tree is None
        or compiler.find_validated(release_update.project, release_update.tree) is None
    ):
        return None
    return build_delta_from_tables(compiler, release_update.project, (before, release_update.tree))


def _check_and_compile(compiler: Compiler, release_update: ReleaseUpdate, before: TreeId | None) -> PublishDelta:
    """Check and compile a state; raises Invalid for its problems."""
    old, new = (
        compiler.snapshot(release_update.project, tree) if tree else None for tree in (before, release_update.tree)
    )
    served = _find_served(compiler, release_update, old)
    if served:
        compiler.accept(served)
    if old and new and not release_update.is_rollback and _differs_much(old, new):
        delta = build_delta_from_tables(compiler, release_update.project, (old.tree, new.tree))
        if is_rewritten(new, len(delta.entries.codes)):
            _compile_rewritten(compiler, release_update, (old, new), served)
            return delta
    changes = changes_between(old, new)
    if new and release_update.tree:
        if not release_update.is_rollback:  # its rules were published before
            require_publishable(new, find_budget_problems(served, new, compiler.limits))
        _keep_policy(old, new, changes)
        _compile(compiler, release_update, (old, new), changes)
    if release_update.requires_same_policy:
        require_same_policy(old, new)
    return build_publish_delta(release_update.project, (before, release_update.tree), changes)


def _differs_much(old: Snapshot, new: Snapshot) -> bool:
    """Tell whether the files that differ have so many rules that these are compared by their tables first."""
    return sum(len(file.segment) for file in files_only_in(Kind.REDIRECTS, new, old)) > MANY_RULES


def _compile_rewritten(
    compiler: Compiler, release_update: ReleaseUpdate, states: tuple[Snapshot, Snapshot], served: Snapshot | None
) -> None:
    """Check and compile a state of which so much is new that all rules are checked; their changes are not needed."""
    old, new = states
    require_publishable(new, find_budget_problems(served, new, compiler.limits))
    if old.settings.strict and not new.settings.strict:
        require_publishable(new, check_snapshot(new), strict=True)
    if _is_known_valid(compiler, release_update):
        compiler.compile_rewritten(old, new)
    else:
        compiler.validated_release(new.project, new.tree)
    if release_update.requires_same_policy:
        require_same_policy(old, new)


def _find_served(compiler: Compiler, release_update: ReleaseUpdate, old: Snapshot | None) -> Snapshot | None:
    """Return the state that is served: not that of release where it was pushed and is refused."""
    known = ensure_manifest(compiler, release_update.release, waits=False).projects.get(release_update.project)
    if old is None or known is None or known.tree in {None, old.tree}:
        return old
    return compiler.snapshot(release_update.project, TreeId(str(known.tree)))


def _keep_policy(old: Snapshot | None, new: Snapshot, changes: ChangesByKind) -> None:
    """Apply release's lint to changed rules, even where their new project.yaml asks for less."""
    if old and old.settings.strict and not new.settings.strict and any(changes.values()):
        require_publishable(new, check_snapshot(new), strict=True)


def _compile(
    compiler: Compiler, release_update: ReleaseUpdate, states: tuple[Snapshot | None, Snapshot], changes: ChangesByKind
) -> None:
    """Compile the new state: all of it where the old one was never valid, else the changes."""
    old, new = states
    if old is None or not _is_known_valid(compiler, release_update):
        compiler.validated_release(release_update.project, new.tree)
    else:
        compiler.compile_change(old, new, list(chain.from_iterable(changes.values())))


def _is_known_valid(compiler: Compiler, release_update: ReleaseUpdate) -> bool:
    """Tell whether the state on release is served."""
    known = ensure_manifest(compiler, release_update.release, waits=False).projects.get(release_update.project)
    return not (known is None or known.tree is None or known.failed)


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
