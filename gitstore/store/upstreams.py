"""`store.upstreams`: the upstreams of namespaces on this node, and their syncs."""

from gitstore.git.lock import hold
from gitstore.store.access import Component
from gitstore.upstream.sync import sync
from gitstore.upstream.upstream_settings import UpstreamSettings, read_settings, write_settings
from gitstore.upstream.upstream_state import UpstreamState, read_state, remove_state


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
