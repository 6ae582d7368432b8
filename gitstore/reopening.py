"""Opening an old version again: a draft whose rules and pages are those of that version."""

from gitstore.changes import ChangesByKind
from gitstore.compiler import Compiler
from gitstore.drafts import DraftName, DraftState, commit_draft, must_stand_at, read_draft
from gitstore.errors import DraftExists, NotFound, NothingToChange
from gitstore.layout import PROJECT_FILE, TESTS_FILE, BlobId, CommitId, TreeId
from gitstore.messages import dump_message
from gitstore.repository import Author, Repository
from gitstore.tree_changes import known_changes
from gitstore.update import Update
from gitstore.versions import Version

_TODAYS = (PROJECT_FILE, TESTS_FILE)
"""What stays as release has it: they say what a publish must keep to, and that is not content of a version."""


def reopen(
    compiler: Compiler,
    update: Update,
    name: DraftName,
    version: Version,
    author: Author,
    message: str = "",
    head: str = "",
) -> tuple[CommitId, ChangesByKind]:
    """Make a draft of a version; gives its head, and what it changes against release.

    The draft must not be there yet, or stand at `head`: then its content is replaced, by one more commit.
    """
    if version.tree is None:
        raise NotFound(f"Publish {version.number} removed the project {name.project}; there is nothing to open again.")
    state = read_draft(update, name)
    _must_be_free(state, head)
    tree = _with_todays(update, version.tree, state.release_tree)
    if tree == (state.tree if state.head else state.release_tree):
        where = f"The draft {name.draft}" if state.head else "Release"
        raise NothingToChange(f"{where} holds the rules and pages of publish {version.number} already; nothing to do.")
    is_behind = state.head and state.base != state.release
    commit = commit_draft(update, state, tree, author, _text(version, message), state.release if is_behind else None)
    return commit, known_changes(compiler, name.project, state.release_tree, tree)


def _must_be_free(state: DraftState, head: str) -> None:
    if head:
        must_stand_at(state, head)
    elif state.head:
        raise DraftExists(
            f"The project {state.name.project} has a draft {state.name.draft} already. Publish or discard it, name "
            f"another draft, or give its head {state.head} to replace what it holds."
        )


def _text(version: Version, message: str) -> str:
    what = f"publish {version.number} ({version.commit[:12]})"
    text = message.strip()
    return dump_message(f"{text}\n\nReopens {what}." if text else f"Reopen {what}", {})


def _with_todays(update: Update, tree: TreeId, today: TreeId) -> TreeId:
    before, now = _policy(update, tree), _policy(update, today)
    changed = {name: now.get(name) for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    return update.write_files(tree, changed) or tree


def _policy(repository: Repository, tree: TreeId) -> dict[str, BlobId]:
    entries = repository.entries(tree)
    return {entry.name: BlobId(entry.id) for entry in entries if entry.name in _TODAYS and not entry.is_folder}
