"""Search and replace in the working state of a draft: what it would do, rule by rule, and doing it as one commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from content.diff import Counts, count
from content.problem import Problem
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.drafts import commit_draft, write_project
from gitstore.errors import Invalid
from gitstore.layout import CommitId
from gitstore.messages import count_text
from gitstore.replacement_plan import Replaced, ReplaceOrder, plan_replacement, shown
from gitstore.repository import Author, Repository, Update
from gitstore.rule_lists import RuleLists
from gitstore.snapshot import Snapshot

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


def replace_all(compiler: Compiler, update: Update, order: ReplaceOrder, author: Author) -> Replacing:
    """Replace as one commit; Invalid, naming every record, where one would be wrong, and then nothing is changed."""
    state, working, found = plan_replacement(compiler, update, order)
    _refuse_wrong(found)
    if not found:
        return Replacing(state.head, {})
    lists = _applied(working, found)
    tree = write_project(update, state.tree, lists.dump(update.blob))
    counts = {kind: count(change for change in lists.changes if change.kind is kind) for kind in Kind}
    numbers = {kind: Counts(0, sum(each.kind is kind for each in found), 0) for kind in Kind}
    text = f"Replace: {count_text(numbers)}"
    return Replacing(commit_draft(update, state, tree, author, text), counts)


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
