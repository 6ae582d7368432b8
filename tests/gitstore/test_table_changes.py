"""What tables tell of two states is what their records tell."""

from collections.abc import Mapping

from hypothesis import example, given
from hypothesis import strategies as st

from content.diff import Change, ChangeType, count
from content.record import Record, identity_id
from content.vocabulary import Kind
from gitstore.changes import changes_between
from gitstore.dump import new_file
from gitstore.table_changes import Table, compare
from tests.gitstore.folders import Folder, release_of
from tests.gitstore.places import page, redirect
from tests.gitstore.written import record_lists

_BODIES = {"robots.txt": b"one\n", "content/a.xml": b"<a/>\n"}
_OTHERS = {"robots.txt": b"two\n", "content/a.xml": b"<a/>\n"}
_NAMES = {Kind.REDIRECTS: ("redirects.yaml", "redirects/b.yaml"), Kind.PAGES: ("pages.yaml",)}


@st.composite
def _states(draw: st.DrawFn) -> Folder:
    """A state in which no record stands twice: redirects in two files, pages with and without files of their own."""
    redirects, pages = draw(record_lists(Kind.REDIRECTS)), draw(record_lists(Kind.PAGES))
    cut = draw(st.integers(0, len(redirects)))
    return _state(redirects[:cut], redirects[cut:], pages, draw(st.sampled_from([_BODIES, _OTHERS])))


def _state(one: list[Record], other: list[Record], pages: list[Record], bodies: Mapping[str, bytes]) -> Folder:
    files = dict(zip([*_NAMES[Kind.REDIRECTS], *_NAMES[Kind.PAGES]], (one, other, pages), strict=True))
    kinds = {name: kind for kind, names in _NAMES.items() for name in names}
    found = {name: new_file(kinds[name], records, "block") for name, records in files.items()}
    return Folder({**found, **{f"pages/{name}" if "/" not in name else name: data for name, data in bodies.items()}})


def _told(changes: list[Change]) -> list[tuple[int, ChangeType]]:
    return [(int(identity_id(change.identity), 16), change.change) for change in changes]


def _tables(folder: Folder) -> Mapping[Kind, Table]:
    listings = release_of(folder.snapshot).listings
    return {kind: Table(listing.ids, listing.prints) for kind, listing in listings.items()}


@given(_states(), _states())
@example(
    _state([redirect("/a"), redirect("/b")], [], [], {}),
    _state([redirect("/a", "/x"), redirect("/b", note="why")], [], [], {}),
)
@example(_state([redirect("/a"), redirect("/b")], [], [], {}), _state([redirect("/b")], [redirect("/a")], [], {}))
@example(_state([redirect("/a", tags=("x",))], [], [], {}), _state([redirect("/a", tags=("y",))], [], [], {}))
@example(_state([], [], [page("/a")], {}), _state([redirect("/a")], [], [], {}))
def test_tables_tell_the_same_changes_in_the_same_order(old: Folder, new: Folder) -> None:
    """Fields, notes, tags and contents; rules and pages added, removed, moved to other files and to other places."""
    changes = changes_between(old.snapshot, new.snapshot)
    for kind in Kind:
        moved = compare(_tables(old)[kind], _tables(new)[kind])
        assert list(zip(moved.ids, moved.changes, strict=True)) == _told(changes[kind])
        assert moved.counts() == count(changes[kind])


def test_a_page_whose_file_alone_changed_has_changed() -> None:
    """Guard: the record is the same and so is its own file; what agents get is not."""
    robots = page("/robots.txt", "", content_file="robots.txt")
    pages = new_file(Kind.PAGES, [robots, page("/b")], "block")
    one, other = (Folder({"pages.yaml": pages, "robots.txt": text}) for text in (b"one\n", b"two\n"))
    moved = compare(_tables(one)[Kind.PAGES], _tables(other)[Kind.PAGES])
    assert (moved.ids, moved.changes) == ([int(robots.id, 16)], [ChangeType.CHANGED])


def test_of_records_that_stood_twice_the_last_one_counts() -> None:
    """Only content that is wrong has such, and going back from it is what a rollback is for."""
    moved = compare(Table([1, 2, 1, 3, 3], [10, 20, 11, 30, 31]), Table([1, 2], [11, 21]))
    assert list(zip(moved.ids, moved.changes, strict=True)) == [(2, ChangeType.CHANGED), (3, ChangeType.REMOVED)]
