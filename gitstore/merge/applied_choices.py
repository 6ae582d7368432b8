"""Choices applied to a project: the values that they choose, in its files, and its merge with release then."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from content.changes.decision import Decision, Decisions
from content.changes.merge import WHOLE_RULE, rule_fields, rule_of
from content.changes.rule_order import restore_rules
from content.checks.pattern_budget import CallBudget, is_pattern
from content.checks.record_rules import record_problems
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.problem import Problem, errors
from content.records.record import Page, Placed, Record, identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.drafts import DraftState, snapshot_of, write_project
from gitstore.drafts.editing.rule_lists import Place, RuleLists
from gitstore.git.transaction import Transaction
from gitstore.layout import BlobId, TreeId
from gitstore.merge.choices import (
    FILE,
    MatchedChoice,
    build_decisions,
    check_file,
    field_value,
    invalid_value,
    kind_of,
)
from gitstore.merge.draft_merge import trees_of
from gitstore.merge.merging import MergedFiles, merge_trees
from gitstore.merge.page_bodies import with_project_path, with_written_path


class Resolution(NamedTuple):
    """A project with choices applied: its folder, the decisions, and the merge of the folder with release then."""

    tree: TreeId
    decisions: Sequence[Decision]
    merged: MergedFiles


def apply_choices(
    compiler: Compiler,
    transaction: Transaction,
    state: DraftState,
    earlier: Sequence[Decision],
    chosen: Sequence[MatchedChoice],
) -> Resolution:
    """Apply choices to the state of a draft or branch, and merge it with release; only files and folders are written.

    Raises Invalid for a value that is not valid in its place.
    """
    tree = _apply(compiler, transaction, state, chosen)
    decisions = list(chain.from_iterable(build_decisions(choice, conflict) for _, choice, conflict in chosen))
    return Resolution(tree, decisions, merge_state(compiler, replace(state, tree=tree), [*earlier, *decisions]))


def merge_state(compiler: Compiler, state: DraftState, decisions: Sequence[Decision]) -> MergedFiles:
    """Merge a state with release, with the decisions on conflicts."""
    return merge_trees(compiler, state.name.project, trees_of(state), Decisions(decisions))


class AppliedChoices:
    """The rules of a draft with choices applied, one rule after another."""

    def __init__(self, draft: Snapshot, release: Snapshot, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        known = {*draft.costly_sources(limits.rule), *release.costly_sources(limits.rule)}
        self._budget = CallBudget(limits, known)
        self._draft = draft
        self._release = release
        self._changed: dict[Place, dict[str, Record]] = defaultdict(dict)
        self._removed: dict[Place, set[str]] = defaultdict(set)

    def apply(self, kind: Kind, choices: Sequence[MatchedChoice]) -> None:
        """Apply all choices for one rule; each comes with its index in the request."""
        conflict = choices[0][2]
        identity = conflict.get("source") or conflict.get("path") or ""
        before = self._draft.find(kind, identity_id(identity))
        fields = rule_fields(with_project_path(self._draft.project, before) if before else None)
        for place, choice, found in choices:
            fields = self._choose(kind, fields, (place, choice, found), identity)
        after = self._as_written(rule_of(kind, fields), choices, before) if fields is not None else None
        self._check(choices, after)
        self._write(kind, identity, before, after)

    def _choose(
        self, kind: Kind, fields: dict[str, Any] | None, chosen: MatchedChoice, identity: str
    ) -> dict[str, Any] | None:
        place, choice, conflict = chosen
        if choice.take == "draft":
            return fields
        value = conflict["release"]
        if choice.take == "value":
            value = field_value(kind, choice, f"/choices/{place}/value", identity, self._draft.project)
        if choice.field == WHOLE_RULE:
            # a whole rule as a value stays in the file of the side that has the rule
            side = conflict["release"] or conflict["draft"] or {}
            return None if value is None else {"file": side.get("file"), **value}
        return {**(fields or {}), choice.field: value}

    def _as_written(
        self, after: Placed[Record], choices: Iterable[MatchedChoice], before: Placed[Record] | None
    ) -> Placed[Record]:
        """Return the rule with its content file named from its own file; raises Invalid where that is not possible."""
        written = with_written_path(self._draft.project, after, [{after.record.identity: before}] if before else [])
        given = [place for place, choice, _ in choices if choice.field == "contentFile" and choice.take == "value"]
        if given and isinstance(written.record, Page) and not written.record.content_file:
            message = f"A page in {after.file} can only name a content file in its own folder, or below."
            raise invalid_value([Problem("wrong_value", message, pointer=f"/choices/{given[0]}/value")])
        return written

    def _check(self, choices: Iterable[MatchedChoice], after: Placed[Record] | None) -> None:
        """Raise Invalid for a value with an error in its new rule; errors that both sides have are allowed."""
        own = {choice.field: place for place, choice, _ in choices if choice.take == "value"}
        found = self._record_problems(after.record) if after and own else []
        wrong = []
        for problem in found:
            field = problem.pointer.split("/")[1]
            if WHOLE_RULE in own:
                wrong.append(problem.under(f"/choices/{own[WHOLE_RULE]}/value"))
            elif field in own:
                wrong.append(Problem(problem.code, problem.message, pointer=f"/choices/{own[field]}/value"))
        if wrong:
            raise invalid_value(wrong)

    def _record_problems(self, record: Record) -> list[Problem]:
        return (is_pattern(record) and self._budget.spend(record.identity)) or errors(record_problems(record))

    def _write(self, kind: Kind, identity: str, before: Placed[Record] | None, after: Placed[Record] | None) -> None:
        old_path, new_path = (self._path(placed) for placed in (before, after))
        if before and old_path != new_path:
            self._removed[kind, old_path].add(identity)
        if after:
            self._changed[kind, new_path][identity] = after.record

    def write_lists(self) -> RuleLists:
        """Return the lists of the files with all that was chosen: each list is written once, however many choices it has."""
        lists, former = RuleLists(self._draft, self._release), RuleLists(self._release)
        for place in {**self._removed, **self._changed}:
            changed, removed = self._changed.get(place, {}), self._removed.get(place, set())
            present = [record for record in lists.read(*place) if record.identity not in removed]
            added = changed.keys() - {record.identity for record in present}
            present = [changed.get(record.identity, record) for record in present]
            if added:
                order = [record.identity for record in former.read(*place)]
                present = restore_rules(present, order, {key: changed[key] for key in changed if key in added})
            lists.write(*place, present)
        return lists

    def _path(self, placed: Placed[Record] | None) -> str:
        return placed.file.removeprefix(f"{self._draft.project}/") if placed else ""


def _apply(compiler: Compiler, transaction: Transaction, state: DraftState, chosen: Sequence[MatchedChoice]) -> TreeId:
    """Write the draft's folder with the choices applied."""
    project = state.name.project
    draft = snapshot_of(compiler, state)
    release = compiler.snapshot(project, state.release_tree)
    files = _files(transaction, release, chosen)
    applied = _apply_rules(draft, release, chosen, compiler.limits)
    tree = write_project(transaction, state, applied.write_lists().dump(transaction.blob))
    return transaction.write_files(tree, files) or tree


def _apply_rules(
    draft: Snapshot, release: Snapshot, chosen: Sequence[MatchedChoice], limits: PatternLimits
) -> AppliedChoices:
    by_rule: dict[tuple[str, str], list[MatchedChoice]] = defaultdict(list)
    for each in chosen:
        if each[1].kind != FILE:
            by_rule[each[1].kind, each[1].id].append(each)
    applied = AppliedChoices(draft, release, limits)
    for choices in by_rule.values():
        applied.apply(kind_of(choices[0][1]), choices)
    return applied


def _files(transaction: Transaction, release: Snapshot, chosen: Sequence[MatchedChoice]) -> dict[str, BlobId | None]:
    """Return the other files, such as project.yaml, for which the choice is not the draft's."""
    files: dict[str, BlobId | None] = {}
    for place, choice, conflict in chosen:
        path = choice.id.removeprefix(f"{release.project}/")
        if choice.kind == FILE and choice.take == "release":
            files[path] = conflict["release"]
        elif choice.kind == FILE and choice.take == "value":
            files[path] = transaction.write_blob(check_file(choice, release.project, place))
    return files
