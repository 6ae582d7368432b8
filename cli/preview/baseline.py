"""The changes of what is served since HEAD, or since the start of the preview where there is no HEAD."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cli.preview.head import Head, open_head, read_head
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.errors import StoreError
from gitstore.store.store import Store


class ChangesSince(NamedTuple):
    """The changes of each project, and the state that they are counted from, for people."""

    since: str
    projects: Mapping[str, ChangesByKind]


class Baseline:
    """The state that a preview is compared with; HEAD may move at any time, so each comparison looks for it."""

    def __init__(self, store: Store, namespace: str, path: Path) -> None:
        self._store = store
        self._namespace = namespace
        self._path = path
        self._start: Mapping[str, Snapshot] | None = None
        self._read: tuple[tuple[str, str], Mapping[str, Snapshot]] | None = None

    def compare(self, project: str = "") -> ChangesSince:
        """Return the changes of what is served; `project` is the name where the folder is one project."""
        namespaces = self._store.namespaces
        if self._start is None:
            self._start = namespaces.read_published(self._namespace)
        head = read_head(self._path)
        found = self._find(head, project) if head else None
        since = head.text if head and found is not None else "the start"
        baseline = self._start if found is None else found
        return ChangesSince(since, namespaces.compare_published(self._namespace, baseline))

    def _find(self, head: Head, project: str) -> Mapping[str, Snapshot] | None:
        """Return the projects at HEAD, read once for a commit; None where they cannot be read."""
        key = head.commit, project
        if self._read is None or self._read[0] != key:
            try:
                with open_head(head, project) as files:
                    found = self._store.namespaces.read_elsewhere(self._namespace, files.projects, files)
            except (StoreError, OSError):
                return None
            self._read = key, found
        return self._read[1]
