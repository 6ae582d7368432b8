"""The merge of a proposal with choices for its conflicts: as for a draft, but all at once, since it is one commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from content.records.problem import Problem
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.decisions import read_decisions
from gitstore.drafts.drafts import DraftName, DraftState
from gitstore.errors import NotFound, StaleVersion
from gitstore.git.repository import TreeEntry
from gitstore.git.transaction import Transaction
from gitstore.layout import PROPOSAL_PREFIX, BlobId, CommitId
from gitstore.merge.applied_choices import apply_choices
from gitstore.merge.choices import (
    Choice,
    PlacedChoice,
    file_text,
    invalid_value,
    key_of,
    match_choices,
)
from gitstore.merge.file_texts import FileTexts
from gitstore.merge.merging import MergedFiles
from gitstore.proposals.merging import (
    Ends,
    ProjectMerge,
    ProposalMerge,
    files_beside,
    folders_of,
    merge_proposal,
    plain_file,
)
from gitstore.proposals.proposal import Proposal, require_intact

_Conflict = dict[str, object]
_Chosen = tuple[ProjectMerge, Sequence[_Conflict]]
_LISTED = "The proposal", "GET …/proposal/ID"


def require_release(transaction: Transaction, proposal: Proposal, release: str) -> None:
    """Raise StaleVersion unless release has all that a proposal changes as it is at a commit; other publishes are ignored."""
    if release in {"", proposal.release}:
        return
    seen = CommitId(release)
    if not transaction.has_commit(seen) or not _is_same(transaction, proposal, seen):
        raise StaleVersion(
            f"Release has other content than at {release[:40]}, which the request expects, in what the branch "
            f"{proposal.branch} changes; nothing changed. Read the conflicts again, then choose."
        )


def _is_same(transaction: Transaction, proposal: Proposal, seen: CommitId) -> bool:
    ends = Ends(seen, proposal.release, proposal.release)
    folders = (folders_of(transaction, name, ends) for name in proposal.projects)
    if any(old != new for old, new, _ in folders):
        return False
    return not proposal.changes_files or files_beside(transaction, seen) == files_beside(transaction, proposal.release)


def resolve_proposal(
    compiler: Compiler, transaction: Transaction, proposal: Proposal, choices: Sequence[Choice]
) -> ProposalMerge:
    """Merge a proposal with release, with choices; the conflicts without one stay. Only files and folders are written.

    Raises NotFound for a choice without a conflict, Invalid for a value that is not valid in its place.
    """
    merge = merge_proposal(compiler, proposal)
    if not choices or merge.failures:
        return merge
    base, head = require_intact(proposal)
    resolver = _Resolver(compiler, transaction, proposal, Ends(base, proposal.release, head))
    by_project: dict[str, list[PlacedChoice]] = {}
    for place, choice in enumerate(choices):
        by_project.setdefault(choice.project, []).append((place, choice))
    for project, placed in by_project.items():
        merge = resolver.resolve_project(merge, project, placed) if project else resolver.resolve_files(merge, placed)
    return merge


@dataclass(frozen=True, slots=True)
class _Resolver:
    """The choices for one proposal, applied project by project."""

    compiler: Compiler
    transaction: Transaction
    proposal: Proposal
    ends: Ends

    def resolve_project(self, merge: ProposalMerge, project: str, choices: Sequence[PlacedChoice]) -> ProposalMerge:
        """Resolve the conflicts of a project."""
        own = [each for each in merge.conflicts if each.get("project") == project]
        is_whole = any(each.get("file") == project for each in own)
        merged, rest = (self._choose_folder if is_whole else self._choose)(project, own, choices)
        projects = {name: each for name, each in merge.projects.items() if name != project}
        if not merged.is_empty:
            projects[project] = merged
        shown = FileTexts(self.compiler.repository).add(project, rest)
        others = [each for each in merge.conflicts if each.get("project") != project]
        return replace(merge, projects=projects, conflicts=[*others, *({**each, "project": project} for each in shown)])

    def resolve_files(self, merge: ProposalMerge, choices: Sequence[PlacedChoice]) -> ProposalMerge:
        """Resolve the conflicts of files beside the projects."""
        own = [each for each in merge.conflicts if "project" not in each]
        chosen = match_choices(own, choices, _LISTED)
        taken = {choice.id for _, choice, _ in chosen}
        beside = files_beside(self.transaction, self.ends.head)
        files = {
            choice.id: self._file(place, choice, beside) for place, choice, _ in chosen if choice.take != "release"
        }
        left = [each for each in merge.conflicts if "project" in each or each["file"] not in taken]
        return replace(merge, files={**merge.files, **files}, conflicts=left)

    def _choose(self, project: str, conflicts: Sequence[_Conflict], choices: Sequence[PlacedChoice]) -> _Chosen:
        """Apply choices until none is left: a conflict may only come up when others are resolved."""
        state = self._state(project)
        decisions = read_decisions(self.compiler.repository, self.ends.head, self.ends.base)
        merged, left = MergedFiles({}, conflicts), list(choices)
        while left:
            known = {key_of(each) for each in merged.conflicts}
            now = [each for each in left if each[1][:3] in known] or left
            places = {place for place, _ in now}
            left = [each for each in left if each[0] not in places]
            chosen = match_choices(merged.conflicts, now, _LISTED)
            tree, more, merged = apply_choices(self.compiler, self.transaction, state, decisions, chosen)
            state, decisions = replace(state, tree=tree), [*decisions, *more]
        return ProjectMerge(state.release_tree, files=merged.files), merged.conflicts

    def _state(self, project: str) -> DraftState:
        base, release, head = folders_of(self.compiler.repository, project, self.ends)
        if release is None:
            raise NotFound(f"{_LISTED[0]} has no conflict in {project[:50]!r}; nothing was resolved.")
        name = DraftName(project, f"{PROPOSAL_PREFIX}{self.proposal.branch}")
        ends = self.ends
        return DraftState(name, ends.head, ends.head, ends.base, ends.release, head, base, release)

    def _choose_folder(self, project: str, conflicts: Sequence[_Conflict], choices: Sequence[PlacedChoice]) -> _Chosen:
        """Take the whole project of one side, where the other one has removed it."""
        [(place, choice, _), *_] = match_choices(conflicts, choices, _LISTED)
        _, release, head = folders_of(self.compiler.repository, project, self.ends)
        if choice.take == "value":
            message = "A whole project has no other value. Take that of draft or release."
            raise invalid_value([Problem("wrong_value", message, pointer=f"/choices/{place}/value")])
        return ProjectMerge(release, head if choice.take == "draft" else release), ()

    def _file(self, place: int, choice: Choice, beside: Mapping[str, TreeEntry]) -> BlobId | None:
        if choice.take == "value":
            return self.transaction.write_blob(file_text(choice, place))
        return plain_file(choice.id, beside.get(choice.id))
