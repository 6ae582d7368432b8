"""`store.upstreams`: the upstreams of namespaces on this node, and their syncs."""

from gitstore.git.lock import hold
from gitstore.layout import CommitId
from gitstore.store.access import Component
from gitstore.upstream.sync import push_now, sync
from gitstore.upstream.upstream_settings import UpstreamSettings, read_settings, write_settings
from gitstore.upstream.upstream_state import UpstreamState, read_state, remove_state
from gitstore.wire.client.remote_errors import RemoteRefused


class Upstreams(Component):
    """The upstreams of namespaces."""

    def settings(self, namespace: str) -> UpstreamSettings | None:
        """Return the settings that the jobs of this node work by; None without an upstream."""
        return read_settings(self._access.directory.namespace(namespace).repository)

    def configure(self, namespace: str, settings: UpstreamSettings | None) -> None:
        """Write the settings for the jobs of this node, or remove them; another upstream begins without a state."""
        repository = self._access.directory.namespace(namespace).repository
        with hold(repository):
            before = read_settings(repository)
            write_settings(repository, settings)
        if before and (settings is None or (before.url, before.branch) != (settings.url, settings.branch)):
            remove_state(repository)

    def state(self, namespace: str) -> UpstreamState:
        """Return what this node saw at its last sync."""
        return read_state(self._access.directory.namespace(namespace).repository)

    def sync(self, namespace: str, *, wait: float = 0.0, requests: int = 0) -> UpstreamState | None:
        """Sync a namespace now; None without an upstream, or where another process syncs it for longer than `wait` seconds."""
        synced = self._access.synced(namespace)
        return sync(synced, wait=wait, requests=requests) if synced else None

    def push(self, namespace: str, old: CommitId | None, new: CommitId) -> None:
        """Push a commit that is about to be release, on behalf of the process that waits for it. Raises RemoteError."""
        synced = self._access.synced(namespace)
        if synced is None or not synced.settings.is_source:
            raise RemoteRefused("The namespace has no source any more. Publish again.")
        push_now(synced, old, new)

    def start_children(self) -> None:
        """Let publishes of this process start `ssh`: for a command, never for a service."""
        self._access.starts_children = True
