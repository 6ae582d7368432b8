"""The acceptance of a rewound release: an operator says that the present history is meant.

The new commit has the tree of release. Its first parent is the commit that was served last, so that the history of all
publishes stays, and numbers continue. If that commit is not in the repository any more, as after a restore from a backup,
the new commit names the highest number of each project instead.
"""

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import Manifest
from gitstore.compiled.indexes.served_record import load_served_manifest, read_served, write_served
from gitstore.errors import Broken, NothingToChange
from gitstore.git.repository import Author, Repository
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import PUBLISHED_BY, dump_highest_numbers, dump_message, signature
from gitstore.history.rewinds import continues_from, record_served
from gitstore.layout import RELEASE_REF, CommitId


def accept_rewind(compiler: Compiler, transaction: Transaction, author: Author) -> CommitId:
    """Commit the acceptance; raises NothingToChange if release continues from the state that was served last."""
    served, tip = read_served(compiler.paths), transaction.release()
    if served is None or continues_from(transaction, tip, served):
        raise NothingToChange("The release branch continues from the state that was served last; nothing to accept.")
    known = load_served_manifest(compiler.paths)
    has_history = known is not None and _is_present(transaction, served)
    parents = (served, tip) if has_history else (tip,)
    numbers = {} if has_history or known is None else dump_highest_numbers(_numbers(known))
    message = dump_message(
        f"Accept the release at {tip[:12]}, which did not continue from {served[:12]}",
        {PUBLISHED_BY: signature(author), **numbers},
    )
    commit = transaction.write_commit(transaction.commit(tip).tree, parents, author, message, unique=True)
    ensure_manifest(compiler, commit)
    transaction.move(RELEASE_REF, tip, commit)
    if has_history:
        record_served(compiler, commit)
    else:
        write_served(compiler.paths, commit)
    return commit


def _is_present(repository: Repository, commit: CommitId) -> bool:
    """Tell whether a commit and its folder can be read."""
    try:
        repository.entries(repository.commit(commit).tree)
    except Broken:
        return False
    return True


def _numbers(manifest: Manifest) -> dict[str, int]:
    return {name: number for name, number in manifest.highest_numbers().items() if number}
