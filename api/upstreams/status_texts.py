"""The commit statuses that hosts get: of the upstream's tip, and of its branches that are proposals here."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from api.db.namespaces.commit_statuses import StoredStatus
from api.upstreams.hosts.host_api import StatusState
from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.history.live import LiveNamespace
from gitstore.upstream.upstream_state import UpstreamState

_OF_CONTENT = frozenset({"upstream_invalid", "upstream_rewound", "upstream_diverged", "upstream_garbage"})
_MOST_NAMED = 5


class StatusLinks(NamedTuple):
    """The addresses that statuses link to, below the public origin of the service; without one there are no links."""

    public_url: str = ""

    def upstream(self, namespace: str) -> str:
        """Return the address of an upstream's state."""
        return self._below(f"/api/namespace/{namespace}/upstream")

    def proposal(self, namespace: str, proposal: str) -> str:
        """Return the address of a proposal."""
        return self._below(f"/api/namespace/{namespace}/proposal/{proposal}")

    def _below(self, path: str) -> str:
        return self.public_url + path if self.public_url else ""


class BranchOutcome(Protocol):
    """A branch of the upstream that is a proposal here: its commit there, its problems, its counts by project."""

    @property
    def id(self) -> str:
        """The id of the proposal."""

    @property
    def commit(self) -> str:
        """The commit on the upstream."""

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


def describe_tip(namespace: str, state: UpstreamState, live: LiveNamespace, links: StatusLinks) -> StoredStatus | None:
    """Return the status of the upstream's tip after a sync; None where there is nothing to say of it yet."""
    commit = state.origin or state.tip
    if not commit:
        return None
    target, context = links.upstream(namespace), tip_context(namespace)
    if state.fault:
        if state.fault.code not in _OF_CONTENT:
            return None
        text = " ".join(
            ["Not served.", *state.fault.problems[:_MOST_NAMED]] if state.fault.problems else [state.fault.message]
        )
        return StoredStatus(namespace, commit, context, StatusState.FAILURE.value, text, target)
    if state.tip != live.manifest.commit or live.is_unfinished:
        return None
    return StoredStatus(namespace, commit, context, StatusState.SUCCESS.value, _served(state.tip, live), target)


def _served(tip: str, live: LiveNamespace) -> str:
    """Name the versions that a commit made, as `Served as version 12 of shop`."""
    made = [f"version {each.number} of {name}" for name, each in live.projects.items() if each.version == tip]
    if not made:
        return "Served; no project has changed"
    more = f" and {len(made) - _MOST_NAMED} more" if len(made) > _MOST_NAMED else ""
    return f"Served as {', '.join(made[:_MOST_NAMED])}{more}"


def describe_proposal(namespace: str, branch: BranchOutcome, links: StatusLinks) -> StoredStatus:
    """Return the status of a proposal on the commit that it has on the upstream: its problems and its impact."""
    verdict = StatusState.FAILURE if branch.problems else StatusState.SUCCESS
    number = f"{len(branch.problems):,} problem{'' if len(branch.problems) == 1 else 's'}"
    first = f": {branch.problems[0]}" if branch.problems else ""
    text = f"{number if first else 'No problems'}; {_impact(branch.counts)}{first}"
    target = links.proposal(namespace, branch.id)
    return StoredStatus(namespace, branch.commit, proposal_context(namespace), verdict.value, text, target)


def _impact(counts: Mapping[str, Mapping[Kind, Counts]]) -> str:
    named = [f"{project}: {count_text(each)}" for project, each in counts.items()]
    more = f" and {len(named) - _MOST_NAMED} more projects" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more if named else "no project changed"
