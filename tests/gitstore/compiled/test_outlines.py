"""Outlines: a project with many files of rules is listed, searched and edited by reading a few of its segments."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments import outline_store
from gitstore.compiled.segments.columns import Columns
from gitstore.compiled.segments.outline import OutlinedSegment
from gitstore.compiled.segments.outline_store import OutlineStore
from gitstore.compiled.segments.segment import ID_BYTES, SEGMENT_FORMAT, Segment, compile_segment
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import Snapshot, take_snapshot
from gitstore.drafts.draft_changes import draft_changes
from gitstore.drafts.listing import DraftView, ItemPage, Query, Span, list_items
from gitstore.errors import OutOfSpace
from gitstore.layout import BlobId, TreeId
from gitstore.store.store import Store
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.drafts.test_listing import queries, redirects
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect
from tests.gitstore.folders import Folder

FILES = 80
PER_FILE = 3
WANTED = "/7-1"


@pytest.fixture
def many(place: Place) -> Place:
    """Return a published project with many files of rules, and a draft that changes one of them."""
    place.publish(
        *(
            put(redirect(f"/{file}-{number}"), file=f"redirects/{file:03}.yaml")
            for file in range(FILES)
            for number in range(PER_FILE)
        )
    )
    place.save(put(redirect(WANTED, "/edited")))
    return place


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[BlobId]:
    """Return the blobs of the segments that are read from disk from now on."""
    found: list[BlobId] = []
    load = SegmentStore._load

    def note(self: SegmentStore, blob: BlobId) -> Segment | None:
        found.append(blob)
        return load(self, blob)

    monkeypatch.setattr(SegmentStore, "_load", note)
    return found


def listed(store: Store, query: Query, limit: int = 2, offset: int = 0) -> ItemPage:
    """Return a window of the draft's redirects."""
    return store.drafts.records(SPACE, MAIN, Kind.REDIRECTS, query, Span(offset, limit))


def sources(page: ItemPage) -> list[str]:
    """Return the sources of a window."""
    return [item.placed.record.identity for item in page.items]


def files_of(place: Place) -> list[Path]:
    """Return the files of outlines of the project."""
    return sorted((place.root / "compiled" / SPACE / "outlines" / SHOP).iterdir())


@pytest.mark.parametrize(
    ("query", "total", "read"),
    [
        (Query(), FILES * PER_FILE, 1),
        (Query(text="7-1"), 8, 2),
        (Query(text="nowhere"), 0, 0),
        (Query(type="BASIC", status="FOUND"), FILES * PER_FILE, 1),
        (Query(tag="x"), 0, 0),
        (Query(sort="source"), FILES * PER_FILE, 1),
        (Query(sort="-target"), FILES * PER_FILE, 2),
        (Query(change="changed"), 1, 1),
        (Query(change="none"), FILES * PER_FILE - 1, 1),
    ],
)
def test_search_reads_only_segments_that_it_shows_or_that_the_draft_changes(
    many: Place, loaded: list[BlobId], query: Query, total: int, read: int
) -> None:
    """Guard: a search among 2,000 files read all of them; the changed file is read on both sides, for the comparison."""
    listed(many.store, Query())
    fresh = Store(many.root)
    loaded.clear()
    assert listed(fresh, query).total == total
    changed_file_on_both_sides = 2
    assert len(set(loaded)) <= read + changed_file_on_both_sides


def test_edit_reads_the_segments_of_its_file_and_of_files_edited_before(many: Place, loaded: list[BlobId]) -> None:
    listed(many.store, Query())
    fresh = Store(many.root)
    loaded.clear()
    fresh.drafts.edit(SPACE, MAIN, [put(redirect("/11-2", "/also"))], ADA)
    assert len(set(loaded)) <= 3


def test_repeated_search_is_not_made_again_after_an_edit(many: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the edited file is searched again."""
    searched: list[bytes] = []
    search = Columns._search

    def note(self: Columns, wanted: bytes) -> bytes:
        searched.append(wanted)
        return search(self, wanted)

    monkeypatch.setattr(Columns, "_search", note)
    assert listed(many.store, Query(text="7-1")).total == 8
    first = len(searched)
    many.save(put(redirect("/7-2", "/7-1")))
    assert listed(many.store, Query(text="7-1")).total == 9
    assert (first >= FILES, len(searched) - first) == (True, 1)


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "removed", "replaced"])
def test_damaged_outlines_are_written_again(many: Place, damage: str) -> None:
    """Every list is right; the file is written again, unless few outlines of it are damaged."""
    expected = listed(many.store, Query(text="7-1"), 20)
    (file,) = files_of(many)
    data = file.read_bytes()
    damaged = {
        "flipped": bytes(byte ^ 1 for byte in data[:8000]) + data[8000:],
        "cut": data[: len(data) // 2],
        "emptied": b"",
        "removed": b"",
        "replaced": b"{}" * 40,
    }[damage]
    file.unlink()
    if damage != "removed":
        file.write_bytes(damaged)
    assert listed(Store(many.root), Query(text="7-1"), 20) == expected
    assert (data in {path.read_bytes() for path in files_of(many)}) is (damage != "flipped")


def test_damaged_index_of_ids_misses_no_record(many: Place) -> None:
    """The outlines are whole; what leads from an id to its file is not."""
    (file,) = files_of(many)
    data = file.read_bytes()
    length, *_ = outline_store._TAIL.unpack(data[-outline_store._TAIL.size :])
    end = len(data) - outline_store._TAIL.size - length
    start = end - FILES * PER_FILE * ID_BYTES
    file.unlink()
    file.write_bytes(data[:start] + bytes(byte ^ 255 for byte in data[start:end]) + data[end:])
    store = Store(many.root)
    for source in ("/0-0", WANTED, f"/{FILES - 1}-0"):
        assert store.drafts.record(SPACE, MAIN, Kind.REDIRECTS, redirect(source).id).placed.record.identity == source


def test_full_disk_stops_no_list(many: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> None:
        raise OutOfSpace

    for file in files_of(many):
        file.unlink()
    monkeypatch.setattr(outline_store, "open_replacement", fail)
    assert sources(listed(many.store, Query(text="7-1"))) == [WANTED, "/17-1"]
    assert files_of(many) == []


def test_files_of_outlines_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest ones go where each state is another one; where one state is in many, they become one."""
    monkeypatch.setattr(outline_store, "_FEWEST", 2)
    store = SegmentStore(tmp_path / "parts", None, tmp_path / "outlines")
    folder = tmp_path / "outlines" / SHOP
    counts = []
    for turn in range(10):
        _take(_folder([redirect(f"/{turn}-{number}") for number in range(3)], 1), store)
        counts.append(len([*folder.iterdir()]))
    assert counts == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    for file in folder.iterdir():
        file.unlink()
    counts = []
    for turn in range(1, 6):
        _take(_folder([redirect(f"/{number}") for number in range(2 * turn)], 1), store)
        counts.append(len([*folder.iterdir()]))
    assert counts == [1, 2, 3, 4, 1]


def test_outlines_in_use_stay_young(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the daily clean-up removed those of a process that had them mapped for long."""
    monkeypatch.setattr(outline_store, "_FEWEST", 2)
    outlines, segment = OutlineStore(tmp_path), compile_segment(b"redirects: []\n")
    blobs = [BlobId(f"{number:040}") for number in range(2)]
    for _ in range(2):
        assert outlines.segments(SHOP, blobs, lambda _: segment, lambda _: segment).keys() == {*blobs}
        (file,) = (tmp_path / SHOP).iterdir()
        assert file.stat().st_mtime > 0
        os.utime(file, (0, 0))


def test_few_files_of_outlines_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the files of removed projects stayed open as long as the process."""
    monkeypatch.setattr(outline_store, "_FEWEST", 2)
    monkeypatch.setattr(outline_store, "_MOST_MAPPED", 3)
    outlines, segment = OutlineStore(tmp_path), compile_segment(b"redirects: []\n")
    blobs = [BlobId(f"{number:040}") for number in range(2)]
    for project in ("a", "b", "c", "d", "b"):
        assert outlines.segments(project, blobs, lambda _: segment, lambda _: segment).keys() == {*blobs}
    assert [path.parent.name for path in outlines._packs] == ["c", "d", "b"]


def test_outlines_depend_on_the_format_of_segments() -> None:
    """They contain the problems of the rules, which other checks change."""
    assert f".{SEGMENT_FORMAT}-" in outline_store._SUFFIX


def test_threads_may_read_other_projects_meanwhile(many: Place) -> None:
    """Guard: the first read of a project's outlines ended that of another thread, in another project, with an error."""
    outlines = OutlineStore(many.root / "compiled" / SPACE / "outlines")
    (file,) = files_of(many)

    class Meanwhile(type(file)):  # type: ignore[misc]  # the class of paths depends on the system
        @property
        def parent(self) -> Path:
            outlines._pack(file)
            return Path(super().parent)

    (outlines._packs[Meanwhile("other", "1")],) = outlines._open(SHOP)
    outlines._packs.pop(file)
    assert [pack.path for pack in outlines._open(SHOP)] == [file]


@given(st.lists(redirects, max_size=12), st.lists(redirects, max_size=12), st.integers(1, 4), queries)
def test_outlined_state_equals_one_of_whole_segments(
    old: list[Record], new: list[Record], per_file: int, query: Query
) -> None:
    """Records, ids, lines, problems, changes and lists; also with a source twice in a file or in two."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(outline_store, "_FEWEST", 1)
        folders = [_folder(each, per_file) for each in (old, new)]
        store = SegmentStore(Path(folder, "parts"), None, Path(folder, "outlines"))
        base, working = (_take(each, store) for each in folders)
        before, after = (each.snapshot for each in folders)
        placed = [*after.placed(Kind.REDIRECTS)]
        assert [*working.placed(Kind.REDIRECTS)] == placed
        assert working.problems == after.problems
        found = [[side.find(Kind.REDIRECTS, each.record.id) for each in placed] for side in (working, after)]
        assert found[0] == found[1]
        assert _list(base, working, query) == _list(before, after, query)
        assert all(isinstance(file.segment, OutlinedSegment) for file in working.rule_files[Kind.REDIRECTS])


def _folder(records: list[Record], per_file: int) -> Folder:
    parts = [records[at : at + per_file] for at in range(0, len(records), per_file)]
    return Folder({f"redirects/{at}.yaml": new_file(Kind.REDIRECTS, part, "flow") for at, part in enumerate(parts)})


def _take(folder: Folder, store: SegmentStore) -> Snapshot:
    return take_snapshot(SHOP, TreeId("0" * 40), folder.listed, folder, store)


def _list(base: Snapshot, working: Snapshot, query: Query) -> ItemPage:
    changes = draft_changes(Kind.REDIRECTS, base, working)
    return list_items(DraftView(Kind.REDIRECTS, base, working, changes), query, Span(1, 5))
