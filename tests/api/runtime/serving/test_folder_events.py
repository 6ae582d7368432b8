"""The events of watched folders: an idle service has none, and a change of an entry is one."""

import asyncio
import ctypes
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.runtime.health.disk_check import DiskState, probe_disks
from api.runtime.serving.folder_events import ENTRIES, FILES, FolderEvent, FolderEvents
from gitstore.file_lock import hold_lock_file
from gitstore.history.upkeep.repository_upkeep import needs_upkeep
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, SHOP


@pytest.fixture
def events() -> Iterator[FolderEvents]:
    found = FolderEvents()
    yield found
    found.close()


def test_the_checks_of_an_idle_service_are_no_events(tmp_path: Path, events: FolderEvents) -> None:
    store = create_store(tmp_path)
    store.namespaces.create("first", "", ADA)
    store.projects.create("first", SHOP, ProjectFile(), ADA)
    assert not store.releases.faults("first").faults
    paths, root = store.directory.namespace("first"), store.directory.repositories
    with hold_lock_file(root / ".node.lock"):
        pass
    for folder, kinds in ((root, ENTRIES), (paths.repository, FILES), (paths.repository / "refs/heads", FILES)):
        events.add(folder, kinds)
    assert probe_disks([root], syncs=True) == DiskState()
    assert not store.releases.faults("first").faults
    assert not needs_upkeep(paths)
    with hold_lock_file(root / ".node.lock"):
        pass
    assert events.read() == []


def test_each_change_of_an_entry_is_an_event(tmp_path: Path, events: FolderEvents) -> None:
    number = events.add(tmp_path, FILES)
    (tmp_path / "a").mkdir()
    assert events.read() == [FolderEvent(number, "a")]
    (tmp_path / "a").rename(tmp_path / "b")
    assert events.read() == [FolderEvent(number, "a"), FolderEvent(number, "b")]
    (tmp_path / "b").rmdir()
    assert events.read() == [FolderEvent(number, "b")]
    (tmp_path / "file \N{SNOWMAN}").write_text("text")
    assert set(events.read()) == {FolderEvent(number, "file \N{SNOWMAN}")}
    with (tmp_path / "file \N{SNOWMAN}").open("r+") as file:
        file.write("more")
    assert events.read() == [FolderEvent(number, "file \N{SNOWMAN}")]


def test_a_folder_that_is_watched_no_more_has_no_events(tmp_path: Path, events: FolderEvents) -> None:
    number = events.add(tmp_path, FILES)
    events.remove(number)
    events.remove(number)
    (tmp_path / "a").mkdir()
    assert {event.name for event in events.read()} == {""}  # the end of the watch


def test_a_removed_folder_ends_its_watch(tmp_path: Path, events: FolderEvents) -> None:
    (tmp_path / "a").mkdir()
    number = events.add(tmp_path / "a", FILES)
    (tmp_path / "a").rmdir()
    assert events.read() == [FolderEvent(number, "", is_end=True)]


def test_after_its_end_nothing_is_added(tmp_path: Path) -> None:
    """A thread may still add folders; another instance may have the number of this one by then."""
    ended = FolderEvents()
    ended.close()
    other = FolderEvents()
    with pytest.raises(OSError, match="descriptor"):
        ended.add(tmp_path, FILES)
    (tmp_path / "a").touch()
    assert other.read() == []
    other.close()


def test_events_of_many_folders_are_all_read(tmp_path: Path, events: FolderEvents) -> None:
    events.add(tmp_path, ENTRIES)
    names = [f"{number:0200}" for number in range(1000)]
    for name in names:
        (tmp_path / name).touch()
    found = list[str]()
    while more := events.read():
        found += [event.name for event in more]
    assert found == names


def test_the_loop_waits_for_events(tmp_path: Path, events: FolderEvents) -> None:
    async def run() -> None:
        loop, happened = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(events.handle, happened.set)
        events.add(tmp_path, ENTRIES)
        (tmp_path / "a").touch()
        async with asyncio.timeout(60):
            await happened.wait()
        loop.remove_reader(events.handle)

    asyncio.run(run())


def test_errors_tell_what_failed(tmp_path: Path, events: FolderEvents, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        events.add(tmp_path / "missing", FILES)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        events.add(tmp_path / "file", FILES)
    monkeypatch.setattr(ctypes, "get_errno", lambda: errno.ENOSPC)
    with pytest.raises(OSError, match="watches too many folders"):
        events.add(tmp_path / "missing", FILES)
