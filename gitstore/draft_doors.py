"""What can be asked of a draft, and done to it, until it is published."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from content.diff import Counts, count
from content.problem import Problem
from content.tsv import Row
from content.vocabulary import Kind
from gitstore import publishing
from gitstore.authorship import UnderReview, read_under_review
from gitstore.changes import changes_between
from gitstore.checks import check_snapshot
from gitstore.compiler import Compiler
from gitstore.doors import Doors
from gitstore.draft_changes import DraftChanges, draft_changes
from gitstore.drafts import DraftName, DraftState, Edited, discard_draft, edit_draft, read_draft
from gitstore.edits import Edit
from gitstore.errors import Invalid, LostRace, NotFound
from gitstore.file_changes import FileChange, file_changes
from gitstore.importing import Imported, ImportOptions, import_rows
from gitstore.layout import CommitId
from gitstore.listing import Draft, Item, Listed, Query, Span, find_item, list_items
from gitstore.recent import Recent
from gitstore.reopening import reopen
from gitstore.replacement_plan import ReplaceOrder
from gitstore.replacing import Preview, Replacing, commit_replacement, prepare_replacement, preview_replacement
from gitstore.repository import Author
from gitstore.resolving import Resolved, ResolveOrder, resolve
from gitstore.reverting import Reverted, RevertOrder, revert
from gitstore.review_view import ReviewView, view_draft
from gitstore.snapshot import Snapshot

_DRAFTS_AT_HAND = 4
"""States of drafts whose changes are kept, for paging; one with 100,000 changes takes some 8 MB."""
_TRIES_WITHOUT_LOCK = 2


@dataclass(frozen=True, slots=True)
class DraftReport:
    """What there is to know of a draft before it is published."""

    state: DraftState
    counts: Mapping[Kind, Counts]
    problems: Sequence[Problem]
    conflicts: Sequence[dict[str, object]]
    under_review: UnderReview
    files: Sequence[FileChange]


class DraftDoors(Doors):
    """The part of the store that is about drafts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._changes: Recent[tuple[str, str, Kind], DraftChanges] = Recent(_DRAFTS_AT_HAND)
        self._reports: Recent[tuple[str, DraftState], DraftReport] = Recent(_DRAFTS_AT_HAND)

    def report(self, namespace: str, name: DraftName) -> DraftReport:
        """What a draft changes, what is wrong with it, and what conflicts with release; kept while neither moves."""
        with self._reading(namespace) as compiler:
            state = read_draft(compiler.repository, name)
            return self._reports.get((namespace, state), lambda: self._report(compiler, state))

    def _report(self, compiler: Compiler, state: DraftState) -> DraftReport:
        before, working = self._states(compiler, state)
        counts = {kind: count(changes) for kind, changes in changes_between(before, working).items()}
        under_review = read_under_review(compiler, state)
        files = file_changes(compiler, state.name.project, state.base_tree, state.tree)
        try:
            conflicts = publishing.merge_draft(compiler, state).conflicts
        except Invalid as ex:
            return DraftReport(state, counts, ex.problems, (), under_review, files)
        problems = list(working.problems) if conflicts else check_snapshot(working)
        return DraftReport(state, counts, problems, conflicts, under_review, files)

    def under_review(self, namespace: str, name: DraftName) -> UnderReview:
        """A draft as its reviewers see it: its head, its commits and who wrote them, and whether they are asked for."""
        with self._reading(namespace) as compiler:
            return read_under_review(compiler, read_draft(compiler.repository, name))

    def in_draft(self, namespace: str, name: DraftName, kind: Kind, record_id: str) -> bool:
        """Tell whether a draft has a record of this id, or removes it."""
        with self._reading(namespace) as compiler:
            before, working = self._states(compiler, read_draft(compiler.repository, name))
            changed = {change.id for change in changes_between(before, working)[kind]}
        return record_id in changed or working.find(kind, record_id) is not None

    def identities(
        self, namespace: str, name: DraftName, wanted: Collection[tuple[Kind, str]]
    ) -> dict[tuple[Kind, str], str]:
        """The sources and paths of these records, by kind and id, as they are in a draft or were where it began."""
        if not wanted:
            return {}
        with self._reading(namespace) as compiler:
            sides = self._states(compiler, read_draft(compiler.repository, name))
        found = {each: [side.find(*each) for side in reversed(sides) if side] for each in wanted}
        return {each: next(filter(None, placed)).record.identity for each, placed in found.items() if any(placed)}

    def items(
        self,
        namespace: str,
        name: DraftName,
        kind: Kind,
        query: Query,
        span: Span,
        is_known: Callable[[str], bool] = lambda _: False,
    ) -> Listed:
        """A window of the working state, and how many items the query has in all; no items where its etag is known."""
        with self._reading(namespace) as compiler:
            draft = self._draft(compiler, read_draft(compiler.repository, name), kind)
            etag = draft.window_etag(query, span)
            return Listed((), 0, etag) if is_known(etag) else list_items(draft, query, span)

    def item(self, namespace: str, name: DraftName, kind: Kind, record_id: str) -> Item:
        """One record of the working state; NotFound where there is none of that id."""
        with self._reading(namespace) as compiler:
            found = find_item(self._draft(compiler, read_draft(compiler.repository, name), kind), record_id)
        if found is None:
            raise NotFound(f"There is no {kind.removesuffix('s')} with the id {record_id[:40]!r} in this draft.")
        return found

    def edit(self, namespace: str, name: DraftName, edits: Sequence[Edit], author: Author, head: str = "") -> Edited:
        """Make edits on a draft, all or nothing, as one commit."""
        with self._writing(namespace) as (compiler, opened):
            return edit_draft(compiler, opened, name, edits, author, head)

    def import_rows(
        self, namespace: str, name: DraftName, rows: Iterable[Row], options: ImportOptions, author: Author
    ) -> Imported:
        """Import rows into a draft as one commit, or say what is wrong with them."""
        with self._writing(namespace) as (compiler, opened):
            return import_rows(compiler, opened, read_draft(opened, name), rows, options, author)

    def revert(self, namespace: str, order: RevertOrder) -> Reverted:
        """Discard some changes of a draft, all or none, as one commit."""
        with self._writing(namespace) as (compiler, opened):
            return revert(compiler, opened, order)

    def preview_replacement(self, namespace: str, order: ReplaceOrder, offset: int, limit: int) -> Preview:
        """What a search-and-replace would do to a draft: a window of it, and totals."""
        with self._reading(namespace) as compiler:
            return preview_replacement(compiler, compiler.repository, order, offset, limit)

    def replace_all(self, namespace: str, order: ReplaceOrder, author: Author) -> Replacing:
        """Search and replace in a draft, all or nothing, as one commit; what takes long is done without the lock.

        It is done again where the draft moved meanwhile, and the last time with the lock held.
        """
        for _ in range(_TRIES_WITHOUT_LOCK):
            with self._reading(namespace) as compiler:
                prepared = prepare_replacement(compiler, compiler.repository, order)
            with self._writing(namespace) as (_, opened):
                if done := commit_replacement(opened, prepared, author):
                    return done
        with self._writing(namespace) as (compiler, opened):
            done = commit_replacement(opened, prepare_replacement(compiler, opened, order), author)
        if done is None:
            raise LostRace("The draft was changed again and again by plain Git; nothing was replaced. Try again.")
        return done

    def resolve(self, namespace: str, order: ResolveOrder) -> Resolved:
        """Settle conflicts of a draft with release; the last one merges release into the draft."""
        with self._writing(namespace) as (compiler, opened):
            return resolve(compiler, opened, order)

    def view_draft(
        self, namespace: str, name: DraftName, kinds: Collection[Kind], offset: int, limit: int
    ) -> ReviewView:
        """What a draft changes, rule by rule, in a window, and what that does."""
        with self._reading(namespace) as compiler:
            return view_draft(compiler, name, kinds, offset, limit)

    def reopen(
        self, namespace: str, name: DraftName, word: str, author: Author, message: str = "", head: str = ""
    ) -> tuple[CommitId, dict[Kind, Counts]]:
        """Make a draft of an old version's rules and pages; gives its head, and how much it changes against release."""
        version = self.version(namespace, name.project, word)
        with self._writing(namespace) as (compiler, opened):
            commit, changes = reopen(compiler, opened, name, version, author, message, head)
            return commit, {kind: count(of_kind) for kind, of_kind in changes.items()}

    def discard(self, namespace: str, name: DraftName) -> None:
        """Throw a draft away."""
        with self._writing(namespace) as (_, opened):
            discard_draft(opened, name)

    def _states(self, compiler: Compiler, state: DraftState) -> tuple[Snapshot | None, Snapshot]:
        before = compiler.snapshot(state.name.project, state.base_tree) if state.base_tree else None
        if state.tree is None:
            raise NotFound(f"The draft {state.name.draft} has no project {state.name.project}.")
        return before, compiler.snapshot(state.name.project, state.tree)

    def _draft(self, compiler: Compiler, state: DraftState, kind: Kind) -> Draft:
        before, working = self._states(compiler, state)
        key = (state.base_tree or "", working.tree, kind)
        return Draft(kind, before, working, self._changes.get(key, lambda: draft_changes(kind, before, working)))
