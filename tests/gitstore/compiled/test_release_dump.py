"""A release that reuses parts of the previous one equals the release that is compiled from nothing."""

from collections.abc import Mapping

from hypothesis import example, given
from hypothesis import strategies as st

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release_dump import PreviousRelease
from gitstore.compiled.segments.sections import load_sections
from gitstore.yamlfiles.dump import new_file
from tests.content import rules
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, dump_release

_NAMES = ("redirects.yaml", "redirects/a.yaml", "redirects/b.yaml", "redirects/c.yaml")
_lists = st.lists(rules.redirects(), max_size=4)
_projects = st.dictionaries(st.sampled_from(_NAMES), _lists)
_pages = st.lists(rules.paths.map(page), max_size=3)


def _folder(redirects: Mapping[str, list[Record]], pages: list[Record]) -> Folder:
    files = {name: new_file(Kind.REDIRECTS, records, "flow") for name, records in redirects.items()}
    return Folder({**files, "pages.yaml": new_file(Kind.PAGES, pages, "block")})


@given(_projects, _projects, _pages, _pages)
@example({name: [redirect(f"/{name}/{n}") for n in range(3)] for name in _NAMES}, {}, [], [])
@example({}, {}, [page("/a")], [page("/b"), page("/a")])
@example(
    {"redirects.yaml": [redirect("/a"), redirect("/b")]}, {"redirects.yaml": [redirect("/b"), redirect("/a")]}, [], []
)
def test_a_change_is_compiled_to_the_same_bytes(
    before: dict[str, list[Record]],
    put: dict[str, list[Record]],
    old_pages: list[Record],
    new_pages: list[Record],
) -> None:
    """The bytes are equal after any change: fields, identities, order, rules and files added and removed."""
    old, new = _folder(before, old_pages).snapshot, _folder({**before, **put}, new_pages).snapshot
    for one, other in ((old, new), (new, old)):
        compiled = memoryview(dump_release(one))
        assert dump_release(other, PreviousRelease(one, compiled)) == dump_release(other)


@given(_projects, st.sampled_from(_NAMES), _lists)
def test_one_changed_file_is_compiled_to_the_same_bytes(
    before: dict[str, list[Record]], name: str, records: list[Record]
) -> None:
    """The file may be anywhere among the others, and grow or shrink: all positions behind it move."""
    before = {name: [redirect("/first")], **before}
    old, new = _folder(before, []).snapshot, _folder({**before, name: records}, []).snapshot
    assert dump_release(new, PreviousRelease(old, memoryview(dump_release(old)))) == dump_release(new)


@given(st.data())
def test_nothing_is_taken_over_from_a_damaged_release(choose: st.DataObject) -> None:
    """Guard: reused parts get a new checksum, which would hide the damage permanently."""
    old = _folder({"redirects.yaml": [redirect("/a"), redirect("/b")]}, [])
    new = old.changed({"redirects/c.yaml": b"redirects: []\n", "pages.yaml": None})
    data = bytearray(dump_release(old.snapshot))
    view = memoryview(data)
    keys = load_sections(view)["redirects.keys"]
    keys[choose.draw(st.integers(0, len(keys) - 1))] ^= 1 << choose.draw(st.integers(0, 7))
    changed = old.changed({"redirects.yaml": new_file(Kind.REDIRECTS, [redirect("/a", "/x"), redirect("/b")], "flow")})
    for snapshot in (new.snapshot, changed.snapshot):
        assert dump_release(snapshot, PreviousRelease(old.snapshot, view)) == dump_release(snapshot)
