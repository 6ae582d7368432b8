"""The resolution of a draft's conflicts with release, one by one or all together.

Resolutions are stored in the draft's commits; the last one merges release into the draft.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

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
from gitstore.drafts.decisions import dump_decisions, read_decisions
from gitstore.drafts.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    end_draft,
    project_tree,
    read_draft,
    require_draft,
    require_head,
    snapshot_of,
    write_project,
)
from gitstore.drafts.rule_lists import RuleLists
from gitstore.errors import StaleVersion
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import BlobId, CommitId, TreeId
from gitstore.merge.choices import (
    FILE,
    Choice,
    Conflict,
    build_decisions,
    check_file,
    field_value,
    invalid_value,
    kind_of,
    match_choices,
)
from gitstore.merge.draft_merge import write_merged
from gitstore.merge.file_texts import FileTexts
from gitstore.merge.merging import MergedFiles, MergeTrees, merge_trees
from gitstore.merge.page_bodies import with_project_path, with_written_path


class AppliedChoices:
    """The rules of a draft with choices applied, one rule after another."""

    def __init__(self, draft: Snapshot, release: Snapshot, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        known = {*draft.costly_sources(limits.rule), *release.costly_sources(limits.rule)}
        self._budget = CallBudget(limits, known)
        self._draft = draft
        self._release = release
        self.lists = RuleLists(draft, release)

    def apply(self, kind: Kind, choices: Sequence[tuple[int, Choice, Conflict]]) -> None:
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
        self, kind: Kind, fields: dict[str, Any] | None, chosen: tuple[int, Choice, Conflict], identity: str
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
        self, after: Placed[Record], choices: Iterable[tuple[int, Choice, Conflict]], before: Placed[Record] | None
    ) -> Placed[Record]:
        """Return the rule with its content file named from its own file; raises Invalid where that is not possible."""
        written = with_written_path(self._draft.project, after, [{after.record.identity: before}] if before else [])
        given = [place for place, choice, _ in choices if choice.field == "contentFile" and choice.take == "value"]
        if given and isinstance(written.record, Page) and not written.record.content_file:
            message = f"A page in {after.file} can only name a content file in its own folder, or below."
            raise invalid_value([Problem("wrong_value", message, pointer=f"/choices/{given[0]}/value")])
        return written

    def _check(self, choices: Iterable[tuple[int, Choice, Conflict]], after: Placed[Record] | None) -> None:
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
            rest = [record for record in self.lists.read(kind, old_path) if record.identity != identity]
            self.lists.write(kind, old_path, rest)
        if after:
            self._put(kind, new_path, after.record)

    def _put(self, kind: Kind, path: str, record: Record) -> None:
        present = self.lists.read(kind, path)
        known = [each.identity for each in present]
        if record.identity in known:
            self.lists.write(kind, path, [record if each.identity == record.identity else each for each in present])
        else:
            request = [each.identity for each in RuleLists(self._release).read(kind, path)]
            self.lists.write(kind, path, restore_rules(present, request, {record.identity: record}))

    def _path(self, placed: Placed[Record] | None) -> str:
        return placed.file.removeprefix(f"{self._draft.project}/") if placed else ""


@dataclass(frozen=True, slots=True)
class ResolveRequest:
    """The choices of a caller for conflicts of a draft; `head`, if given, must be the draft's.

    With `release`, the project must be published as it is at this commit.
    """

    name: DraftName
    choices: Sequence[Choice]
    author: Author
    head: str = ""
    release: str = ""


@dataclass(frozen=True, slots=True)
class ResolveResult:
    """The draft's head (None where it equals release and has ended), and the remaining conflicts."""

    head: CommitId | None
    settled: int
    conflicts: Sequence[Conflict]


def resolve(compiler: Compiler, transaction: Transaction, request: ResolveRequest) -> ResolveResult:
    """Resolve conflicts, all chosen ones or none.

    Raises StaleDraft or StaleVersion for other commits than those of the request, NotFound for a choice without a conflict, Invalid for a value that is not valid in its place.
    """
    state = read_draft(transaction, request.name)
    require_head(state, request.head)
    require_draft(state)
    _require_release(transaction, state, request.release)
    earlier = read_decisions(transaction, state.head, state.base)
    chosen = match_choices(_merge(compiler, state, state.tree, earlier).conflicts, request.choices)
    tree = _apply(compiler, transaction, state, chosen)
    decisions = list(chain.from_iterable(build_decisions(*pair) for pair in chosen))
    merged = _merge(compiler, state, tree, [*earlier, *decisions])
    if merged.conflicts:
        text = dump_decisions(f"Resolve {_count(len(chosen))}; {_count(len(merged.conflicts))} left", decisions)
        head: CommitId | None = commit_draft(transaction, state, tree, request.author, text)
    else:
        head = _merge_release_in(transaction, state, merged, request.author, len(chosen))
    rest = FileTexts(compiler.repository).add(state.name.project, merged.conflicts)
    return ResolveResult(head, len(chosen), rest)


def _require_release(transaction: Transaction, state: DraftState, release: str) -> None:
    """Raise StaleVersion where the project is not published as it is at a commit; publishes of other projects are ignored."""
    if release in {"", state.release}:
        return
    project, commit = state.name.project, CommitId(release)
    if not transaction.has(commit) or project_tree(transaction, commit, project) != state.release_tree:
        raise StaleVersion(
            f"The project {project} is published otherwise than at {release[:40]}, which the request expects; nothing was "
            "resolved. Read the conflicts again, then choose."
        )


def _merge(compiler: Compiler, state: DraftState, tree: TreeId | None, settled: Sequence[Decision]) -> MergedFiles:
    trees = MergeTrees(state.base_tree, state.release_tree, tree)
    return merge_trees(compiler, state.name.project, trees, Decisions(settled))


def _merge_release_in(
    transaction: Transaction, state: DraftState, merged: MergedFiles, author: Author, count: int
) -> CommitId | None:
    """Merge release into the draft, which ends where it then equals release."""
    tree = write_merged(transaction, state, merged)
    if tree == state.release_tree:
        end_draft(transaction, state)
        return None
    text = f"Merge release; {_count(count)} resolved\n"
    return commit_draft(transaction, state, tree, author, text, merges=state.release)


def _apply(
    compiler: Compiler, transaction: Transaction, state: DraftState, chosen: Sequence[tuple[Choice, Conflict]]
) -> TreeId:
    """Write the draft's folder with the choices applied."""
    project = state.name.project
    draft = snapshot_of(compiler, state)
    release = compiler.snapshot(project, state.release_tree)
    files = _files(transaction, release, chosen)
    applied = _apply_rules(draft, release, chosen, compiler.limits)
    tree = write_project(transaction, state, applied.lists.dump(transaction.blob))
    return transaction.write_files(tree, files) or tree


def _apply_rules(
    draft: Snapshot, release: Snapshot, chosen: Sequence[tuple[Choice, Conflict]], limits: PatternLimits
) -> AppliedChoices:
    by_rule: dict[tuple[str, str], list[tuple[int, Choice, Conflict]]] = defaultdict(list)
    for place, (choice, conflict) in enumerate(chosen):
        if choice.kind != FILE:
            by_rule[choice.kind, choice.id].append((place, choice, conflict))
    applied = AppliedChoices(draft, release, limits)
    for choices in by_rule.values():
        applied.apply(kind_of(choices[0][1]), choices)
    return applied


def _files(
    transaction: Transaction, release: Snapshot, chosen: Sequence[tuple[Choice, Conflict]]
) -> dict[str, BlobId | None]:
    """Return the other files, such as project.yaml, for which the choice is not the draft's."""
    files: dict[str, BlobId | None] = {}
    for place, (choice, conflict) in enumerate(chosen):
        path = choice.id.removeprefix(f"{release.project}/")
        if choice.kind == FILE and choice.take == "release":
            files[path] = conflict["release"]
        elif choice.kind == FILE and choice.take == "value":
            files[path] = transaction.write_blob(check_file(choice, release.project, place))
    return files


def _count(count: int) -> str:
    return "1 conflict" if count == 1 else f"{count} conflicts"
