"""`store.upstreams`: the upstreams of namespaces on this node, and their syncs."""

import time
from dataclasses import replace
from pathlib import Path

from gitstore.errors import Broken
from gitstore.git.transaction import update
from gitstore.layout import CommitId
from gitstore.pushes.pushed_files import TokenFinder, find_no_token
from gitstore.store.access import Component, StoreAccess
from gitstore.store.proposals import Proposals
from gitstore.upstream.attempts import clear_attempt
from gitstore.upstream.branch_sync import drop_branches, follow_branches
from gitstore.upstream.branch_verdicts import BranchVerdict
from gitstore.upstream.difference import Difference, find_difference
from gitstore.upstream.draft_sync import PushedDraft, has_unpushed, push_drafts, read_pushed, remove_pushed
from gitstore.upstream.followed_branches import FollowedBranch, FollowedBranches, is_following, read_followed
from gitstore.upstream.source_push import push_now
from gitstore.upstream.sync import SyncedTips, sync
from gitstore.upstream.synced_namespace import Superseded, SyncedNamespace
from gitstore.upstream.upstream_settings import (
    DraftsPlace,
    UpstreamSettings,
    read_settings,
    remove_other_caches,
    write_settings,
)
from gitstore.upstream.upstream_state import UpstreamState, read_state, remove_state
from gitstore.wire.client.remote_errors import RemoteAway, RemoteMissing, RemoteRefused

_FRESH_SECONDS = 5.0  # of tips, until they are read again


class Upstreams(Component):
    """The upstreams of namespaces."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self._proposals = Proposals(access)

    def settings(self, namespace: str) -> UpstreamSettings | None:
        """Return the settings that the jobs of this node work by; None without an upstream."""
        return read_settings(self._access.directory.namespace(namespace).repository)

    def has_settings(self, namespace: str, settings: UpstreamSettings) -> bool:
        """Tell whether these are the settings that the jobs of this node work by; false where those cannot be read."""
        return _read_present(self._access.directory.namespace(namespace).repository)[0] == settings

    def configure(self, namespace: str, settings: UpstreamSettings | None, wait: float = 30.0) -> None:
        """Write the settings for the jobs of this node, or remove them; another upstream begins without a state.

        Raises Busy where another writer holds the namespace for longer than `wait` seconds.
        """
        repository = self._access.directory.namespace(namespace).repository
        with update(repository, wait=wait) as transaction:
            before, is_damaged = _read_present(repository)
            is_other = is_damaged or (before is not None and (settings is None or before.place != settings.place))
            if is_other:
                remove_state(repository)
                clear_attempt(repository)
                remove_pushed(repository)
            was_following = is_damaged or (before is not None and is_following(before))
            if was_following and (is_other or (settings and not is_following(settings))):
                drop_branches(transaction)
            write_settings(repository, settings)  # the last, so that after a kill all of it is done again
        remove_other_caches(repository, settings)

    def state(self, namespace: str) -> UpstreamState:
        """Return what this node saw at its last sync."""
        return read_state(self._access.directory.namespace(namespace).repository)

    def followed(self, namespace: str) -> FollowedBranches:
        """Return the upstream's branches and pull requests that are followed by proposals."""
        return read_followed(self._access.directory.namespace(namespace).repository)

    def pushed_drafts(self, namespace: str) -> tuple[PushedDraft, ...]:
        """Return the drafts that are on the upstream too, or should be."""
        return read_pushed(self._access.directory.namespace(namespace).repository)

    def has_unpushed_drafts(self, namespace: str) -> bool:
        """Tell whether a draft that is to be on the upstream has moved since the last attempt to push it."""
        settings = self.settings(namespace)
        return (
            settings is not None
            and settings.drafts == DraftsPlace.PUSH
            and has_unpushed(self._access.directory.namespace(namespace).repository)
        )

    def difference(self, namespace: str) -> Difference | None:
        """Return what release and the upstream's branch each have alone; None if they are the same, or it is not known here."""
        tip = self.state(namespace).tip
        if not tip:
            return None
        with self._access.reading(namespace) as compiler:
            return find_difference(compiler, CommitId(tip))

    def sources(self, namespace: str) -> dict[str, FollowedBranch]:
        """Return the branches of the upstream that proposals follow, by their refs here."""
        return {each.ref: each for each in self.followed(namespace).branches}

    def verdicts(self, namespace: str) -> list[BranchVerdict]:
        """Return the verdict on each followed branch: its problems and impact. They are cached until it or release moves."""
        found = self.followed(namespace).branches
        heads = {each.ref: each for each in self._proposals.all(namespace)}
        known = [each for each in found if each.head and each.ref in heads and heads[each.ref].head == each.head]
        reports = self._proposals.reports(namespace, [heads[each.ref] for each in known])
        by_ref = {each.ref: report for each, report in zip(known, reports, strict=True)}
        return [BranchVerdict(namespace, each, by_ref.get(each.ref)) for each in found]

    def sync(
        self,
        namespace: str,
        *,
        wait: float = 0.0,
        requests: int = 0,
        only_release: bool = False,
        find_token: TokenFinder | None = None,
    ) -> UpstreamState | None:
        """Sync a namespace now; None without an upstream, or where another process syncs it for longer than `wait` seconds.

        None too where the upstream is changed, suspended or removed meanwhile; then nothing is moved any more. With
        `only_release`, neither branches nor drafts are synced, for a publish that waits.
        """
        synced = self._access.synced(namespace)
        if synced and find_token:
            synced = replace(synced, find_token=find_token)
        if synced is None:
            return None
        try:
            found = sync(synced, wait=wait, requests=requests)
            if found and not only_release:
                _sync_beside(synced, found)
        except Superseded:
            remove_other_caches(synced.repository, read_settings(synced.repository))
            return None
        return found.state if found else None

    def push(self, namespace: str, old: CommitId | None, new: CommitId) -> None:
        """Push a commit that is about to be release, on behalf of the process that waits for it. Raises RemoteError."""
        synced = self._access.synced(namespace)
        if synced is None or not synced.settings.is_source:
            raise RemoteRefused("The namespace has no source any more. Publish again.")
        push_now(synced, old, new)

    def start_children(self, find_token: TokenFinder = find_no_token) -> None:
        """Let publishes of this process start `ssh`: for a command, never for a service."""
        self._access.starts_children = True
        self._access.find_token = find_token


def _sync_beside(synced: SyncedNamespace, found: SyncedTips) -> None:
    """Sync the branches and drafts; where nothing moves, by what the sync of release has read: one request for all."""
    state, begun = found.state, time.monotonic()
    if is_following(synced.settings):
        follow_branches(synced, state, found.tips)
    tips = found.tips if time.monotonic() - begun < _FRESH_SECONDS else None
    is_away = state.fault is not None and state.fault.code in {RemoteAway.code, RemoteMissing.code}
    push_drafts(synced, state.fault if is_away else None, tips)


def _read_present(repository: Path) -> tuple[UpstreamSettings | None, bool]:
    """Return the settings that are in the file, and whether they cannot be read."""
    try:
        return read_settings(repository), False
    except Broken:
        return None, True
