"""`store.revisions`: any state of a project: the published one, a draft, a version or a branch (see `drafts.revisions`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from content.cache import LruCache
from content.changes.impact import Impact
from content.matching.changed_rules import ChangedRules
from content.matching.matcher import Matcher
from content.records.names import DEFAULT_DRAFT
from content.records.problem import Problem
from content.records.record import Placed, Record
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.comparison.project_changes import NO_IMPACT, ProjectChanges
from gitstore.comparison.state_impact import find_state_impact
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import ChangesByKind, changes_between
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.snapshot_rules import SnapshotRules
from gitstore.compiled.validation.subjects import Subject, find_subjects
from gitstore.drafts.draft_changes import NO_CHANGES, draft_changes
from gitstore.drafts.editing.edits import Edit, Put
from gitstore.drafts.listing import EVERYTHING, DraftView, Query, find_all
from gitstore.drafts.other_state import OtherState
from gitstore.drafts.revisions import BASE, DRAFT, PUBLISHED, Revision, read_base_tree, read_revision, require_readable
from gitstore.drafts.state_changes import compare_trees
from gitstore.errors import BadRequest, Broken, NotFound, UnknownRecord
from gitstore.layout import TreeId
from gitstore.store.access import Component, StoreAccess

_CACHED_MATCHERS = 2  # of drafts and branches; one of 100,000 rules takes some 4 MB


class StateDifference(NamedTuple):
    """The changes between two states of a project, by rule and by file, and their impact where it was asked for."""

    changes: ChangesByKind
    files: Sequence[FileChange]
    impact: Impact


class Revisions(Component):
    """The states of projects; `at` names one, and `draft` the draft that `at` may refer to."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self._matchers: LruCache[tuple[str, str, TreeId], Matcher] = LruCache(_CACHED_MATCHERS)

    def matcher(
        self,
        namespace: str,
        project: str,
        at: str = PUBLISHED,
        draft: str = DEFAULT_DRAFT,
        edits: Sequence[Edit] = (),
    ) -> Matcher:
        """Return a matcher that answers requests as a state of the project does, or would after edits.

        Raises UnknownRecord if an edit removes a record that is not there.
        """
        if at == PUBLISHED and not edits:
            return self._access.project(namespace, project).release.matcher
        with self._access.reading(namespace) as compiler:
            state = self._state(compiler, project, at, draft)
            if at == PUBLISHED or state.version:
                found = compiler.release(project, state.tree).matcher
                return _edited(found, compiler.snapshot(project, state.tree), edits) if edits else found
            found = self._unpublished(compiler, project, state.tree)
            return _edited(found, compiler.snapshot(project, state.tree), edits) if edits else found

    def other_state(self, namespace: str, project: str, at: str, draft: str = DEFAULT_DRAFT) -> OtherState | None:
        """Return what is published for a draft, and the draft for what is published; None where they do not differ.

        None also if `at` is another state, or the draft cannot be read.
        """
        if at not in {PUBLISHED, DRAFT}:
            return None
        published = self._access.project(namespace, project)
        with self._access.reading(namespace) as compiler:
            try:
                state = read_revision(compiler, project, published.entry, DRAFT, draft)
                release = published.entry.tree
                if state.tree == release:
                    return None
                base = None
                if state.base_tree:
                    is_alone = state.base_tree == release
                    base = (
                        published.release.matcher if is_alone else self._unpublished(compiler, project, state.base_tree)
                    )
                own = self._unpublished(compiler, project, state.tree) if at == PUBLISHED else published.release.matcher
                snapshot = compiler.snapshot(project, state.tree)
            except (Broken, NotFound):
                return None
            return OtherState(DRAFT if at == PUBLISHED else PUBLISHED, own, base, snapshot, draft)

    def _unpublished(self, compiler: Compiler, project: str, tree: TreeId) -> Matcher:
        """Return the cached matcher of a state that may not be compiled to a release."""
        return self._matchers.get(
            (compiler.paths.name, project, tree), lambda: Matcher(SnapshotRules(compiler.snapshot(project, tree)))
        )

    def lint(self, namespace: str, project: str, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT) -> list[Problem]:
        """Return every error and warning of a state of the project."""
        with self._access.reading(namespace) as compiler:
            tree = self._state(compiler, project, at, draft).tree
            over_budget = find_budget_problems(None, compiler.snapshot(project, tree), self._access.limits)
            return [*(problem.as_warning() for problem in over_budget), *compiler.lint(project, tree)]

    def subjects(
        self, namespace: str, project: str, tree: TreeId, problems: Sequence[Problem]
    ) -> Sequence[Subject | None]:
        """Return the subject of each problem of a state, the rule or test that has it; None where it has none."""
        with self._access.reading(namespace) as compiler:
            return find_subjects(compiler.snapshot(project, tree), problems)

    def records(
        self,
        namespace: str,
        project: str,
        kind: Kind,
        at: str = PUBLISHED,
        draft: str = DEFAULT_DRAFT,
        query: Query = EVERYTHING,
    ) -> list[Record]:
        """Return the records of a kind in a state of the project that match a query; `change` needs a draft."""
        if query.change and at != DRAFT:
            raise BadRequest("Only a draft has changes. Use at=draft, or leave out 'change'.")
        with self._access.reading(namespace) as compiler:
            state = self._state(compiler, project, at, draft)
            working = compiler.snapshot(project, state.tree)
            if query == EVERYTHING:
                return [placed.record for placed in working.placed(kind)]
            base = compiler.snapshot(project, state.base_tree) if state.base_tree else None
            changes = draft_changes(kind, base, working) if query.change else NO_CHANGES
            return find_all(DraftView(kind, base, working, changes), query)

    def diff(self, namespace: str, project: str, old: str, new: str, draft: str = DEFAULT_DRAFT) -> ChangesByKind:
        """Compare two states of the project, rule by rule; see `difference`."""
        return self.difference(namespace, project, old, new, draft).changes

    def difference(
        self,
        namespace: str,
        project: str,
        old: str,
        new: str,
        draft: str = DEFAULT_DRAFT,
        *,
        finds_impact: bool = False,
    ) -> StateDifference:
        """Compare two states of the project, by rule and by file; `base` as `old` is the point where `new` left release."""
        with self._access.reading(namespace) as compiler:
            start, after = self._ends(compiler, project, old, new, draft)
            before, working = (
                compiler.snapshot(project, start) if start else None,
                compiler.snapshot(project, after),
            )
            files = file_changes(compiler, project, start, after)
            require_readable(before, working)
            changes = changes_between(before, working)
            everything = [change for of_kind in changes.values() for change in of_kind] if finds_impact else []
            impact = find_state_impact(compiler, before, working, everything) if everything else NO_IMPACT
        return StateDifference(changes, files, impact)

    def project_changes(
        self, namespace: str, project: str, old: str, new: str, draft: str = DEFAULT_DRAFT
    ) -> ProjectChanges:
        """Compare two states of the project as `difference` does, with the impact and the checks and tests of the new one."""
        with self._access.reading(namespace) as compiler:
            return compare_trees(compiler, project, *self._ends(compiler, project, old, new, draft))

    def snapshot(self, namespace: str, project: str, at: str, draft: str = DEFAULT_DRAFT) -> Snapshot:
        """Read a state of the project as a whole."""
        with self._access.reading(namespace) as compiler:
            return compiler.snapshot(project, self._state(compiler, project, at, draft).tree)

    def _ends(self, compiler: Compiler, project: str, old: str, new: str, draft: str) -> tuple[TreeId | None, TreeId]:
        after = self._state(compiler, project, new, draft)
        is_base = old == BASE
        before = (
            read_base_tree(compiler, project, after) if is_base else self._state(compiler, project, old, draft).tree
        )
        return before, after.tree

    def _state(self, compiler: Compiler, project: str, at: str, draft: str) -> Revision:
        entry = self._access.project(compiler.paths.name, project).entry
        return read_revision(compiler, project, entry, at, draft)


def _edited(matcher: Matcher, snapshot: Snapshot, edits: Sequence[Edit]) -> Matcher:
    """Lay edits over the rules of a matcher: puts and removals, which need no new set of rules."""
    rules, new = ChangedRules(matcher.source), dict[tuple[Kind, str], Record]()
    for place, edit in enumerate(edits):
        if isinstance(edit, Put):
            before = snapshot.find(edit.kind, edit.record.id)
            rules.put(replace(before, record=edit.record) if before else Placed(edit.record))
            new[edit.kind, edit.record.id] = edit.record
        else:
            known = new.pop((edit.kind, edit.id), None)
            found = known or getattr(snapshot.find(edit.kind, edit.id), "record", None)
            if found is None:
                raise UnknownRecord(f"There is no record with the id {edit.id!r} in this state.", place)
            rules.remove(found)
    return Matcher(rules)
