"""The watched folders of all namespaces: which of them have a moved release, and whether the list of them has changed."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from api.runtime.serving.folder_events import ENTRIES, FILES, LOST, FolderEvents
from gitstore.git.lock import PACKED_REFS
from gitstore.layout import RELEASE_REF

_SUFFIX = ".git"


class _Watched(NamedTuple):
    """A watched namespace: the inode of its repository, since another may come in its place, and its folders' numbers."""

    inode: int
    folders: tuple[int, ...]


class WatchedNamespaces:
    """The namespaces of one worker. `follow` may run in another thread than all else."""

    def __init__(self, root: Path, events: FolderEvents) -> None:
        self.listed = asyncio.Event()
        """Set if a namespace may have been added or removed; at first too."""
        self.moved = asyncio.Event()
        """Set if a release may have moved."""
        self._root = root
        self._events = events
        self._moved = set[str]()
        self._watched = dict[str, _Watched]()
        self._files = dict[int, tuple[str, str]]()  # the namespace of each folder, and the file that matters in it
        self._list = events.add(root, ENTRIES)
        self.listed.set()

    def take_moved(self) -> list[str]:
        """Return the namespaces whose release may have moved since the last call."""
        self.moved.clear()
        names, self._moved = self._moved, set()
        return sorted(names)

    def follow(self, names: list[str]) -> list[str]:
        """Watch these namespaces and no others; return the new ones, also those in the place of others. Raises OSError."""
        found = {name: inode for name in names if (inode := _inode(self._root / f"{name}{_SUFFIX}"))}
        for name in [name for name, known in self._watched.items() if found.get(name) != known.inode]:
            for folder in self._watched.pop(name).folders:  # before others: a renamed one would have the same number
                if self._files.get(folder, ("", ""))[0] == name:  # a link to it has the same number too
                    self._events.remove(folder)
                    self._files.pop(folder, None)
        new = sorted(found.keys() - self._watched.keys())
        for name in new:
            self._watched[name] = _Watched(found[name], tuple(self._watch(name)))
        return new

    def collect(self) -> None:
        """Take the events that have happened."""
        for event in self._events.read():
            if event.folder == LOST:
                self._moved.update(self._watched)
                self.listed.set()
            elif event.folder == self._list:
                if event.name.endswith(_SUFFIX):
                    self.listed.set()
            else:
                name, file = self._files.get(event.folder, ("", ""))
                if name and event.is_end:
                    self._watch_again(name)
                elif name and event.name == file:
                    self._moved.add(name)
        if self._moved:
            self.moved.set()

    def _watch_again(self, name: str) -> None:
        """Have a namespace followed as a new one: a folder of it was removed, and another may be in its place."""
        known = self._watched.get(name)
        if known is not None:
            self._watched[name] = known._replace(inode=0)
            self.listed.set()

    def _watch(self, name: str) -> Iterator[int]:
        repository = self._root / f"{name}{_SUFFIX}"
        release = repository / RELEASE_REF
        for folder, file in ((repository, PACKED_REFS), (release.parent, release.name)):
            with suppress(FileNotFoundError, NotADirectoryError):  # removed meanwhile, which is an event of the list
                number = self._events.add(folder, FILES)
                self._files[number] = name, file
                yield number


@contextmanager
def watch_namespaces(root: Path) -> Iterator[WatchedNamespaces]:
    """Watch the list of the namespaces, and those that are followed, until the end of the block. Raises OSError."""
    loop, events = asyncio.get_running_loop(), FolderEvents()
    try:
        namespaces = WatchedNamespaces(root, events)
        loop.add_reader(events.handle, namespaces.collect)
        try:
            yield namespaces
        finally:
            loop.remove_reader(events.handle)
    finally:
        events.close()


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
