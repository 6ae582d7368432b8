"""The commit statuses that hosts get: of the upstream's tip, and of its branches that are proposals here."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from api.db.namespaces.commit_statuses import StoredStatus
from api.page_links import PageLinks
from api.upstreams.hosts.host_api import StatusState
from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.history.live import LiveNamespace
from gitstore.upstream.upstream_state import UpstreamState

_OF_CONTENT = frozenset({"upstream_invalid", "upstream_rewound", "upstream_diverged", "upstream_garbage"})
_MOST_NAMED = 5


class BranchOutcome(Protocol):
    """A branch of the upstream that is a proposal here: its commit there, its problems, its counts by project."""

    @property
    def id(self) -> str:
        """The id of the proposal."""

    @property
    def commit(self) -> str:
        """The commit on the upstream."""

    @property
    def is_proposal(self) -> bool:
        """False for a branch that was refused: it has no proposal to look at."""

    @property
    def problems(self) -> Sequence[str]:
        """The reasons that stop its publish."""

    @property
    def counts(self) -> Mapping[str, Mapping[Kind, Counts]]:
        """The changed records."""


def tip_context(namespace: str) -> str:
    """Return the context of the status of a tip: whether it is served."""
    return f"waypost/{namespace}/served"


def proposal_context(namespace: str) -> str:
    """Return the context of the status of a proposal: whether it can be merged."""
    return f"waypost/{namespace}/proposal"


def describe_tip(namespace: str, state: UpstreamState, live: LiveNamespace, links: PageLinks) -> StoredStatus | None:
    """Return the status of the upstream's tip after a sync; None where there is nothing to say of it yet."""
    commit = state.origin or state.tip
    if not commit:
        return None
    context = tip_context(namespace)
    if state.fault:
        if state.fault.code not in _OF_CONTENT:
            return None
        text = " ".join(
            ["Not served.", *state.fault.problems[:_MOST_NAMED]] if state.fault.problems else [state.fault.message]
        )
        return StoredStatus(namespace, commit, context, StatusState.FAILURE.value, text, links.upstream(namespace))
    if state.tip != live.manifest.commit or live.is_unfinished:
        return None
    made = {name: each.number for name, each in live.projects.items() if each.version == state.tip}
    target = links.publish(namespace, next(iter(made)), state.tip) if len(made) == 1 else links.upstream(namespace)
    return StoredStatus(namespace, commit, context, StatusState.SUCCESS.value, _served(made), target)


def _served(numbers: Mapping[str, int]) -> str:
    """Name the versions of projects that a commit made, as `Served as version 12 of shop`."""
    made = [f"version {number} of {name}" for name, number in numbers.items()]
    if not made:
        return "Served; no project has changed"
    more = f" and {len(made) - _MOST_NAMED} more" if len(made) > _MOST_NAMED else ""
    return f"Served as {', '.join(made[:_MOST_NAMED])}{more}"


def describe_proposal(namespace: str, branch: BranchOutcome, links: PageLinks) -> StoredStatus:
    """Return the status of a proposal on the commit that it has on the upstream: its problems and its impact."""
    verdict = StatusState.FAILURE if branch.problems else StatusState.SUCCESS
    number = f"{len(branch.problems):,} problem{'' if len(branch.problems) == 1 else 's'}"
    first = f": {branch.problems[0]}" if branch.problems else ""
    text = f"{number if first else 'No problems'}; {_impact(branch.counts)}{first}"
    target = links.proposal(namespace, branch.id) if branch.is_proposal else links.upstream(namespace)
    return StoredStatus(namespace, branch.commit, proposal_context(namespace), verdict.value, text, target)


def _impact(counts: Mapping[str, Mapping[Kind, Counts]]) -> str:
    named = [f"{project}: {count_text(each)}" for project, each in counts.items()]
    more = f" and {len(named) - _MOST_NAMED} more projects" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more if named else "no project changed"
