"""A namespace with an upstream, as a sync or a publish works on it: by the settings with which that began."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitstore.compiled.compiler import Compiler
from gitstore.errors import Busy
from gitstore.git.lock import hold
from gitstore.git.quarantine import Quarantine
from gitstore.git.transaction import Transaction
from gitstore.pushes.pushed_files import TokenFinder, find_no_token
from gitstore.upstream.arrival import Opened
from gitstore.upstream.upstream_settings import UpstreamSettings, folder_cache, read_settings

if TYPE_CHECKING:
    from gitstore.upstream.remotes.remote import Remote


OpenNamespace = Callable[[Quarantine | None], Opened]
"""Opens the namespace, with the objects of a quarantine."""


class Superseded(Busy):
    """The upstream was changed, suspended or removed while it was synced; from then on the sync changes nothing."""


@dataclass(frozen=True, slots=True)
class SyncedNamespace:
    """A namespace to sync: its repository, how it is opened, and the settings of its upstream."""

    repository: Path
    opener: OpenNamespace
    settings: UpstreamSettings
    starts_children: bool = False
    """True for a command: it may start `ssh` for a publish, which a process for requests may not."""
    find_token: TokenFinder = find_no_token

    @property
    def name(self) -> str:
        """The name of the namespace."""
        return self.repository.stem

    def open(self, quarantine: Quarantine | None) -> Opened:
        """Return the namespace, to write only while its settings are these. Writing raises Superseded."""
        return _Synced(self, self.opener(quarantine))

    def require_current(self) -> None:
        """Raise Superseded unless this node still syncs by these settings; they stay so under the repository's lock."""
        found = read_settings(self.repository)
        if found is None or found.is_suspended or found.followed != self.settings.followed:
            raise Superseded(
                f"The upstream of {self.name} was changed, suspended or removed during its sync. Try again."
            )

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the repository's lock while its settings are these. Raises Superseded."""
        with hold(self.repository):
            self.require_current()
            yield


class _Synced(NamedTuple):
    """A namespace that is written only while its upstream is what the sync began with."""

    namespace: SyncedNamespace
    opened: Opened

    def reading(self) -> AbstractContextManager[Compiler]:
        """Open it to read, without a lock."""
        return self.opened.reading()

    @contextmanager
    def writing(self) -> Iterator[tuple[Compiler, Transaction]]:
        """Open it to write, under the repository's lock. Raises Superseded."""
        with self.opened.writing() as found:
            self.namespace.require_current()
            yield found


def open_upstream(repository: Path, settings: UpstreamSettings) -> "Remote":
    """Return the upstream of a repository; nothing is connected yet. Raises RemoteRefused for a URL that is not allowed."""
    from gitstore.upstream.remotes.remote import open_remote  # noqa: PLC0415 - loads TLS, which most commands never need

    remote = open_remote(settings)
    if not settings.path:
        return remote
    from gitstore.upstream.remotes.folder_remote import FolderRemote  # noqa: PLC0415 - as above

    return FolderRemote(remote, settings, folder_cache(repository, settings))
