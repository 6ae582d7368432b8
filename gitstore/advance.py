"""Moving release one commit on: the one way by which anything becomes published.

The merged content is checked and compiled first; the move of the ref is the only commit point. A crash before it
leaves objects that nothing names and compiled files that no manifest in use names, and nothing else.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from content.diff import Counts
from content.vocabulary import Kind
from gitstore.changes import ChangesByKind, changes_between
from gitstore.checks import check_snapshot
from gitstore.cleaning import clean_daily, clean_releases
from gitstore.compiler import Compiler, refuse
from gitstore.drafts import project_tree
from gitstore.errors import NothingToPublish
from gitstore.file_changes import file_changes
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from gitstore.messages import PUBLISHED_BY, dump_message, publish_message, signature
from gitstore.numbering import Made, ensure_manifest, made_of
from gitstore.policy import must_keep_policy
from gitstore.repository import Author
from gitstore.snapshot import Snapshot
from gitstore.table_changes import made_by_tables
from gitstore.twins import must_be_alone
from gitstore.update import Update


@dataclass(frozen=True, slots=True)
class Step:
    """What release becomes: `tree` is the project's new folder, None to remove the project.

    `text` is the message, empty for one that says what changed; `merges` is the draft's head that comes in.
    With `keeps_policy` the step may not change what the project asks for of reviews and lint. `consent` is asked last,
    when all else is done, right before the commit is written: it gives trailers too, or raises. One that `returns` goes to
    rules that were published before, under the project.yaml of today.
    """

    project: str
    release: CommitId
    tree: TreeId | None
    publisher: Author
    text: str = ""
    trailers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    merges: CommitId | None = None
    keeps_policy: bool = False
    consent: Callable[[], Mapping[str, str | tuple[str, ...]]] = dict
    returns: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """A publish that happened: the project's version and number now, and how many records it changed."""

    version: CommitId
    number: int
    counts: Mapping[Kind, Counts]


def advance(compiler: Compiler, update: Update, step: Step) -> Published:
    """Take the step; Invalid, NotAllowed, NothingToPublish, LostRace, or what `consent` raises, leave everything as it was."""
    before = project_tree(update, step.release, step.project)
    if step.tree == before:
        raise NothingToPublish(f"{step.project} is published just so already; there is nothing to publish.")
    if step.tree:
        must_be_alone(update, step.release, step.project)
    made = (step.returns and _known(compiler, step, before)) or _judged(compiler, step, before)
    commit = _commit(update, step, _text(compiler, step, before, made.counts))
    manifest = ensure_manifest(compiler, commit, made)
    update.move(RELEASE_REF, step.release, commit)
    with suppress(OSError):  # the publish has happened; what could not be removed is removed after the next one
        clean_releases(compiler.paths, manifest)
        clean_daily(compiler.paths)
    return Published(commit, manifest.projects[step.project].newest, made.counts)


def _known(compiler: Compiler, step: Step, before: TreeId | None) -> Made | None:
    """The step to a state that was found right before: compiled, and compared by tables; None where it is no such one."""
    if before is None or step.tree is None or compiler.known(step.project, step.tree) is None:
        return None
    return made_by_tables(compiler, step.project, (before, step.tree))


def _judged(compiler: Compiler, step: Step, before: TreeId | None) -> Made:
    """The step to a state that has to be checked: what is wrong stops it."""
    old, new = (compiler.snapshot(step.project, tree) if tree else None for tree in (before, step.tree))
    changes = changes_between(old, new)
    if new and step.tree:
        _keep_policy(old, new, changes)
        _compile(compiler, step, (old, new), changes)
    if step.keeps_policy:
        must_keep_policy(old, new)
    return made_of(step.project, (before, step.tree), changes)


def _keep_policy(old: Snapshot | None, new: Snapshot, changes: ChangesByKind) -> None:
    """Hold changed rules to the lint that release asks for, even where they come with a project.yaml that asks less."""
    if old and old.settings.strict and not new.settings.strict and any(changes.values()):
        refuse(new, check_snapshot(new), strict=True)


def _compile(compiler: Compiler, step: Step, states: tuple[Snapshot | None, Snapshot], changes: ChangesByKind) -> None:
    """Compile the new state; where the old one was never right, what changed is not all that can be wrong."""
    known = ensure_manifest(compiler, step.release).projects.get(step.project)
    old, new = states
    if old is None or known is None or known.tree is None or known.failed:
        compiler.judged(step.project, new.tree)
    else:
        compiler.compile_change(old, new, list(chain.from_iterable(changes.values())))


def _text(compiler: Compiler, step: Step, before: TreeId | None, counts: Mapping[Kind, Counts]) -> str:
    """The caller's words, else what the step does."""
    if step.text.strip():
        return step.text.strip()
    return publish_message(step.project, counts, file_changes(compiler, step.project, before, step.tree))


def _commit(update: Update, step: Step, text: str) -> CommitId:
    root = update.put_folder(update.commit(step.release).tree, step.project, step.tree)
    message = dump_message(text, {PUBLISHED_BY: signature(step.publisher), **step.trailers, **step.consent()})
    parents = (step.release, step.merges) if step.merges else (step.release,)
    return update.write_commit(root, parents, step.publisher, message)
