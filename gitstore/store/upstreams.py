"""`store.upstreams`: the upstreams of namespaces on this node, and their syncs."""

from shutil import rmtree

from gitstore.git.lock import hold
from gitstore.store.access import Component, QuarantinedNamespace, StoreAccess
from gitstore.store.proposals import Proposals
from gitstore.upstream.branch_sync import drop_branches, follow_branches
from gitstore.upstream.branch_verdicts import BranchVerdict
from gitstore.upstream.followed_branches import FollowedBranches, is_following, read_followed
from gitstore.upstream.sync import sync
from gitstore.upstream.upstream_settings import FOLDER_CACHE, UpstreamSettings, read_settings, write_settings
from gitstore.upstream.upstream_state import UpstreamState, read_state, remove_state


class Upstreams(Component):
    """The upstreams of namespaces."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self._proposals = Proposals(access)

    def settings(self, namespace: str) -> UpstreamSettings | None:
        """Return the settings that the jobs of this node work by; None without an upstream."""
        return read_settings(self._access.directory.namespace(namespace).repository)

    def configure(self, namespace: str, settings: UpstreamSettings | None) -> None:
        """Write the settings for the jobs of this node, or remove them; another upstream begins without a state."""
        repository = self._access.directory.namespace(namespace).repository
        with hold(repository):
            before = read_settings(repository)
            write_settings(repository, settings)
        is_other = before and (settings is None or _place_of(before) != _place_of(settings))
        if is_other:
            remove_state(repository)
        if before and (is_other or (settings and settings.mode is not before.mode)):
            rmtree(repository / FOLDER_CACHE, ignore_errors=True)
        if before and is_following(before) and (is_other or (settings and not is_following(settings))):
            drop_branches(repository, QuarantinedNamespace(self._access, namespace, None))

    def state(self, namespace: str) -> UpstreamState:
        """Return what this node saw at its last sync."""
        return read_state(self._access.directory.namespace(namespace).repository)

    def followed(self, namespace: str) -> FollowedBranches:
        """Return the upstream's branches and pull requests that are followed by proposals."""
        return read_followed(self._access.directory.namespace(namespace).repository)

    def verdicts(self, namespace: str) -> list[BranchVerdict]:
        """Return the verdict on each followed branch: its problems and impact. They are cached until it or release moves."""
        found = self.followed(namespace).branches
        heads = {each.ref: each for each in self._proposals.all(namespace)}
        known = [each for each in found if each.head and each.ref in heads and heads[each.ref].head == each.head]
        reports = self._proposals.reports(namespace, [heads[each.ref] for each in known])
        by_ref = {each.ref: report for each, report in zip(known, reports, strict=True)}
        return [BranchVerdict(namespace, each, by_ref.get(each.ref)) for each in found]

    def sync(self, namespace: str, *, wait: float = 0.0, requests: int = 0) -> UpstreamState | None:
        """Sync a namespace now; None without an upstream, or where another process syncs it for longer than `wait` seconds."""
        synced = self._access.synced(namespace)
        state = sync(synced, wait=wait, requests=requests) if synced else None
        if synced and state and is_following(synced.settings):
            follow_branches(synced, state)
        return state


def _place_of(settings: UpstreamSettings) -> tuple[str, str, str]:
    return settings.url, settings.branch, settings.path
