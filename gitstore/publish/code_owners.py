"""The code owners of the changes in a project, by the file CODEOWNERS of release."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice

from content.formats.code_owners import CodeOwners
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.drafts import DraftState
from gitstore.errors import Broken, Invalid
from gitstore.git.file_paths import printable_path
from gitstore.git.repository import Repository
from gitstore.layout import BlobId, CommitId, TreeId
from gitstore.publish.authorship import ReviewSubject, read_review_subject

_FILE = "CODEOWNERS"
_FOLDER = ".github"
_MOST_BYTES = 100_000  # of the file: some 2,000 lines
_MOST_FILES = 500  # that are looked at
_MOST_OWNERS = 100


def read_owned_subject(compiler: Compiler, state: DraftState) -> ReviewSubject:
    """Return the review subject of a draft, with its code owners."""
    subject = read_review_subject(compiler, state)
    if state.head is None:
        return subject
    owners = find_code_owners(compiler.repository, state.name.project, state.release, state.base_tree, state.tree)
    return replace(subject, owners=owners)


def find_code_owners(
    repository: Repository, project: str, release: CommitId, before: TreeId | None, after: TreeId | None
) -> tuple[str, ...]:
    """Return the owners of the files of a project that differ between two states, as written, each once.

    There are none without the file, and if it or the files cannot be read: owners are only proposed.
    """
    try:
        text = _read_file(repository, release)
        paths = list(islice(_differing(repository, before, after), _MOST_FILES)) if text else []
    except (Broken, Invalid):
        return ()
    found = chain.from_iterable(_parse(text).find(f"{project}/{path}") for path in paths)
    return tuple(islice(dict.fromkeys(found), _MOST_OWNERS))


def _read_file(repository: Repository, release: CommitId) -> str:
    """Return the text of the file, as GitHub looks for it; empty where there is none, or it is too large."""
    root = repository.commit(release).tree
    for folder in (repository.folder(root, _FOLDER), root):
        found = repository.files_named(folder, _FILE) if folder else {}
        if found:
            data = repository.blob(BlobId(found[_FILE].id))
            return data.decode(errors="replace") if len(data) <= _MOST_BYTES else ""
    return ""


@lru_cache(16)
def _parse(text: str) -> CodeOwners:
    return CodeOwners(text)


def _differing(repository: Repository, before: TreeId | None, after: TreeId | None) -> Iterator[str]:
    old, new = ({path: entry.id for path, entry in repository.files(tree)} if tree else {} for tree in (before, after))
    return (printable_path(path) for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path))
