"""The watcher: a release that moves is loaded, and a new namespace does not register the folders of all others again."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from api.runtime.serving.folder_events import LOST, FolderEvent, FolderEvents
from api.runtime.serving.release_loader import ReleaseLoader
from api.runtime.serving.watcher import Watcher
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, SHOP
from tests.gitstore.fixtures import git as run_git

SECONDS = 60.0
MANY = 60
NEW = 6


class Watched:
    """A store with a running watcher, and the versions that it loaded."""

    def __init__(self, store: Store, watcher: Watcher) -> None:
        self.store, self.watcher = store, watcher
        self.loaded: dict[str, str] = {}
        self.news = asyncio.Event()

    def note(self, namespace: str, _before: object, after: Any) -> None:
        """Note a loaded state."""
        self.loaded[namespace] = after.manifest.commit
        self.news.set()

    async def wait_for(self, namespace: str, commit: str) -> None:
        """Wait until the watcher has loaded a commit."""
        async with asyncio.timeout(SECONDS):
            while self.loaded.get(namespace) != commit:
                self.news.clear()
                await self.news.wait()

    def push(self, namespace: str) -> str:
        """Move release as plain Git does; return the commit."""
        path = self.store.directory.namespace(namespace).repository
        tree = run_git(path, "rev-parse", "release^{tree}")
        commit = run_git(path, "commit-tree", tree, "-p", "release", data=b"Change nothing")
        run_git(path, "update-ref", "refs/heads/release", commit)
        return commit


@asynccontextmanager
async def watching(store: Store) -> AsyncIterator[Watched]:
    """Run a watcher until all namespaces are loaded, and then until the end of the block."""
    releases = ReleaseLoader(store)
    found = Watched(store, Watcher(store, releases))
    releases.listen(found.note)
    await releases.start()
    await found.watcher.start()
    try:
        commit = run_git(store.directory.namespace("first").repository, "rev-parse", "release")
        for name in store.directory.namespaces():
            await found.wait_for(name, commit)
        yield found
    finally:
        await found.watcher.stop()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = create_store(tmp_path)
    found.namespaces.create("first", "", ADA)
    found.projects.create("first", SHOP, ProjectFile(), ADA)
    return found


def copy(store: Store, name: str) -> None:
    """Add a namespace in one step, as creation does."""
    root = store.directory.repositories
    shutil.copytree(root / "first.git", root / ".new-copy")
    (root / ".new-copy").rename(root / f"{name}.git")


def test_a_new_namespace_registers_few_folders_and_all_are_watched(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = list[Path]()
    add = FolderEvents.add

    def note(events: FolderEvents, folder: Path, kinds: int) -> int:
        registered.append(folder)
        return add(events, folder, kinds)

    monkeypatch.setattr(FolderEvents, "add", note)
    for number in range(MANY - 1):
        copy(store, f"n{number}")

    async def run() -> None:
        async with watching(store) as watched:
            assert len(registered) == 1 + 2 * MANY
            for number in range(NEW):
                copy(store, f"new{number}")
                await watched.wait_for(f"new{number}", watched.loaded["first"])
            assert len(registered) == 1 + 2 * (MANY + NEW)
            for name in ("first", "n7", *(f"new{number}" for number in range(NEW))):
                await watched.wait_for(name, watched.push(name))

    asyncio.run(run())


def test_a_namespace_in_the_place_of_another_is_watched(store: Store) -> None:
    async def run() -> None:
        async with watching(store) as watched:
            path = store.directory.namespace("first").repository
            path.rename(path.with_name("away"))
            shutil.copytree(path.with_name("away"), path.with_name(".new-copy"))
            path.with_name(".new-copy").rename(path)
            copy(store, "later")  # once it is loaded, the other one is watched too
            await watched.wait_for("later", watched.loaded["first"])
            await watched.wait_for("first", watched.push("first"))
            store.namespaces.create("last", "", ADA)
            store.projects.create("last", SHOP, ProjectFile(), ADA)
            commit = run_git(store.directory.namespace("last").repository, "rev-parse", "release")
            await watched.wait_for("last", commit)

    asyncio.run(run())


def test_folders_that_come_in_the_place_of_removed_ones_are_watched(store: Store) -> None:
    """As a restore by rsync or `cp` does inside of a repository: its own inode stays."""

    async def run() -> None:
        async with watching(store) as watched:
            heads = store.directory.namespace("first").repository / "refs/heads"
            shutil.copytree(heads, heads.with_name("saved"))
            shutil.rmtree(heads)
            heads.with_name("saved").rename(heads)
            copy(store, "later")  # once it is loaded, the new folder is watched too
            await watched.wait_for("later", watched.loaded["first"])
            await watched.wait_for("first", watched.push("first"))

    asyncio.run(run())


def test_a_link_to_a_namespace_that_is_removed_leaves_the_other_watched(store: Store) -> None:
    async def run() -> None:
        async with watching(store) as watched:
            root = store.directory.repositories
            (root / "twin.git").symlink_to("first.git")
            copy(store, "later")
            await watched.wait_for("later", watched.loaded["first"])
            (root / "twin.git").unlink()
            copy(store, "last")
            await watched.wait_for("last", watched.loaded["first"])
            shutil.rmtree(root / "later.git")
            copy(store, "new")
            await watched.wait_for("new", watched.loaded["first"])

    asyncio.run(run())


def test_a_restarted_watcher_watches_all(store: Store) -> None:
    async def run() -> None:
        async with watching(store) as watched:
            await watched.wait_for("first", watched.push("first"))
            watched.watcher.restart()
            await watched.wait_for("first", watched.push("first"))

    asyncio.run(run())


def test_removed_and_renamed_namespaces_are_watched_as_they_are(store: Store) -> None:
    async def run() -> None:
        async with watching(store) as watched:
            copy(store, "old")
            await watched.wait_for("old", watched.loaded["first"])
            path = store.directory.namespace("old").repository
            path.rename(path.with_name("new.git"))
            await watched.wait_for("new", watched.loaded["first"])
            await watched.wait_for("new", watched.push("new"))
            await watched.wait_for("first", watched.push("first"))

    asyncio.run(run())


def test_packed_refs_are_an_event(store: Store) -> None:
    async def run() -> None:
        async with watching(store) as watched:
            path = store.directory.namespace("first").repository
            run_git(path, "pack-refs", "--all")
            await watched.wait_for("first", watched.push("first"))
            commit = run_git(path, "commit-tree", "release^{tree}", "-p", "release", data=b"Change nothing")
            (path / "refs/heads/release").unlink()
            packed = path / "packed-refs"
            earlier = run_git(path, "rev-parse", "release")
            packed.with_name("new").write_text(packed.read_text().replace(earlier, commit))
            packed.with_name("new").replace(packed)
            await watched.wait_for("first", commit)

    asyncio.run(run())


def test_lost_events_load_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with watching(store) as watched:
            monkeypatch.setattr(FolderEvents, "read", lambda events: [FolderEvent(LOST, "")][: len(read(events))])
            copy(store, "later")
            await watched.wait_for("later", watched.loaded["first"])
            await watched.wait_for("first", watched.push("first"))

    read = FolderEvents.read
    asyncio.run(run())
