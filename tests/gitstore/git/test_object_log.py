"""The log of new objects: what a power cut takes of a change comes back from it, and it stays small."""

import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gitstore.errors import OutOfSpace
from gitstore.git import object_log
from gitstore.git.object_log import (
    FILE_NAME,
    OLD_NAME,
    ObjectLog,
    empty_log,
    is_log_due,
    read_log,
)
from gitstore.git.repository import open_repository
from gitstore.git.transaction import update
from gitstore.layout import BlobId, draft_ref
from tests.gitstore.fixtures import SHOP, Place, put, redirect
from tests.gitstore.git.power_cuts import recorded, replace_folder, start_again

SOURCES = ["/a", "/b", "/c"]


def _loose(place: Place) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (place.repo / "objects").glob("??/*")}


def _lose_objects(place: Place, before: dict[Path, bytes]) -> None:
    for path in _loose(place).keys() - before.keys():
        path.unlink()


def _cut_power(place: Place, *, emptied: bool) -> None:
    """Publish and edit, and cut the power after the last answer; `emptied`: the log is emptied in between."""
    with recorded(place.repo) as disk:
        for number, source in enumerate(SOURCES):
            place.publish(put(redirect(source)))
            if emptied and number == 1:
                empty_log(place.repo)
        place.save(put(redirect("/draft")))
        disk.cut(place.root / "left")
    replace_folder(place.repo, place.root / "left")
    start_again(place.repo)


@pytest.mark.parametrize("emptied", [False, True])
def test_answered_changes_survive_a_power_cut(place: Place, emptied: bool) -> None:  # noqa: FBT001 - a parameter
    """On a disk that kept only what was synced, the next writer finds every object again; Git has no complaint."""
    _cut_power(place, emptied=emptied)
    place.fresh().publish(put(redirect("/later")))
    assert sorted(item["source"] for item in place.fresh().items()) == ["/a", "/b", "/c", "/draft", "/later"]
    assert place.git("fsck", "--full", "--strict") == ""
    assert list(read_log(place.repo / OLD_NAME)) == []


@pytest.mark.parametrize("has_new", [True, False])
def test_a_log_that_was_not_emptied_yet_is_restored_too(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    has_new: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Guard: the power may go while the log is emptied: its files are not durable yet, and only the old log has them."""
    before = _loose(place)
    place.publish(put(redirect("/a")))
    with monkeypatch.context() as patched:
        patched.setattr(object_log, "_sync_files", _fail)
        with pytest.raises(OSError, match="power"):
            empty_log(place.repo)
    if not has_new:
        (place.repo / FILE_NAME).unlink()
    _lose_objects(place, before)
    start_again(place.repo)
    place.fresh().publish(put(redirect("/b")))
    assert sorted(item["source"] for item in place.fresh().items()) == ["/a", "/b"]
    assert place.git("fsck", "--full", "--strict") == ""


def test_a_second_power_cut_takes_nothing_either(place: Place) -> None:
    """Guard: what was restored has to be durable before the log is emptied."""
    _cut_power(place, emptied=False)
    with recorded(place.repo) as disk:
        with update(place.repo):
            pass
        disk.cut(place.root / "left")
    replace_folder(place.repo, place.root / "left")
    assert place.git("fsck", "--full", "--strict") == ""
    assert len(place.fresh().items()) == len(SOURCES)


def test_the_background_restores_before_it_empties_the_log(place: Place) -> None:
    """Guard: after a start of the machine without a writer, the log is all that is left of the newest objects."""
    before = _loose(place)
    place.publish(put(redirect("/a")))
    _lose_objects(place, before)
    start_again(place.repo)
    empty_log(place.repo)
    assert [item["source"] for item in place.fresh().items()] == ["/a"]
    assert place.git("fsck", "--full", "--strict") == ""


def _fail(_repository: Path, _name: str) -> None:
    raise OSError("power")


def test_a_reader_finds_what_a_power_cut_took(place: Place) -> None:
    """Guard: no writer comes, and the reader has nothing but the repository."""
    _cut_power(place, emptied=False)
    with open_repository(place.repo) as repository:
        head = repository.ref(draft_ref(SHOP, "main"))
        assert head
        files = [repository.blob(BlobId(entry.id)) for _, entry in repository.files(repository.commit(head).tree)]
    assert any(b"/draft" in data for data in files)


def test_unsynced_files_are_gone_after_the_cut(place: Place) -> None:
    """Control: the disk of these tests loses what is not synced, so that the log is needed."""
    before = _loose(place)
    _cut_power(place, emptied=False)
    assert _loose(place).keys() <= before.keys()


def test_damaged_files_are_replaced(place: Place) -> None:
    """A power cut also leaves empty files, and files of the right size without their bytes."""
    before = _loose(place)
    place.publish(put(redirect("/a")))
    for number, path in enumerate(sorted(_loose(place).keys() - before.keys())):
        path.chmod(0o644)
        path.write_bytes(bytes(path.stat().st_size) if number % 2 else b"")
    start_again(place.repo)
    with update(place.repo):
        pass
    assert place.git("fsck", "--full", "--strict") == ""


def test_records_after_a_half_one_are_read(place: Place) -> None:
    """Guard: a kill while a record is appended must not hide those of later writers."""
    place.publish(put(redirect("/a")))
    log = place.repo / FILE_NAME
    data = log.read_bytes()
    half = data[data.rfind(b"\0waypost object\n") : -7]
    before = _loose(place)
    log.write_bytes(data + half)
    place.publish(put(redirect("/b")))
    _lose_objects(place, before)
    start_again(place.repo)
    place.fresh().publish(put(redirect("/c")))
    assert sorted(item["source"] for item in place.fresh().items()) == ["/a", "/b", "/c"]
    assert place.git("fsck", "--full", "--strict") == ""


def test_a_full_disk_leaves_no_half_record(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ObjectLog(place.repo)
    log.append("0" * 40, b"x")
    size = (place.repo / FILE_NAME).stat().st_size
    real = os.write

    def full(handle: int, data: memoryview) -> int:
        if len(data) > 20:
            return real(handle, data[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OutOfSpace):
            log.append("1" * 40, bytes(8))
    log.close()
    assert (place.repo / FILE_NAME).stat().st_size == size


def test_an_emptied_log_is_synced_before_its_first_record(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: a new log whose name is not on disk yet would lose the changes of its first writers."""
    calls = list[str]()
    for name in ("sync_directory", "write_all"):
        monkeypatch.setattr(object_log, name, partial(_recorded, calls, name, getattr(object_log, name)))
    empty_log(place.repo)
    calls.clear()
    with closing(ObjectLog(place.repo)) as log:
        log.append("0" * 40, b"first")
        log.append("1" * 40, b"second")
    assert calls == ["sync_directory", "write_all", "write_all"]


def _recorded(calls: list[str], name: str, work: Callable[..., None], *args: object) -> None:
    calls.append(name)
    work(*args)


def test_a_log_that_a_kill_left_half_emptied_is_due(place: Place) -> None:
    """Guard: its objects were never synced, and it would be read at each restart."""
    empty_log(place.repo)
    assert not is_log_due(place.repo)
    place.publish(put(redirect("/a")))
    os.link(place.repo / FILE_NAME, place.repo / f"{FILE_NAME}.old")
    assert is_log_due(place.repo)
    empty_log(place.repo)
    assert not is_log_due(place.repo)
