"""The report on a proposal: its state, and for each project its changes, problems, conflicts and review subject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from content.changes.diff import ChangeType, Counts, change_type, count
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.validation.subjects import Subject, find_subjects
from gitstore.drafts.drafts import project_tree
from gitstore.drafts.revisions import require_readable
from gitstore.errors import Broken, Invalid
from gitstore.git.ancestry import commits_between
from gitstore.git.file_paths import printable_path
from gitstore.git.repository import Author
from gitstore.layout import CommitId, TreeId
from gitstore.proposals.merging import Ends, ProposalMerge, changed_files_beside, merge_proposal
from gitstore.proposals.proposal import UNRELATED, Proposal, first_line, merge_message
from gitstore.publish.authorship import ReviewSubject, read_branch_subject
from gitstore.publish.code_owners import find_code_owners
from gitstore.publish.gate import find_blocking_problems

MOST_PROBLEMS = 1000  # of a project that are shown
_MESSAGE = 10_000  # characters
_SUBJECT = 200  # characters
_NEWEST = 50  # commits that are shown


class ProposalState(StrEnum):
    """The state of a proposal, the first that applies: release has it, or it cannot be merged, or it waits for too long."""

    MERGED = "merged"
    INVALID = "invalid"
    CONFLICTS = "conflicts"
    STALE = "stale"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ProjectReport:
    """The part of a proposal in one project, compared with its base; the conflicts are with release.

    `counts` is None where a changed file cannot be read: its rules would be counted as removed. `subjects` are those of the
    first problems, where they were looked for. Where it is not mergeable, the problems may be those of release.
    """

    name: str
    change: ChangeType
    counts: Mapping[Kind, Counts] | None
    files: Sequence[FileChange]
    problems: Sequence[Problem]
    conflicts: Sequence[dict[str, object]]
    review_subject: ReviewSubject
    subjects: Sequence[Subject | None] = ()
    is_mergeable: bool = True


class ProposedCommit(NamedTuple):
    """A commit of a proposal: its author, the first line of its message, and when it was made, in seconds since 1970."""

    id: CommitId
    author: Author
    subject: str
    time: int


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """A proposal with all that a reader of it needs, but the remarks on it.

    `message` is that of its first commit, `merge_message` that of its merge where the publisher gives none, and `newest` has its
    newest commits, of so many `commits`. `files` are those beside the projects, `conflicts` theirs; `fault` is the reason why the branch cannot be merged at all.
    """

    proposal: Proposal
    message: str
    authors: Sequence[Author]
    commits: int
    is_empty: bool
    projects: Sequence[ProjectReport]
    files: Sequence[FileChange]
    conflicts: Sequence[dict[str, object]]
    fault: str
    merge_message: str = ""
    newest: Sequence[ProposedCommit] = ()

    def state(self, oldest: float) -> ProposalState:
        """Return the state; a head from before `oldest`, in seconds since 1970, is stale."""
        if self.proposal.is_merged or (self.is_empty and not self.fault):
            return ProposalState.MERGED
        if self.fault or any(each.problems for each in self.projects):
            return ProposalState.INVALID
        if self.conflicts or any(each.conflicts for each in self.projects):
            return ProposalState.CONFLICTS
        return ProposalState.STALE if self.proposal.time < oldest else ProposalState.OPEN


def report_proposal(compiler: Compiler, proposal: Proposal) -> ProposalReport:
    """Return the report on a proposal; a branch that cannot be read or merged has a fault."""
    if proposal.head is None or proposal.fault:
        return _without_content(proposal, proposal.fault)
    if proposal.base is None:
        return _without_content(proposal, f"The branch {UNRELATED}")
    try:
        return _report(compiler, proposal, Ends(proposal.base, proposal.release, proposal.head))
    except (Broken, Invalid) as ex:
        return _without_content(proposal, str(ex))


def with_subjects(compiler: Compiler, proposal: Proposal, report: ProjectReport) -> ProjectReport:
    """Return the report on a project with the subjects of its first problems."""
    problems = report.problems[:MOST_PROBLEMS] if report.is_mergeable else ()
    tree = project_tree(compiler.repository, proposal.head, report.name) if problems and proposal.head else None
    return replace(report, subjects=find_subjects(compiler.snapshot(report.name, tree), problems)) if tree else report


def _without_content(proposal: Proposal, fault: str) -> ProposalReport:
    return ProposalReport(proposal, "", (), 0, is_empty=False, projects=(), files=(), conflicts=(), fault=fault)


def _report(compiler: Compiler, proposal: Proposal, ends: Ends) -> ProposalReport:
    repository = compiler.repository
    message = repository.commit(proposal.first or ends.head).message.strip()[:_MESSAGE]
    if proposal.is_merged:
        return ProposalReport(proposal, message, (), 0, is_empty=True, projects=(), files=(), conflicts=(), fault="")
    merge = merge_proposal(compiler, proposal)
    commits = commits_between(repository, ends.base, ends.head)
    authors = {info.author.email: info.author for info in reversed(commits)}
    files = [
        FileChange(printable_path(path), change_type(old, new))
        for path, (old, new) in (changed_files_beside(repository, ends) if proposal.changes_files else {}).items()
    ]
    return ProposalReport(
        proposal,
        message,
        tuple(authors.values()),
        len(commits),
        merge.is_empty,
        [_report_project(compiler, name, ends, merge) for name in proposal.projects],
        files,
        [each for each in merge.conflicts if "project" not in each],
        "",
        merge_message(repository, proposal),
        [
            ProposedCommit(info.id, info.author, first_line(info.message)[:_SUBJECT], info.time)
            for info in commits[:_NEWEST]
        ],
    )


def _report_project(compiler: Compiler, name: str, ends: Ends, merge: ProposalMerge) -> ProjectReport:
    base, release, head = (project_tree(compiler.repository, commit, name) for commit in ends)
    subject = read_branch_subject(compiler, name, (ends.base, ends.head), release)
    owners = find_code_owners(compiler.repository, name, ends.release, base, head)
    conflicts = [each for each in merge.conflicts if each.get("project") == name]
    counts: Mapping[Kind, Counts] | None = None
    files: Sequence[FileChange] = ()
    try:
        counts, problems = _compare(compiler, name, base, head)
        files = file_changes(compiler, name, base, head)
    except Invalid as ex:
        problems = list(ex.problems)
    failure = merge.failures.get(name)
    if failure:
        problems = list(failure.problems)
    return ProjectReport(
        name,
        change_type(base, head),
        counts,
        files,
        problems,
        conflicts,
        replace(subject, owners=owners),
        is_mergeable=failure is None,
    )


def _compare(
    compiler: Compiler, name: str, base: TreeId | None, head: TreeId | None
) -> tuple[dict[Kind, Counts], list[Problem]]:
    """Count the changes of a project, and find the problems that would stop its publish."""
    before, after = (compiler.snapshot(name, tree) if tree else None for tree in (base, head))
    if after:
        require_readable(before, after)
    counts = {kind: count(changes) for kind, changes in changes_between(before, after).items()}
    return counts, find_blocking_problems(compiler, name, base, head)
