"""The files of upstreams as the syncer saw them last: a namespace whose files are the same costs three `stat` calls."""

from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from gitstore.errors import Broken
from gitstore.git.refs import FileSignature, file_signature, read_ref, signature
from gitstore.layout import RELEASE_REF
from gitstore.store.store import Store
from gitstore.upstream.upstream_settings import SETTINGS_FILE, UpstreamSettings
from gitstore.upstream.upstream_state import STATE_FILE, UpstreamState


class Look(NamedTuple):
    """The settings that the jobs of this node work by, None where they cannot be read; the last sync; and release."""

    settings: UpstreamSettings | None
    state: UpstreamState
    release: str | Broken

    def require_release(self) -> str:
        """Return the commit of release, empty without one. Raises Broken where the ref is damaged."""
        if isinstance(self.release, Broken):
            raise self.release
        return self.release


class UpstreamLooks:
    """The last look at each namespace, in memory. Its calls block, and are for one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[tuple[object, ...], Look]] = {}

    def look(self, namespace: str) -> Look:
        """Return what the files of a namespace have; they are read where they have changed. Raises OSError."""
        now = self._sign(namespace)  # before the reads: a change after it is seen by the next look
        before, known = self._known.get(namespace, ((), None))
        if known is None or before != now:
            known = self._read(namespace)
            self._known[namespace] = now, known
        return known

    def keep(self, namespaces: Collection[str]) -> None:
        """Forget all other namespaces."""
        for each in set(self._known).difference(namespaces):
            del self._known[each]

    def _sign(self, namespace: str) -> tuple[object, ...]:
        repository = self._store.directory.namespace(namespace).repository
        files: list[FileSignature | None] = [
            file_signature(f"{repository}/{name}") for name in (SETTINGS_FILE, STATE_FILE)
        ]
        return *files, signature(repository, RELEASE_REF)

    def _read(self, namespace: str) -> Look:
        repository = self._store.directory.namespace(namespace).repository
        settings: UpstreamSettings | None = None
        with suppress(Broken):  # they are written again
            settings = self._store.upstreams.settings(namespace)
        release: str | Broken
        try:
            release = read_ref(repository, RELEASE_REF) or ""
        except Broken as ex:
            release = ex
        return Look(settings, self._store.upstreams.state(namespace), release)
