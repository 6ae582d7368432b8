"""Compiled parts: in memory up to a number of them, on disk for all processes, packed for as long as history goes back."""

import os
import time
from pathlib import Path

import pytest

from gitstore.compiled.segments import segment_store
from gitstore.compiled.segments.segment_store import SEGMENT_SUFFIX, SegmentStore
from gitstore.layout import BlobId
from tests.gitstore.fixtures import yaml

_DAY = 86_400


def blob(number: int) -> BlobId:
    return BlobId(f"{number:040x}")


def data(number: int) -> bytes:
    return yaml([(f"/{number}", "/new")]).encode()


def file_of(folder: Path, number: int) -> Path:
    return folder / blob(number)[:2] / f"{blob(number)[2:]}{SEGMENT_SUFFIX}"


def test_memory_holds_a_bounded_number_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the least recently used goes; a process would otherwise keep every file of every namespace that it ever saw."""
    monkeypatch.setattr(segment_store, "_RULES_PER_SEGMENT", 0)
    monkeypatch.setattr(segment_store, "_CACHED_RULES", 2)
    store = SegmentStore(None)
    for number in (1, 2):
        store.get(blob(number), data(number))
    assert store.find_cached(blob(1)) is not None, "and it is now the newer one"
    store.get(blob(3), data(3))
    assert [store.find_cached(blob(number)) is not None for number in (1, 2, 3)] == [True, False, True]


def test_part_is_compiled_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SegmentStore(tmp_path / "parts").get(blob(1), data(1))
    monkeypatch.setattr(segment_store, "compile_segment", lambda _: pytest.fail("compiled again"))
    other = SegmentStore(tmp_path / "parts")
    assert other.get(blob(1), data(1)).records == made.records
    assert other.find_cached(blob(2)) is None


def test_packed_part_is_read_where_the_other_is_gone(tmp_path: Path) -> None:
    parts, kept = tmp_path / "parts", tmp_path / "kept"
    store = SegmentStore(parts, kept)
    part = store.get(blob(1), data(1))
    assert not store.is_archived(blob(1))
    store.archive_all([(blob(1), part)])
    assert store.is_archived(blob(1))
    file_of(parts, 1).unlink()
    found = SegmentStore(parts, kept).find_cached(blob(1))
    assert found is not None
    assert found.records == part.records


def test_packed_part_is_not_packed_again(tmp_path: Path) -> None:
    store = SegmentStore(None, tmp_path)
    part = store.get(blob(1), data(1))
    store.archive_all([(blob(1), part)])
    before = file_of(tmp_path, 1).stat()
    store.archive_all([(blob(1), part)])
    after = file_of(tmp_path, 1).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 1000])
def test_damaged_packed_part_goes_so_that_it_is_packed_anew(tmp_path: Path, damage: bytes) -> None:
    store = SegmentStore(None, tmp_path)
    part = store.get(blob(1), data(1))
    store.archive_all([(blob(1), part)])
    file_of(tmp_path, 1).write_bytes(damage)
    other = SegmentStore(None, tmp_path)
    assert other.find_cached(blob(1)) is None
    assert not other.is_archived(blob(1))
    other.archive_all([(blob(1), part)])
    assert SegmentStore(None, tmp_path).find_cached(blob(1)) is not None


@pytest.mark.parametrize(("days", "is_touched"), [(2, True), (0.5, False)])
def test_part_that_is_in_use_stays_young(tmp_path: Path, days: float, is_touched: bool) -> None:  # noqa: FBT001 - a table's column
    """Guard: cleaning removes what was not looked at for a week. Touched at most once a day: a look is no write."""
    SegmentStore(tmp_path).get(blob(1), data(1))
    then = time.time() - days * _DAY
    os.utime(file_of(tmp_path, 1), (then, then))
    assert SegmentStore(tmp_path).find_cached(blob(1)) is not None
    assert (file_of(tmp_path, 1).stat().st_mtime > then + 1) is is_touched


def test_folder_that_takes_nothing_stops_no_read(tmp_path: Path) -> None:
    (tmp_path / "parts").write_text("a file stands where the folder would")
    store = SegmentStore(tmp_path / "parts", tmp_path / "parts")
    part = store.get(blob(1), data(1))
    store.archive_all([(blob(1), part)])
    assert len(part.records) == 1
