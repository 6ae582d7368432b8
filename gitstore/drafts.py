"""Drafts: the working branches of a project, and the commits that edits make on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from content.diff import Change
from content.names import is_name
from gitstore.compiler import Compiler
from gitstore.dump import EMPTY_FILES
from gitstore.edits import Edit
from gitstore.errors import Broken, Busy, Invalid, LostRace, NotFound, OutOfSpace, StaleDraft
from gitstore.file_paths import must_be_free, must_be_in_reach
from gitstore.layout import CommitId, TreeId, draft_ref
from gitstore.messages import edit_message
from gitstore.repository import Author, Repository
from gitstore.snapshot import Snapshot
from gitstore.update import Update
from gitstore.workspace import Files, Workspace

AFTER_THE_MOVE = (Busy, LostRace, OutOfSpace, OSError)
"""What may keep a draft from ending once its publish has happened: the publish stands, and the draft heals later."""


class DraftName(NamedTuple):
    """A draft of a project."""

    project: str
    draft: str

    @property
    def ref(self) -> str:
        """The branch that the draft stands on; NotFound where the text is no name at all."""
        if not is_name(self.draft):
            raise NotFound(f"There is no draft {self.draft[:60]!r}: a draft's name is 1 to 50 of A-Z a-z 0-9 _ -.")
        return draft_ref(self.project, self.draft)


@dataclass(frozen=True, slots=True)
class DraftState:
    """Where a draft stands. `head` is None where there is none; `tree` is the project's working state.

    `ref` is what the branch holds: the head, or, where a publish was cut off before it could end the draft, a commit
    that is on release already and so no draft any more.
    """

    name: DraftName
    ref: CommitId | None
    head: CommitId | None
    base: CommitId
    release: CommitId
    tree: TreeId | None
    base_tree: TreeId | None
    release_tree: TreeId


def read_draft(repository: Repository, name: DraftName) -> DraftState:
    """Read where a draft stands; NotFound where release has no such project, Broken where its branch is damaged."""
    release, release_tree = _release(repository, name.project)
    try:
        return _read_branch(repository, name, release, release_tree)
    except Broken as ex:
        raise Broken(f"{ex} Mend that with Git, or discard the draft {name.draft}: that removes its branch.") from ex


def _release(repository: Repository, project: str) -> tuple[CommitId, TreeId]:
    release = repository.release()
    tree = project_tree(repository, release, project)
    if tree is None:
        raise NotFound(f"There is no project {project[:60]!r} in this namespace.")
    return release, tree


def _read_branch(repository: Repository, name: DraftName, release: CommitId, release_tree: TreeId) -> DraftState:
    ref = repository.ref(name.ref)
    base = repository.merge_base(release, ref) if ref else release
    if base is None:
        raise Broken(f"The draft {name.draft} of {name.project} shares no history with release.")
    if ref is None or base == ref:
        return DraftState(name, ref, None, release, release, release_tree, release_tree, release_tree)
    tree, base_tree = (project_tree(repository, commit, name.project) for commit in (ref, base))
    return DraftState(name, ref, ref, base, release, tree, base_tree, release_tree)


def project_tree(repository: Repository, commit: CommitId, project: str) -> TreeId | None:
    """The folder of a project in a commit, or None where it is not there."""
    return repository.folder(repository.commit(commit).tree, project)


def snapshot_of(compiler: Compiler, state: DraftState) -> Snapshot:
    """The working state of a draft."""
    if state.tree is None:
        raise NotFound(f"The draft {state.name.draft} has no project {state.name.project}.")
    return compiler.snapshot(state.name.project, state.tree)


class Edited(NamedTuple):
    """What an edit became: the draft's new head and what it changed."""

    head: CommitId
    changes: Sequence[Change]


def edit_draft(
    compiler: Compiler, update: Update, name: DraftName, edits: Sequence[Edit], author: Author, head: str = ""
) -> Edited:
    """Make edits on a draft as one commit, all or nothing; a draft that is not there begins from release."""
    state = read_draft(update, name)
    must_stand_at(state, head)
    workspace = Workspace(snapshot_of(compiler, state), update.blob)
    workspace.apply(edits)
    return commit_workspace(update, state, workspace, author)


def commit_workspace(update: Update, state: DraftState, workspace: Workspace, author: Author, text: str = "") -> Edited:
    """Commit what a workspace changed, by a message that says so unless there is a text; no change makes no commit."""
    files = workspace.files
    if not files:
        return Edited(state.head or state.release, ())
    tree = write_project(update, state, files)
    if tree == state.tree:
        return Edited(state.head or state.release, ())
    changes = workspace.changes
    return Edited(commit_draft(update, state, tree, author, text or edit_message(changes)), changes)


def write_project(update: Update, state: DraftState, files: Files) -> TreeId:
    """The project's folder in the draft with new bytes of some files.

    A file of rules that is left without any goes where the draft began without it. Invalid where a file cannot stand.
    """
    left = _without_emptied(update, state.base_tree, files)
    must_be_in_reach(path for path, data in left.items() if data is not None)
    must_be_free(state.name.project, _paths(update, state.tree), left)
    written = {path: update.write_blob(data) if data is not None else None for path, data in left.items()}
    tree = update.write_files(state.tree, written)
    if tree is None:
        raise Invalid("A project cannot be left without any file.", ())
    return tree


def _without_emptied(update: Update, base: TreeId | None, files: Files) -> Files:
    empty = {path for path, data in files.items() if data in EMPTY_FILES}
    gone = empty - _paths(update, base) if empty and base else set()
    return {**files, **dict.fromkeys(gone)}


def _paths(update: Update, tree: TreeId | None) -> set[str]:
    return {path for path, _ in update.files(tree)} if tree else set()


def commit_draft(
    update: Update, state: DraftState, tree: TreeId, author: Author, message: str, merges: CommitId | None = None
) -> CommitId:
    """Put a new working state on the draft's branch; `merges` is a commit of release that it takes in.

    The commit is always a new one: what was said of a draft that was discarded is not said of the next.
    """
    parent = state.head or state.release
    root = update.put_folder(update.commit(merges or parent).tree, state.name.project, tree)
    commit = update.write_commit(root, (parent, merges) if merges else (parent,), author, message, anew=True)
    update.move(state.name.ref, state.ref, commit)
    return commit


def discard_draft(update: Update, name: DraftName) -> None:
    """Throw a draft away, also one whose branch is damaged; NotFound where there is none."""
    _release(update, name.project)
    try:
        state = read_draft(update, name)
    except Broken:
        update.remove(name.ref, None)
        return
    end_draft(update, state)
    if state.head is None:
        raise NotFound(f"The project {name.project} has no draft {name.draft}.")


def end_draft(update: Update, state: DraftState) -> None:
    """Remove the branch of a draft, if there is one."""
    if state.ref:
        update.remove(state.name.ref, state.ref)


def must_exist(state: DraftState) -> None:
    """Raise NotFound where there is no draft."""
    if state.head is None:
        raise NotFound(f"The project {state.name.project} has no draft {state.name.draft}.")


def must_stand_at(state: DraftState, head: str) -> None:
    """Raise StaleDraft where the caller named another head than the draft's."""
    if head and head != state.head:
        where = state.head or "nowhere, for there is no such draft"
        raise StaleDraft(f"The draft {state.name.draft} stands at {where}. Read it again, then decide.")
