"""The watched folders of many namespaces, in a few groups: a new namespace does not register all others again.

The groups are of very different sizes. A new namespace begins a group of its own, which takes in the smaller ones, so each
folder is registered again a few times at most, and a few threads watch any number of namespaces.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from watchfiles import Change, awatch

from api.runtime.jobs.background import run_in_thread
from gitstore.git.lock import PACKED_REFS
from gitstore.layout import RELEASE_REF

_STEP_MILLISECONDS = 20
_RATIO = 8  # of the sizes of a group and the next smaller one, at least

Loader = Callable[[Collection[str]], Awaitable[None]]


class _Group:
    """Some namespaces whose folders are registered together."""

    def __init__(self, root: Path, names: frozenset[str], load: Loader, failed: asyncio.Event) -> None:
        self.names = names
        self._root = root
        self._load = load
        self._failed = failed
        self._ended = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._note_end)

    async def _run(self) -> None:
        folders = [folder for name in sorted(self.names) for folder in _folders(self._root / f"{name}.git")]
        watched = awatch(
            *folders, recursive=False, step=_STEP_MILLISECONDS, watch_filter=_matters, stop_event=self._ended
        )
        async for changes in watched:
            await self._load({namespace_of(self._root, path) for _, path in changes})

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._failed.set()

    async def stop(self) -> None:
        """End the group after the work that it does now; raise the error that ended it before, if any."""
        self._ended.set()
        await self._task

    async def cancel(self) -> None:
        """End the group now; raise the error that ended it before, if any."""
        self._task.cancel()
        await self._task


class WatchedNamespaces:
    """The groups of one worker; `failed` is set when one of them has ended by an error, which `stop` raises."""

    def __init__(self, root: Path, load: Loader, failed: asyncio.Event) -> None:
        self._root = root
        self._load = load
        self._failed = failed
        self._lock = asyncio.Lock()
        self._groups: list[_Group] = []  # the largest first
        self._known: Mapping[str, int] = {}  # with the inode of each repository: another may come in its place

    async def follow(self, find: Callable[[], Mapping[str, int]]) -> None:
        """Watch and load the new ones of all namespaces that exist now; `find` returns them, with their inodes."""
        async with self._lock:
            found = await run_in_thread(find)
            new = {name for name, number in found.items() if number and self._known.get(name) != number}
            self._known = found
            if new:
                await self._add(frozenset(new))
        await self._load(sorted(new))

    async def _add(self, names: frozenset[str]) -> None:
        replaced = []
        while self._groups and len(self._groups[-1].names) < _RATIO * len(names):
            replaced.append(self._groups.pop())
            names |= replaced[-1].names & self._known.keys()
        self._groups.append(_Group(self._root, names, self._load, self._failed))
        await asyncio.sleep(0)  # the group registers its folders; until then, the replaced ones go on
        await asyncio.gather(*(group.stop() for group in replaced), return_exceptions=True)  # the new one fails too

    async def stop(self) -> None:
        """End all groups; raise the error of a failed one."""
        groups, self._groups = self._groups, []
        ends = await asyncio.gather(*(group.cancel() for group in groups), return_exceptions=True)
        for error in ends:
            if isinstance(error, Exception):
                raise error


def namespace_of(root: Path, path: str) -> str:
    """Return the namespace of a path below the folder of all repositories."""
    return Path(path).relative_to(root).parts[0].removesuffix(".git")


def _folders(repository: Path) -> list[Path]:
    return [folder for folder in (repository, (repository / RELEASE_REF).parent) if folder.is_dir()]


def _matters(_change: Change, path: str) -> bool:
    return path.endswith((RELEASE_REF, f"/{PACKED_REFS}"))
