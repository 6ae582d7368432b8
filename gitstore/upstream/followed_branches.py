"""The upstream's other branches and pull requests that are proposals here: their names on both sides, and their file.

The file is a cache: without it, the next sync fetches and checks them again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from gitstore.git.atomic_io import replace_file
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, FOLLOWED_BRANCHES, FOLLOWED_PULLS, PULLED_BRANCHES, CommitId
from gitstore.upstream.upstream_settings import DraftsPlace, ProposalsFrom, UpstreamSettings
from gitstore.upstream.upstream_state import UpstreamFault

BRANCHES_FILE = "waypost-upstream-branches"
BRANCH_REFUSED = "upstream_branch_refused"
# https://docs.github.com/en/pull-requests and its like of Gitea and Forgejo; GitLab calls them merge requests:
# https://docs.gitlab.com/user/project/merge_requests/reviews/#checkout-merge-requests-locally-through-the-head-ref
_PULL = re.compile(r"refs/(?:pull|merge-requests)/([1-9][0-9]{0,8})/head")


@dataclass(frozen=True, slots=True)
class FollowedBranch:
    """A branch or pull request of the upstream at its newest commit, and the proposal here.

    `source` is its ref there, `pull` the number of a pull request, 0 for none; `tip` is its commit there and `head` the commit
    here, empty for a refused one, which has a fault. A pull request with a branch in the upstream is followed as that.
    """

    ref: str
    source: str
    tip: str
    pull: int = 0
    head: str = ""
    fault: UpstreamFault | None = None

    @property
    def name(self) -> str:
        """The name of the branch there, or the ref of the pull request."""
        return self.source.removeprefix(BRANCH_PREFIX)


@dataclass(frozen=True, slots=True)
class FollowedBranches:
    """The branches that are followed; `merged` are tips that release has, `fault` says why others are missing."""

    branches: tuple[FollowedBranch, ...] = ()
    merged: tuple[str, ...] = ()
    fault: UpstreamFault | None = None


def find_pull(ref: str) -> int:
    """Return the number of the pull request whose head a ref is; 0 for any other ref."""
    found = _PULL.fullmatch(ref)
    return int(found[1]) if found else 0


def is_following(settings: UpstreamSettings) -> bool:
    """Tell whether any of the upstream's refs are proposals here."""
    return settings.is_source and settings.proposals != ProposalsFrom.NONE


def list_candidates(settings: UpstreamSettings, tips: Mapping[str, CommitId]) -> list[FollowedBranch]:
    """List the refs of the upstream that a setting names: branches by name, the newest pull request first."""
    if not is_following(settings):
        return []
    if settings.proposals == ProposalsFrom.PULL_REQUESTS:
        own = {tips[ref] for ref in tips if ref.startswith(PULLED_BRANCHES) and settings.by_pull_request}
        pulls = sorted(((find_pull(ref), ref) for ref in tips if find_pull(ref) and tips[ref] not in own), reverse=True)
        return [FollowedBranch(f"{FOLLOWED_PULLS}{number}", ref, tips[ref], number) for number, ref in pulls]
    return list(_branches(settings, tips))


def _branches(settings: UpstreamSettings, tips: Mapping[str, CommitId]) -> Iterator[FollowedBranch]:
    pulls = {tips[ref]: number for number, ref in sorted((find_pull(ref), ref) for ref in tips) if number}
    for ref in sorted(tips):
        is_draft = ref.startswith(DRAFT_PREFIX) and settings.drafts == DraftsPlace.PUSH
        is_draft |= ref.startswith(PULLED_BRANCHES) and settings.by_pull_request
        if ref.startswith(BRANCH_PREFIX) and ref != settings.ref and not is_draft:
            name = ref.removeprefix(BRANCH_PREFIX)
            yield FollowedBranch(f"{FOLLOWED_BRANCHES}{name}", ref, tips[ref], pulls.get(tips[ref], 0))


def read_followed(repository: Path) -> FollowedBranches:
    """Return what the last sync found; nothing where the file is missing or damaged."""
    try:
        data = orjson.loads((repository / BRANCHES_FILE).read_bytes())
        branches = tuple(FollowedBranch(**{**each, "fault": _load(each["fault"])}) for each in data["branches"])
        return FollowedBranches(branches, tuple(data["merged"]), _load(data["fault"]))
    except (OSError, ValueError, TypeError, KeyError):
        return FollowedBranches()


def _load(fault: Mapping[str, object] | None) -> UpstreamFault | None:
    if fault is None:
        return None
    problems = fault["problems"]
    found = tuple(map(str, problems)) if isinstance(problems, Iterable) else ()
    return UpstreamFault(str(fault["code"]), str(fault["message"]), found)


def write_followed(repository: Path, followed: FollowedBranches) -> None:
    """Write the file; a power cut may lose it."""
    replace_file(repository / BRANCHES_FILE, orjson.dumps(asdict(followed)), sync=False)


def remove_followed(repository: Path) -> None:
    """Remove the file, as of another upstream."""
    (repository / BRANCHES_FILE).unlink(missing_ok=True)
