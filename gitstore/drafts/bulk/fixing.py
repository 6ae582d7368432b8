"""The safe fixes of a draft's rules: a list, and their application as one commit."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.bulk.file_fixes import Place, RuleFix, find_fixes, fix_files
from gitstore.drafts.drafts import DraftName, commit_draft, read_draft, require_head, snapshot_of, write_project
from gitstore.errors import NotAllowed, NotFound
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId


@dataclass(frozen=True, slots=True)
class DraftFixes:
    """The rules of a draft that can be fixed; `head` is the draft's head (None: release)."""

    head: CommitId | None
    fixes: Sequence[RuleFix]


@dataclass(frozen=True, slots=True)
class FixRequest:
    """The rules to fix, by file and line (none: all of `kinds`, which the caller may write)."""

    name: DraftName
    author: Author
    chosen: frozenset[Place] = frozenset()
    head: str = ""
    kinds: frozenset[Kind] = frozenset(Kind)


FindFixes = Callable[[Snapshot], Sequence[RuleFix]]
"""Returns what `find_fixes` does, maybe from a cache."""


def list_fixes(compiler: Compiler, name: DraftName, find: FindFixes = find_fixes) -> DraftFixes:
    """Return the rules of a draft, or of release without a draft, that can be fixed."""
    state = read_draft(compiler.repository, name)
    return DraftFixes(state.head, find(snapshot_of(compiler, state)))


def apply_fixes(
    compiler: Compiler, transaction: Transaction, order: FixRequest, find: FindFixes = find_fixes
) -> tuple[CommitId | None, int]:
    """Fix rules of a draft, all or none; return its head, and the number of fixes.

    The first fix starts the draft from release. Raises NotFound for a rule without a fix.
    """
    state = read_draft(transaction, order.name)
    require_head(state, order.head)
    snapshot = snapshot_of(compiler, state)
    blobs = {snapshot.full_path(file.path): file.blob for kind in Kind for file in snapshot.rule_files[kind]}
    done = fix_files(lambda path: transaction.blob(blobs[path]), snapshot, _choose(snapshot, order, find))
    if not done.texts:
        return state.head, 0
    texts = {path.removeprefix(f"{state.name.project}/"): data for path, data in done.texts.items()}
    tree = write_project(transaction, state, texts)
    message = f"Fix: {', '.join(f'{number:,} {kind}' for kind, number in sorted(done.counts.items()))}"
    return commit_draft(transaction, state, tree, order.author, message), done.counts.total()


def _choose(snapshot: Snapshot, order: FixRequest, find: FindFixes) -> Collection[Place] | None:
    if not order.chosen and order.kinds == frozenset(Kind):
        return None
    known = {(fix.before.file, fix.before.line): fix.kind for fix in find(snapshot)}
    for file, line in sorted(order.chosen):
        if (file, line) not in known:
            raise NotFound(f"No rule at {file[:200]}:{line} has a fix; nothing was changed. Read the fixes again.")
        if known[file, line] not in order.kinds:
            raise NotAllowed(f"You may not write the {known[file, line]} of this project; nothing was changed.")
    return order.chosen or {place for place, kind in known.items() if kind in order.kinds}
