"""Changes read from compiled tables equal the changes read from records."""

from collections.abc import Mapping

from hypothesis import example, given
from hypothesis import strategies as st

from content.changes.diff import Change, ChangeType, count
from content.records.record import Record, identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import changes_between
from gitstore.history.table_changes import FingerprintTable, compare_tables
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, release_of
from tests.gitstore.written import record_lists

_BODIES = {"robots.txt": b"one\n", "content/a.xml": b"<a/>\n"}
_OTHERS = {"robots.txt": b"two\n", "content/a.xml": b"<a/>\n"}
_NAMES = {Kind.REDIRECTS: ("redirects.yaml", "redirects/b.yaml"), Kind.PAGES: ("pages.yaml",)}


@st.composite
def _states(draw: st.DrawFn) -> Folder:
    """Draw a state in which each record is unique: redirects in two files, pages with and without files of content."""
    redirects, pages = draw(record_lists(Kind.REDIRECTS)), draw(record_lists(Kind.PAGES))
    cut = draw(st.integers(0, len(redirects)))
    return _state(redirects[:cut], redirects[cut:], pages, draw(st.sampled_from([_BODIES, _OTHERS])))


def _state(one: list[Record], other: list[Record], pages: list[Record], bodies: Mapping[str, bytes]) -> Folder:
    files = dict(zip([*_NAMES[Kind.REDIRECTS], *_NAMES[Kind.PAGES]], (one, other, pages), strict=True))
    kinds = {name: kind for kind, names in _NAMES.items() for name in names}
    found = {name: new_file(kinds[name], records, "block") for name, records in files.items()}
    return Folder({**found, **{f"pages/{name}" if "/" not in name else name: data for name, data in bodies.items()}})


def _ids_and_types(changes: list[Change]) -> list[tuple[int, ChangeType]]:
    return [(int(identity_id(change.identity), 16), change.change) for change in changes]


def _tables(folder: Folder) -> Mapping[Kind, FingerprintTable]:
    listings = release_of(folder.snapshot).listings
    return {kind: FingerprintTable(listing.ids, listing.fingerprints) for kind, listing in listings.items()}


@given(_states(), _states())
@example(
    _state([redirect("/a"), redirect("/b")], [], [], {}),
    _state([redirect("/a", "/x"), redirect("/b", note="why")], [], [], {}),
)
@example(_state([redirect("/a"), redirect("/b")], [], [], {}), _state([redirect("/b")], [redirect("/a")], [], {}))
@example(_state([redirect("/a", tags=("x",))], [], [], {}), _state([redirect("/a", tags=("y",))], [], [], {}))
@example(_state([], [], [page("/a")], {}), _state([redirect("/a")], [], [], {}))
def test_tables_give_the_same_changes_in_the_same_order(old: Folder, new: Folder) -> None:
    """Fields, notes, tags and contents differ; rules and pages are added, removed, and moved to other places."""
    changes = changes_between(old.snapshot, new.snapshot)
    for kind in Kind:
        moved = compare_tables(_tables(old)[kind], _tables(new)[kind])
        assert list(zip(moved.ids, moved.changes, strict=True)) == _ids_and_types(changes[kind])
        assert moved.counts() == count(changes[kind])


def test_a_page_whose_file_alone_changed_has_changed() -> None:
    """Guard: the record and its own file are unchanged; the content that agents get is not."""
    robots = page("/robots.txt", "", content_file="robots.txt")
    pages = new_file(Kind.PAGES, [robots, page("/b")], "block")
    one, other = (Folder({"pages.yaml": pages, "robots.txt": text}) for text in (b"one\n", b"two\n"))
    moved = compare_tables(_tables(one)[Kind.PAGES], _tables(other)[Kind.PAGES])
    assert (moved.ids, moved.changes) == ([int(robots.id, 16)], [ChangeType.CHANGED])


def test_of_duplicate_records_the_last_one_counts() -> None:
    """Only invalid content has duplicates, and a rollback is the way out of it."""
    moved = compare_tables(FingerprintTable([1, 2, 1, 3, 3], [10, 20, 11, 30, 31]), FingerprintTable([1, 2], [11, 21]))
    assert list(zip(moved.ids, moved.changes, strict=True)) == [(2, ChangeType.CHANGED), (3, ChangeType.REMOVED)]
