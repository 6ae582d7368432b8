"""Notes on pushed publishes: who published, who approved, and the reason of an override, in `refs/notes/waypost`.

The commits of a push are their author's own and cannot have these as trailers. `git log --notes=waypost` shows them. See
https://git-scm.com/docs/git-notes; the first two digits of a commit's id are a folder, as Git itself writes many notes.
"""

from collections.abc import Sequence
from contextlib import suppress

from gitstore.errors import Broken
from gitstore.git.repository import Author, Repository
from gitstore.git.transaction import Transaction
from gitstore.layout import NOTES_REF, BlobId, CommitId

_AUTHOR = Author("Waypost", "service@waypost.invalid")
_FOLDER = 2


def write_notes(transaction: Transaction, notes: Sequence[tuple[CommitId, str]]) -> None:
    """Write notes on commits, in place of earlier ones."""
    if not notes:
        return
    tip = transaction.ref(NOTES_REF)
    base = transaction.commit(tip).tree if tip else None
    files: dict[str, BlobId | None] = {_path(commit): transaction.write_blob(text.encode()) for commit, text in notes}
    tree = transaction.write_files(base, files)
    if tree is not None and tree != base:
        commit = transaction.write_commit(tree, (tip,) if tip else (), _AUTHOR, "Note the publishers of a push\n")
        transaction.move(NOTES_REF, tip, commit)


def read_note(repository: Repository, commit: CommitId) -> str:
    """Return the note on a commit, empty without one, or where the notes are damaged: they are an addition."""
    with suppress(Broken):
        return _read(repository, commit)
    return ""


def _read(repository: Repository, commit: CommitId) -> str:
    tip = repository.ref(NOTES_REF)
    folder = repository.folder(repository.commit(tip).tree, commit[:_FOLDER]) if tip else None
    found = repository.named_entries(folder, commit[_FOLDER:]) if folder else []
    return repository.blob(BlobId(found[0].id)).decode(errors="replace") if found else ""


def _path(commit: CommitId) -> str:
    return f"{commit[:_FOLDER]}/{commit[_FOLDER:]}"
