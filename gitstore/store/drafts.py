"""`store.drafts`: the working branches of projects: reports, lists, edits, imports and conflicts."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from content.cache import LruCache
from content.changes.diff import Change, Counts, count
from content.checks.expectations import Expectation
from content.checks.pattern_budget import CallBudget
from content.formats.tsv import Row
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.drafts.bulk.file_fixes import RuleFix, find_fixes
from gitstore.drafts.bulk.fixing import DraftFixes, FindFixes, FixRequest, apply_fixes, list_fixes
from gitstore.drafts.bulk.importing import ImportOptions, ImportResult, import_rows, plan_rows, preview_import
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.bulk.replacing import (
    ReplacePreview,
    ReplaceResult,
    commit_replacement,
    prepare_replacement,
    preview_replacement,
)
from gitstore.drafts.comparisons import Comparisons
from gitstore.drafts.counts_cache import CountsCache
from gitstore.drafts.draft_tests import DraftTests, run_tests, write_tests
from gitstore.drafts.drafts import (
    DraftName,
    DraftState,
    EditResult,
    discard_draft,
    edit_draft,
    project_tree,
    read_draft,
    require_head,
    write_record,
)
from gitstore.drafts.editing.edits import Edit, Patch, Put
from gitstore.drafts.listing import (
    EVERYTHING,
    DraftRecord,
    DraftView,
    ItemPage,
    Query,
    Span,
    find_item,
    list_changes,
    list_items,
)
from gitstore.drafts.reopening import reopen
from gitstore.drafts.reverting import RevertRequest, RevertResult, revert
from gitstore.drafts.review_view import ReviewView, view_draft
from gitstore.drafts.shared_records import MOST_SHARED, ChangedRecords, SharedRecord
from gitstore.errors import Invalid, LostRace, NotFound, StoreError
from gitstore.git.after_commit import after_commit
from gitstore.git.refs import list_drafts
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId, TreeId
from gitstore.merge.draft_merge import merge_draft
from gitstore.merge.file_texts import FileTexts
from gitstore.merge.merging import MergedFiles
from gitstore.merge.resolving import ResolveRequest, ResolveResult, resolve
from gitstore.publish.authorship import ReviewSubject
from gitstore.publish.code_owners import read_owned_subject
from gitstore.publish.open_drafts import DraftHead, OpenDraft, list_heads, read_open_draft
from gitstore.store.access import Component, StoreAccess

_CACHED_OPEN = 500  # drafts of the overview; one is a few hundred bytes
_CACHED_FIXES = 50_000  # of the last states; one takes some 500 bytes
_CACHED_DRAFTS = 4  # whose reports are cached
_TRIES_WITHOUT_LOCK = 2


@dataclass(frozen=True, slots=True)
class DraftReport:
    """The report on a draft before it is published: its changes, problems, conflicts and review subject.

    Where it is not mergeable, the problems may be those of release.
    """

    state: DraftState
    counts: Mapping[Kind, Counts]
    problems: Sequence[Problem]
    conflicts: Sequence[dict[str, object]]
    review_subject: ReviewSubject
    files: Sequence[FileChange]
    is_mergeable: bool = True


class Drafts(Component):
    """The drafts of projects; each change is one commit on the draft's branch."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self._compared = Comparisons()
        self._reports: LruCache[tuple[str, DraftState], DraftReport] = LruCache(_CACHED_DRAFTS)
        self._fixes: LruCache[tuple[str, str, TreeId], Sequence[RuleFix]] = LruCache(
            _CACHED_FIXES, weigh=lambda fixes: len(fixes) + 1
        )
        self._changed = ChangedRecords()
        self._open: LruCache[tuple[str, DraftHead, CommitId], OpenDraft] = LruCache(_CACHED_OPEN)

    def names(self, namespace: str, project: str) -> Sequence[str]:
        """Return the names of a project's drafts."""
        return list_drafts(self._access.directory.namespace(namespace).repository, project)

    def heads(self, projects: Mapping[str, Collection[str]]) -> list[tuple[str, DraftHead]]:
        """Return the branches of the drafts of projects, which are given by namespace; none of one that cannot be read."""
        found: list[tuple[str, DraftHead]] = []
        for namespace, names in projects.items():
            with suppress(StoreError, OSError), self._access.reading(namespace) as compiler:
                found += ((namespace, head) for head in list_heads(compiler.repository, names))
        return found

    def read_open(self, namespace: str, head: DraftHead) -> OpenDraft | None:
        """Return a draft that has changes, else None; cached until it or release moves."""
        with suppress(StoreError, OSError), self._access.reading(namespace) as compiler:
            key = (namespace, head, compiler.repository.release())
            found = self._open.find(key) or read_open_draft(compiler, head.name)
            if found:
                self._open.put(key, found)
            return found
        return None

    def find_counts(self, namespace: str, head: DraftHead, draft: OpenDraft) -> Mapping[Kind, Counts] | None:
        """Return the counts of a draft's changes where some process has counted them; no rule is read for it."""
        return CountsCache(self._access.directory.namespace(namespace).draft_counts).find(head.name, draft.trees)

    def listed(self, namespace: str, project: str) -> list[tuple[DraftHead, OpenDraft, Mapping[Kind, Counts]]]:
        """Return the drafts of a project that have changes, the newest first, with the counts of their changes."""
        found = list[tuple[DraftHead, OpenDraft, Mapping[Kind, Counts]]]()
        for _, head in sorted(self.heads({namespace: [project]}), key=lambda each: (-each[1].time, each[1].name)):
            opened = self.read_open(namespace, head)
            if opened:
                with self._access.reading(namespace) as compiler:
                    state = read_draft(compiler.repository, head.name)
                    counts = self._count(namespace, compiler, state, self._states(compiler, state))
                found.append((head, opened, counts))
        return found

    def shared(
        self, namespace: str, name: DraftName, kinds: Collection[Kind], ids: Collection[str]
    ) -> list[tuple[DraftHead, list[SharedRecord]]]:
        """Return the newest other drafts of the project with those of the records that they change.

        A damaged draft is left out.
        """
        found = list[tuple[DraftHead, list[SharedRecord]]]()
        with self._access.reading(namespace) as compiler:
            heads = sorted(list_heads(compiler.repository, [name.project]), key=lambda head: (-head.time, head.name))
            for head in [each for each in heads if each.name != name][:MOST_SHARED]:
                with suppress(StoreError, OSError):
                    trees = read_draft(compiler.repository, head.name).trees
                    found.append((head, self._changed.find(compiler, name.project, trees, kinds, ids)))
        return found

    def report(self, namespace: str, name: DraftName) -> DraftReport:
        """Return the changes, problems and conflicts of a draft; cached until the draft or release moves."""
        with self._access.reading(namespace) as compiler:
            state = read_draft(compiler.repository, name)
            return self._reports.get((namespace, state), lambda: self._report(namespace, compiler, state))

    def _report(self, namespace: str, compiler: Compiler, state: DraftState) -> DraftReport:
        before, working = self._states(compiler, state)
        counts = self._count(namespace, compiler, state, (before, working))
        under_review = read_owned_subject(compiler, state)
        files = file_changes(compiler, state.name.project, state.base_tree, state.tree)
        merged = MergedFiles({}, ())
        if not state.is_alone:
            try:
                merged = merge_draft(compiler, state)
            except Invalid as ex:
                return DraftReport(state, counts, ex.problems, (), under_review, files, is_mergeable=False)
        over_budget = find_budget_problems(before, working, compiler.limits)
        conflicts = FileTexts(compiler.repository).add(state.name.project, merged.conflicts)
        in_files_only = bool(conflicts or over_budget)
        found = working.problems if in_files_only else compiler.lint(state.name.project, working.tree)
        problems = [*over_budget, *found]
        return DraftReport(state, counts, problems, conflicts, under_review, files)

    def review_subject(self, namespace: str, name: DraftName) -> ReviewSubject:
        """Return the subject of a draft's review: its head, commits, authors and owners, and whether a review is required."""
        with self._access.reading(namespace) as compiler:
            return read_owned_subject(compiler, read_draft(compiler.repository, name))

    def has_record(self, namespace: str, name: DraftName, kind: Kind, record_id: str) -> bool:
        """Tell whether a draft holds or removes the record with an id."""
        with self._access.reading(namespace) as compiler:
            sides = self._states(compiler, read_draft(compiler.repository, name))
        return any(side.locate(kind, record_id) for side in sides if side)

    def identities(
        self, namespace: str, name: DraftName, wanted: Collection[tuple[Kind, str]]
    ) -> dict[tuple[Kind, str], str]:
        """Return the sources and paths of records by kind and id, as in the draft, else as in its base."""
        if not wanted:
            return {}
        with self._access.reading(namespace) as compiler:
            sides = self._states(compiler, read_draft(compiler.repository, name))
        found = {each: [side.find(*each) for side in reversed(sides) if side] for each in wanted}
        return {each: next(filter(None, placed)).record.identity for each, placed in found.items() if any(placed)}

    def records(
        self,
        namespace: str,
        name: DraftName,
        kind: Kind,
        query: Query,
        span: Span,
        etag_matches: Callable[[str], bool] = lambda _: False,
    ) -> ItemPage:
        """Return a window of the draft's records and the total of the query; no records where the caller knows the etag."""
        with self._access.reading(namespace) as compiler:
            draft = self._draft(namespace, compiler, read_draft(compiler.repository, name), kind)
            etag = draft.window_etag(query, span)
            return ItemPage((), 0, etag, draft.head) if etag_matches(etag) else list_items(draft, query, span)

    def record(self, namespace: str, name: DraftName, kind: Kind, record_id: str) -> DraftRecord:
        """Read one record of a draft; NotFound where the draft has no record with this id."""
        with self._access.reading(namespace) as compiler:
            found = find_item(self._draft(namespace, compiler, read_draft(compiler.repository, name), kind), record_id)
        if found is None:
            raise NotFound(f"There is no {kind.removesuffix('s')} with the id {record_id[:40]!r} in this draft.")
        return found

    def call_budget(self, namespace: str, name: DraftName) -> CallBudget:
        """Return the budget for the regular expressions of one call; those that the draft has are free."""
        with self._access.reading(namespace) as compiler:
            state = read_draft(compiler.repository, name)
            known = self._states(compiler, state)[1].costly_sources(compiler.limits.rule)
        return CallBudget(self._access.limits, known)

    def edit(
        self, namespace: str, name: DraftName, edits: Sequence[Edit], author: Author, head: str = ""
    ) -> EditResult:
        """Apply edits to a draft, all or none, as one commit."""
        return self._access.write(
            namespace, lambda compiler, opened: edit_draft(compiler, opened, name, edits, author, head)
        )

    def tests(self, namespace: str, name: DraftName) -> DraftTests:
        """Read and run the tests of a draft."""
        with self._access.reading(namespace) as compiler:
            return run_tests(compiler, name)

    def write_tests(
        self,
        namespace: str,
        name: DraftName,
        tests: Sequence[Expectation],
        author: Author,
        head: str = "",
        *,
        adds: bool = False,
    ) -> tuple[CommitId | None, int]:
        """Replace the tests of a draft, or add to them, as one commit; return its head and the number of tests."""
        return self._access.write(
            namespace, lambda _, opened: write_tests(opened, name, tests, author, head, adds=adds)
        )

    def fixes(self, namespace: str, name: DraftName) -> DraftFixes:
        """Return the rules of a draft that can be fixed without another answer to any request."""
        with self._access.reading(namespace) as compiler:
            return list_fixes(compiler, name, self._finding_fixes(namespace))

    def fix(self, namespace: str, request: FixRequest) -> tuple[CommitId | None, int]:
        """Fix rules of a draft, all or none, as one commit; return its head and the number of fixes."""
        find = self._finding_fixes(namespace)
        return self._access.write(namespace, lambda compiler, opened: apply_fixes(compiler, opened, request, find))

    def _finding_fixes(self, namespace: str) -> FindFixes:
        """Return a search for fixes that keeps those of the last states: they depend on the tree alone."""
        return lambda snapshot: self._fixes.get(
            (namespace, snapshot.project, snapshot.tree), lambda: find_fixes(snapshot)
        )

    def new_problems(self, namespace: str, name: DraftName, head: CommitId) -> list[Problem]:
        """Return the problems that block a publish of a draft at this head, and that its last commit brought."""
        with self._access.reading(namespace) as compiler:
            commits = [head, *compiler.repository.commit(head).parents[:1]]
            trees = [project_tree(compiler.repository, commit, name.project) for commit in commits]
            after, before = ([compiler.snapshot(name.project, tree) if tree else None for tree in trees] + [None])[:2]
            found = compiler.find_blocking_problems(before, after) if after else ()
            known = compiler.find_blocking_problems(None, before) if found and before else ()
        old = {(problem.code, problem.message, problem.file) for problem in known}
        return [problem for problem in found if (problem.code, problem.message, problem.file) not in old]

    def write(self, namespace: str, name: DraftName, edit: Put | Patch, author: Author) -> DraftRecord:
        """Write one record of a draft as one commit; return it as it is then."""
        written, files = self._access.write(
            namespace, lambda compiler, opened: write_record(compiler, opened, name, edit, author)
        )
        with after_commit("caching the written files"):
            self._access.add_segments(namespace, files)  # the lock is released: other writers need not wait for it
        return written

    def import_rows(
        self, namespace: str, name: DraftName, rows: Iterable[Row], options: ImportOptions, author: Author
    ) -> ImportResult:
        """Import rows into a draft as one commit, or report the problems of the rows; a dry run writes nothing."""
        with self._access.reading(namespace) as reader:  # before the lock is taken
            state = read_draft(reader.repository, name)
            require_head(state, options.head)
            planned = plan_rows(reader, state, rows, options)
            if options.dry_run:
                return preview_import(reader, state, planned, options)
        done = self._access.write(
            namespace,
            lambda compiler, opened: import_rows(compiler, opened, read_draft(opened, name), planned, options, author),
        )
        with after_commit("caching the imported files"):  # so that the count below has no file to parse
            self._access.add_segments(namespace, done.files)
        if done.head is None or not done.is_countable:
            return done
        return replace(done, never_answer=self._count_never_answering(namespace, name))

    def _count_never_answering(self, namespace: str, name: DraftName) -> int | None:
        """Count the rules of a draft that can never answer; the import is done whatever happens here."""
        with after_commit("the count of rules that never answer"), self._access.reading(namespace) as compiler:
            tree = read_draft(compiler.repository, name).tree
            return compiler.count_never_answering(name.project, tree) if tree else None
        return None

    def revert(self, namespace: str, request: RevertRequest) -> RevertResult:
        """Discard some changes of a draft, all or none, as one commit."""
        done = self._access.write(namespace, lambda compiler, opened: revert(compiler, opened, request))
        with after_commit("caching the reverted files"):
            self._access.add_segments(namespace, done.rewritten)
        return done

    def preview_replacement(self, namespace: str, request: ReplaceRequest, offset: int, limit: int) -> ReplacePreview:
        """Return a window of the changes that a search-and-replace would make in a draft, with totals."""
        with self._access.reading(namespace) as compiler:
            return preview_replacement(compiler, compiler.repository, request, offset, limit)

    def replace(self, namespace: str, request: ReplaceRequest, author: Author) -> ReplaceResult:
        """Search and replace in a draft, all or none, as one commit.

        The long part runs without the lock; it is repeated if the draft moves meanwhile, the last time under the lock.
        """
        for _ in range(_TRIES_WITHOUT_LOCK):
            with self._access.reading(namespace) as compiler:
                prepared = prepare_replacement(compiler, compiler.repository, request)
            done = self._access.write(namespace, lambda _, opened: commit_replacement(opened, prepared, author))  # noqa: B023 - called at once
            if done:
                return done
        return self._access.write(namespace, lambda compiler, opened: _replace(compiler, opened, request, author))

    def resolve(self, namespace: str, request: ResolveRequest) -> ResolveResult:
        """Resolve conflicts of a draft with release; the last resolution merges release into the draft."""
        return self._access.write(namespace, lambda compiler, opened: resolve(compiler, opened, request))

    def review_view(
        self, namespace: str, name: DraftName, kinds: Collection[Kind], offset: int, limit: int
    ) -> ReviewView:
        """Return a window of a draft's changes, rule by rule, and their impact."""
        with self._access.reading(namespace) as compiler:
            return view_draft(compiler, name, kinds, offset, limit)

    def changes(
        self, namespace: str, name: DraftName, kinds: Collection[Kind], span: Span, query: Query = EVERYTHING
    ) -> tuple[DraftState, Mapping[Kind, Counts], Sequence[Change], int]:
        """Return a window of a draft's changes that match, with the numbers of all of them by kind, and how many match."""
        counts, changes = dict[Kind, Counts](), list[Change]()
        with self._access.reading(namespace) as compiler:
            state = read_draft(compiler.repository, name)
            before = 0
            for kind in (kind for kind in Kind if kind in kinds):
                left = Span(max(span.offset - before, 0), span.limit - len(changes))
                found, total, counts[kind] = list_changes(self._draft(namespace, compiler, state, kind), left, query)
                changes += found
                before += total
        return state, counts, changes, before

    def reopen(
        self, namespace: str, name: DraftName, word: str, author: Author, message: str = "", head: str = ""
    ) -> tuple[CommitId, dict[Kind, Counts]]:
        """Create a draft with the rules and pages of an old version; return its head and its change counts against release."""
        version = self._access.version(namespace, name.project, word)
        commit, changes = self._access.write(
            namespace, lambda compiler, opened: reopen(compiler, opened, name, version, author, message, head)
        )
        return commit, {kind: count(of_kind) for kind, of_kind in changes.items()}

    def discard(self, namespace: str, name: DraftName, head: str = "") -> CommitId | None:
        """Discard a draft, with `head` only one at this commit; return the commit it was at, None if it could not be read."""
        return self._access.write(namespace, lambda _, opened: discard_draft(opened, name, head))

    def _count(
        self, namespace: str, compiler: Compiler, state: DraftState, states: tuple[Snapshot | None, Snapshot]
    ) -> Mapping[Kind, Counts]:
        return self._compared.counts(namespace, state, states, CountsCache(compiler.paths.draft_counts))

    def _states(self, compiler: Compiler, state: DraftState) -> tuple[Snapshot | None, Snapshot]:
        before = compiler.snapshot(state.name.project, state.base_tree) if state.base_tree else None
        if state.tree is None:
            raise NotFound(f"The draft {state.name.draft} has no project {state.name.project}.")
        return before, compiler.snapshot(state.name.project, state.tree)

    def _draft(self, namespace: str, compiler: Compiler, state: DraftState, kind: Kind) -> DraftView:
        return self._compared.view(namespace, state, self._states(compiler, state), kind)


def _replace(compiler: Compiler, transaction: Transaction, request: ReplaceRequest, author: Author) -> ReplaceResult:
    """Prepare and commit a replacement at once, under the lock."""
    done = commit_replacement(transaction, prepare_replacement(compiler, transaction, request), author)
    if done is None:
        raise LostRace("A push by plain Git moved the draft; nothing was replaced. Try again.")
    return done
