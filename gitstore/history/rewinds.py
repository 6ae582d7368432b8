"""Rewound releases: a release branch that no longer continues from the commit that was served last.

Every publish has the one before it as its first parent. If the recorded commit is not among the first parents of
release, someone has moved the branch back, replaced its history, or restored an older repository. Publish numbers would
be used again, and agents would get older rules, so the last good state stays until an operator accepts the new history.
"""

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import load_manifest
from gitstore.compiled.indexes.served_record import read_served, write_served
from gitstore.errors import Rewound
from gitstore.file_lock import hold_lock_file
from gitstore.git.after_commit import after_commit
from gitstore.git.repository import Repository
from gitstore.layout import CommitId

_WAIT_SECONDS = 1.0
_known: dict[tuple[str, CommitId, CommitId], bool] = {}  # a history never changes, so neither does an answer about it
_MOST_KNOWN = 1_000
# The commit that this process serves of each repository: on a full disk its manifest may be in memory only.
_served_here: dict[str, CommitId] = {}


def note_served_here(repository: Repository, commit: CommitId) -> None:
    """Note that this process serves a commit, so that its publishes are known here."""
    _served_here[str(repository.path)] = commit


def continues_from(repository: Repository, commit: CommitId, served: CommitId) -> bool:
    """Tell whether `served` is a commit or one of its first parents; the whole history is read only if it is not."""
    if commit == served:
        return True
    key = (str(repository.path), commit, served)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = any(info.id == served for info in repository.first_parents(commit))
    return _known[key]


def require_continuous(repository: Repository, commit: CommitId, served: CommitId | None) -> None:
    """Raise Rewound if release does not continue from the commit that was served last."""
    if served is not None and not continues_from(repository, commit, served):
        raise Rewound(
            f"The release branch was moved to {commit[:12]}, which does not continue from {served[:12]}, the commit that "
            "was served last."
        )


def current_release(compiler: Compiler) -> CommitId:
    """Return the commit of release whose publishes are known: of a rewound or unfinished one, the last served commit."""
    served = read_served(compiler.paths)
    commit = compiler.repository.release()
    if served is None or commit == served:
        return commit
    is_served = _served_here.get(str(compiler.repository.path)) == commit
    is_known = is_served or load_manifest(compiler.paths.manifests, commit) is not None
    return commit if is_known and continues_from(compiler.repository, commit, served) else served


def record_served(compiler: Compiler, commit: CommitId) -> None:
    """Record a commit that release has reached, unless a later one is recorded already; a failure is only logged."""
    if read_served(compiler.paths) == commit:
        return
    with (
        after_commit("recording the served commit"),  # the next process that reads release records it
        hold_lock_file(compiler.paths.compiled / "served.lock", _WAIT_SECONDS) as is_held,
    ):
        served = read_served(compiler.paths)
        if is_held and (served is None or continues_from(compiler.repository, commit, served)):
            write_served(compiler.paths, commit)
