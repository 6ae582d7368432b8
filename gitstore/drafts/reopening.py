"""Reopened versions: a draft with the rules and pages of an old version."""

from gitstore.comparison.tree_changes import read_tree_changes
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.versions import Version
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.drafts.drafts import DraftName, DraftState, commit_draft, read_draft, require_head
from gitstore.errors import DraftExists, NotFound, NothingToChange
from gitstore.git.repository import Author, Repository
from gitstore.git.transaction import Transaction
from gitstore.history.messages import dump_message
from gitstore.layout import PROJECT_FILE, TESTS_FILE, BlobId, CommitId, TreeId

# Kept as on release: they are the policy of a publish, not the content of a version.
_POLICY_FILES = (PROJECT_FILE, TESTS_FILE)


def reopen(
    compiler: Compiler,
    transaction: Transaction,
    name: DraftName,
    version: Version,
    author: Author,
    message: str = "",
    head: str = "",
) -> tuple[CommitId, ChangesByKind]:
    """Start a draft with the content of a version; returns its head, and its changes against release.

    An existing draft must be at `head`: then one more commit replaces its content.
    """
    if version.tree is None:
        raise NotFound(f"Publish {version.number} removed the project {name.project} and has no content to reopen.")
    state = read_draft(transaction, name)
    _require_replaceable(state, head)
    tree = _with_current_policy(transaction, version.tree, state.release_tree)
    if tree == (state.tree if state.head else state.release_tree):
        where = f"The draft {name.draft}" if state.head else "Release"
        raise NothingToChange(f"{where} already has the rules and pages of publish {version.number}; nothing changed.")
    changes = read_tree_changes(compiler, name.project, state.release_tree, tree)
    is_behind = state.head and state.base != state.release
    commit = commit_draft(
        transaction, state, tree, author, _text(version, message), state.release if is_behind else None
    )
    return commit, changes


def _require_replaceable(state: DraftState, head: str) -> None:
    if head:
        require_head(state, head)
    elif state.head:
        raise DraftExists(
            f"The project {state.name.project} already has a draft {state.name.draft}. Publish or discard it, name "
            f"another draft, or pass its head {state.head} to replace its content."
        )


def _text(version: Version, message: str) -> str:
    what = f"publish {version.number} ({version.commit[:12]})"
    text = message.strip()
    return dump_message(f"{text}\n\nReopens {what}." if text else f"Reopen {what}", {})


def _with_current_policy(transaction: Transaction, tree: TreeId, today: TreeId) -> TreeId:
    before, now = _policy(transaction, tree), _policy(transaction, today)
    changed = {name: now.get(name) for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    return transaction.write_files(tree, changed) or tree


def _policy(repository: Repository, tree: TreeId) -> dict[str, BlobId]:
    return {name: BlobId(entry.id) for name, entry in repository.files_named(tree, *_POLICY_FILES).items()}
