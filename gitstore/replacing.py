"""Search and replace in the working state of a draft: what it would do, rule by rule, and doing it as one commit.

The work is prepared without the repository's lock, which is then held for the commit alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from content.diff import Counts, count
from content.problem import Problem
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.drafts import DraftState, commit_draft, read_draft, write_project
from gitstore.errors import Invalid
from gitstore.layout import CommitId
from gitstore.messages import count_text
from gitstore.replacement_plan import Replaced, ReplaceOrder, plan_replacement, shown
from gitstore.repository import Author, Repository
from gitstore.rule_lists import RuleLists
from gitstore.snapshot import Snapshot
from gitstore.update import Update
from gitstore.workspace import Files

_TOLD_AT_MOST = 50


@dataclass(frozen=True, slots=True)
class Preview:
    """What a replacement would do to a draft that stands at `head` (None: release): a window of it, and totals."""

    head: CommitId | None
    items: Sequence[Replaced]
    counts: Mapping[Kind, int]
    wrong: int


def preview_replacement(
    compiler: Compiler, repository: Repository, order: ReplaceOrder, offset: int, limit: int
) -> Preview:
    """Say what would change; Invalid where what is sought cannot be, NotFound for an id that is not there."""
    state, _, found = plan_replacement(compiler, repository, order)
    counts = {kind: sum(each.kind is kind for each in found) for kind in Kind}
    wrong = sum(1 for each in found if each.problems)
    return Preview(state.head, found[offset : offset + limit], counts, wrong)


@dataclass(frozen=True, slots=True)
class Replacing:
    """What a replacement did; `head` is None where there is no draft, for nothing was found."""

    head: CommitId | None
    counts: Mapping[Kind, Counts]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A replacement that only has to be committed: the draft that it is of, the new bytes of files, what it says."""

    state: DraftState
    files: Files
    counts: Mapping[Kind, Counts]
    text: str


def prepare_replacement(compiler: Compiler, repository: Repository, order: ReplaceOrder) -> Prepared:
    """Do all of the work but writing; Invalid, naming every record, where one would be wrong."""
    state, working, found = plan_replacement(compiler, repository, order)
    _refuse_wrong(found)
    if not found:
        return Prepared(state, {}, {}, "")
    lists = _applied(working, found)
    counts = {kind: count(change for change in lists.changes if change.kind is kind) for kind in Kind}
    numbers = {kind: Counts(0, sum(each.kind is kind for each in found), 0) for kind in Kind}
    return Prepared(state, lists.dump(repository.blob), counts, f"Replace: {count_text(numbers)}")


def commit_replacement(update: Update, prepared: Prepared, author: Author) -> Replacing | None:
    """Commit what was prepared; None where the draft has moved on since, and nothing is changed then.

    What others published meanwhile, or this project's publish of another draft, does not matter.
    """
    state = read_draft(update, prepared.state.name)
    if _standing(state) != _standing(prepared.state):
        return None
    if not prepared.files:
        return Replacing(state.head, {})
    tree = write_project(update, state, prepared.files)
    return Replacing(commit_draft(update, state, tree, author, prepared.text), prepared.counts)


def _standing(state: DraftState) -> tuple[object, ...]:
    return state.head, state.tree, state.base_tree


def _refuse_wrong(found: Sequence[Replaced]) -> None:
    wrong = [each for each in found if each.problems]
    if wrong:
        message = f"{len(wrong)} of {len(found)} records would be wrong; nothing was replaced."
        raise Invalid(message, [_told(each, told) for each in wrong for told in each.problems][:_TOLD_AT_MOST])


def _told(each: Replaced, found: Problem) -> Problem:
    named = replace(found, message=f"{shown(each.placed.record)}: {found.message}")
    return named.at(each.placed.file, each.placed.line)


def _applied(working: Snapshot, found: Sequence[Replaced]) -> RuleLists:
    lists = RuleLists(working)
    for kind in {each.kind for each in found}:
        own = [each for each in found if each.kind is kind]
        new = {(each.placed.file, each.placed.record.identity): each.record for each in own}
        for full in {each.placed.file for each in own}:
            path = full.removeprefix(f"{working.project}/")
            lists.write(kind, path, [new.get((full, each.identity), each) for each in lists.read(kind, path)])
    return lists
