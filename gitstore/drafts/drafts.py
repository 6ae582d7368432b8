"""Drafts: the working branches of a project, and the commits of edits on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from content.changes.diff import Change, ChangeType
from content.records.names import is_name
from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import edit_message
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.editing.edits import Edit, Patch, Put
from gitstore.drafts.editing.workspace import Files, Workspace
from gitstore.drafts.listing import DraftRecord
from gitstore.drafts.selected_base import find_selected_base
from gitstore.errors import Broken, Invalid, NotFound, StaleDraft
from gitstore.git.file_paths import require_depth, require_free_paths
from gitstore.git.repository import Author, Repository
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import describe_misplaced
from gitstore.history.reached import find_base
from gitstore.layout import COMMIT_PREFIX, PROPOSAL_PREFIX, BlobId, CommitId, TreeId, draft_ref, is_root_file
from gitstore.yamlfiles.dump import EMPTY_FILES
from gitstore.yamlfiles.rewrite import RewrittenFile

# As Git writes the commit of a branch that does not exist: https://git-scm.com/docs/githooks#update
NO_DRAFT = CommitId("0" * 40)


class DraftName(NamedTuple):
    """The name of a draft, with its project."""

    project: str
    draft: str

    @property
    def ref(self) -> str:
        """The branch of the draft; raises NotFound for an invalid name."""
        if not is_name(self.draft):
            raise NotFound(f"{self.draft[:60]!r} is not a valid name of a draft: use 1 to 50 of A-Z a-z 0-9 _ -.")
        return draft_ref(self.project, self.draft)

    @property
    def sentence_subject(self) -> str:
        """The draft, or the proposal or commit that is reviewed under this name, as the subject of a sentence."""
        if self.draft.startswith(COMMIT_PREFIX):
            return f"The commit {self.draft.removeprefix(COMMIT_PREFIX)}, which changes {self.project},"
        if self.draft.startswith(PROPOSAL_PREFIX):
            return f"The proposal {self.draft.removeprefix(PROPOSAL_PREFIX)}, which changes {self.project},"
        return f"The draft {self.draft} of {self.project}"


Trees = tuple[TreeId | None, TreeId | None]  # of a project: at a draft's base, and in the draft


@dataclass(frozen=True, slots=True)
class DraftState:
    """The state of a draft. `head` is None without a draft; `tree` is the project's working state.

    `ref` is the commit of the branch: the head, or, after a publish that was interrupted before it could end the draft,
    a commit whose changes are already on release and so not a draft any more.
    `base_tree` is the project where the draft left release, with the changes that were published of it since.
    """

    name: DraftName
    ref: CommitId | None
    head: CommitId | None
    base: CommitId
    release: CommitId
    tree: TreeId | None
    base_tree: TreeId | None
    release_tree: TreeId

    @property
    def trees(self) -> Trees:
        """The project as the draft left it, and as it is in the draft: what its changes depend on."""
        return self.base_tree, self.tree

    @property
    def is_alone(self) -> bool:
        """True if nothing of the project was published since: a publish takes the draft as it is, without a conflict."""
        return self.base_tree == self.release_tree


def read_draft(repository: Repository, name: DraftName) -> DraftState:
    """Read the state of a draft; raises NotFound where release lacks the project, Broken for a damaged branch."""
    release, release_tree = _release(repository, name.project)
    try:
        return _read_branch(repository, name, release, release_tree)
    except Broken as ex:
        raise Broken(f"{ex} Fix it with Git, or discard the draft {name.draft}, which removes its branch.") from ex


def _release(repository: Repository, project: str) -> tuple[CommitId, TreeId]:
    release = repository.release()
    return release, require_project_tree(repository, release, project)


def require_project_tree(repository: Repository, release: CommitId, project: str) -> TreeId:
    """Return the folder of a project in release; raises NotFound, or Broken if something else is in its place."""
    tree = project_tree(repository, release, project)
    if tree is None:
        entries = repository.entries(repository.commit(release).tree)
        if any(entry.name == project and not is_root_file(entry.name) for entry in entries):
            raise Broken(describe_misplaced(repository, release, project))
        raise NotFound(f"There is no project {project[:60]!r} in this namespace.")
    return tree


def _read_branch(repository: Repository, name: DraftName, release: CommitId, release_tree: TreeId) -> DraftState:
    ref = repository.ref(name.ref)
    base = find_base(repository, release, ref) if ref else release
    if base is None:
        raise Broken(f"The draft {name.draft} of {name.project} shares no history with release.")
    if ref is None or base == ref:
        return DraftState(name, ref, None, release, release, release_tree, release_tree, release_tree)
    compared = find_selected_base(repository, ref, base, release) if base != release else None
    tree, base_tree = (project_tree(repository, commit, name.project) for commit in (ref, compared or base))
    if compared and tree == base_tree:  # all its changes are published
        return DraftState(name, ref, None, release, release, release_tree, release_tree, release_tree)
    return DraftState(name, ref, ref, base, release, tree, base_tree, release_tree)


def project_tree(repository: Repository, commit: CommitId, project: str) -> TreeId | None:
    """Return the folder of a project in a commit, or None where it does not exist."""
    return repository.folder(repository.commit(commit).tree, project)


def snapshot_of(compiler: Compiler, state: DraftState) -> Snapshot:
    """Return the snapshot of a draft's working state."""
    if state.tree is None:
        raise NotFound(f"The draft {state.name.draft} has no project {state.name.project}.")
    return compiler.snapshot(state.name.project, state.tree)


class EditResult(NamedTuple):
    """The result of an edit: the draft's new head and the changes."""

    head: CommitId
    changes: Sequence[Change]


def edit_draft(
    compiler: Compiler, transaction: Transaction, name: DraftName, edits: Sequence[Edit], author: Author, head: str = ""
) -> EditResult:
    """Commit edits to a draft, all or nothing; the first edit starts the draft from release."""
    state = read_draft(transaction, name)
    require_head(state, head)
    workspace = Workspace(snapshot_of(compiler, state), transaction.blob, limits=compiler.limits)
    workspace.apply(edits)
    workspace.require_affordable()
    return commit_workspace(transaction, state, workspace, author)


def write_record(
    compiler: Compiler, transaction: Transaction, name: DraftName, edit: Put | Patch, author: Author
) -> tuple[DraftRecord, Sequence[RewrittenFile]]:
    """Write one record of a draft as one commit; return it as it is then, and the files of rules that were rewritten."""
    state = read_draft(transaction, name)
    workspace = Workspace(snapshot_of(compiler, state), transaction.blob, limits=compiler.limits)
    [record_id] = workspace.apply([edit])
    workspace.require_affordable()
    placed = workspace.placed(edit.kind, record_id)
    written = DraftRecord(placed, _change_since_base(compiler, state, edit.kind, placed.record))
    commit_workspace(transaction, state, workspace, author)
    return written, workspace.rewritten


def _change_since_base(compiler: Compiler, state: DraftState, kind: Kind, record: Record) -> ChangeType | None:
    """Compare a record of a draft with the base: added, changed, or None where both are equal."""
    base = compiler.snapshot(state.name.project, state.base_tree) if state.base_tree else None
    before = base.find_record(kind, record.id) if base else None
    if before is None:
        return ChangeType.ADDED
    return None if before == record else ChangeType.CHANGED


def commit_workspace(
    transaction: Transaction, state: DraftState, workspace: Workspace, author: Author, text: str = ""
) -> EditResult:
    """Commit the changes of a workspace, with a message that lists them, or `text`; no commit without changes.

    With a `text`, the changes are not in the result: an import can have a million.
    """
    files = workspace.files
    if not (files or workspace.full):
        return EditResult(state.head or state.release, ())
    tree = write_project(transaction, state, files, workspace.full)
    if tree == state.tree:
        return EditResult(state.head or state.release, ())
    changes = () if text else workspace.changes
    return EditResult(commit_draft(transaction, state, tree, author, text or edit_message(changes)), changes)


def write_project(
    transaction: Transaction, state: DraftState, files: Files, full: Mapping[str, BlobId] | None = None
) -> TreeId:
    """Write the project's folder of the draft with new bytes of some files, and files that are written already.

    A file without any rule left is removed where the draft's base lacks it. Raises Invalid for a path that cannot exist.
    """
    left = _drop_emptied(transaction, state.base_tree, files)
    require_depth(path for path, data in left.items() if data is not None)
    written_to = {**left, **(full or {})}
    if state.tree is None or not all(transaction.has_file(state.tree, path) for path in written_to):
        require_free_paths(state.name.project, _paths(transaction, state.tree), written_to)
    written = {path: transaction.write_blob(data) if data is not None else None for path, data in left.items()}
    written |= full or {}
    tree = transaction.write_files(state.tree, written)
    if tree is None:
        raise Invalid("A project needs at least one file.", ())
    return tree


def _drop_emptied(transaction: Transaction, base: TreeId | None, files: Files) -> Files:
    empty = {path for path, data in files.items() if data in EMPTY_FILES}
    gone = empty - _paths(transaction, base) if empty and base else set()
    return {**files, **dict.fromkeys(gone)}


def _paths(transaction: Transaction, tree: TreeId | None) -> set[str]:
    return {path for path, _ in transaction.files(tree)} if tree else set()


def commit_draft(
    transaction: Transaction,
    state: DraftState,
    tree: TreeId,
    author: Author,
    message: str,
    merges: CommitId | None = None,
) -> CommitId:
    """Commit a new working state to the draft's branch; `merges` is a commit of release that it merges.

    The commit is always unique: a review of a discarded draft does not apply to the next one.
    """
    parent = state.head or state.release
    root = transaction.put_folder(transaction.commit(merges or parent).tree, state.name.project, tree)
    commit = transaction.write_commit(root, (parent, merges) if merges else (parent,), author, message, unique=True)
    transaction.move(state.name.ref, state.ref, commit)
    return commit


def discard_draft(transaction: Transaction, name: DraftName, head: str = "") -> CommitId | None:
    """Discard a draft, also one with a damaged branch, and return its head if it can be read.

    Raises NotFound where there is none, and StaleDraft where it is not at `head`, if one is expected.
    """
    _release(transaction, name.project)
    try:
        state = read_draft(transaction, name)
    except Broken:
        if head:
            raise
        transaction.remove(name.ref, None)
        return None
    require_head(state, head)
    end_draft(transaction, state)
    if state.head is None:
        raise NotFound(f"The project {name.project} has no draft {name.draft}.")
    return state.head


def end_draft(transaction: Transaction, state: DraftState) -> None:
    """Remove the branch of a draft, if it exists."""
    if state.ref:
        transaction.remove(state.name.ref, state.ref)


def require_draft(state: DraftState) -> None:
    """Raise NotFound where the draft does not exist."""
    if state.head is None:
        raise NotFound(f"The project {state.name.project} has no draft {state.name.draft}.")


def require_head(state: DraftState, head: str) -> None:
    """Raise StaleDraft where the draft's head is not what the caller expects; `NO_DRAFT` expects none."""
    if head and head != (state.head or NO_DRAFT):
        raise stale_head(f"draft {state.name.draft}", state.head, head)


def stale_head(what: str, found: CommitId | None, expected: str) -> StaleDraft:
    """Return the refusal of a call that expects another head of a draft, or of a proposal, than it has."""
    where = f"is at {found}" if found else "does not exist"
    wanted = "no draft" if expected == NO_DRAFT else expected[:40]
    return StaleDraft(f"The {what} {where}; the request expects {wanted}. Read it again, then retry.")
