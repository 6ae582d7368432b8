"""The verdicts on the upstream's branches and pull requests: the problems and the impact of each, as a host is to show them."""

from collections.abc import Mapping
from dataclasses import dataclass

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.layout import proposal_id
from gitstore.proposals.report import ProposalReport
from gitstore.upstream.followed_branches import BRANCH_REFUSED, FollowedBranch


@dataclass(frozen=True, slots=True)
class BranchVerdict:
    """A followed branch, and the report on its proposal; a refused branch has none, but a fault."""

    namespace: str
    branch: FollowedBranch
    report: ProposalReport | None = None

    @property
    def id(self) -> str:
        """The id of the proposal: its state is `proposal/<id>`."""
        return proposal_id(self.branch.ref)

    @property
    def commit(self) -> str:
        """The commit on the upstream that the verdict is on."""
        return self.branch.tip

    @property
    def is_proposal(self) -> bool:
        """False for a refused branch."""
        return bool(self.branch.head)

    @property
    def is_pending(self) -> bool:
        """True while the newest commit there could not be fetched."""
        return self.branch.fault is not None and self.branch.fault.code != BRANCH_REFUSED

    @property
    def problems(self) -> tuple[str, ...]:
        """The reasons that stop its publish: problems of content and files, a conflict with release, a fault of the branch."""
        found = [self.branch.fault.message, *self.branch.fault.problems] if self.branch.fault else []
        if self.report:
            found += [self.report.fault] if self.report.fault else []
            found += [f"{each.name}/{problem.text()}" for each in self.report.projects for problem in each.problems]
            conflicts = len(self.report.conflicts) + sum(len(each.conflicts) for each in self.report.projects)
            found += [f"conflicts with release: {conflicts:,}"] if conflicts else []
        return tuple(found)

    @property
    def counts(self) -> Mapping[str, Mapping[Kind, Counts]]:
        """The added, changed and removed records of each project; a project that cannot be read is missing."""
        projects = self.report.projects if self.report else ()
        return {each.name: each.counts for each in projects if each.counts is not None}
