"""The changes between two versions of a list: applied as an agent does, they give the new list byte for byte."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.releases.release_file import release_path
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import BadRequest, NotFound, VersionTooOld
from gitstore.git.repository import open_repository
from gitstore.history.list_changes import ListChanges, compare_lists, files_to_read, read_changes
from gitstore.layout import BlobId
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, page, put, redirect, yaml
from tests.gitstore.folders import Folder, join_window, release_of
from tests.gitstore.written import record_lists

_NAMES = {
    Kind.REDIRECTS: ("redirects.yaml", "redirects/a.yaml", "redirects/b.yaml", "redirects/sub/c.yaml"),
    Kind.PAGES: ("pages.yaml", "pages/b.yaml"),
}
_BODIES = ({"robots.txt": b"one\n", "content/a.xml": b"<a/>\n"}, {"robots.txt": b"two\n", "content/a.xml": b"<a/>\n"})


def folder(files: Mapping[str, list[Record]], bodies: Mapping[str, bytes] = _BODIES[0]) -> Folder:
    """Return a folder with these records by file; each file of content is there for the pages of both folders."""
    kinds = {name: kind for kind, names in _NAMES.items() for name in names}
    found = {name: new_file(kinds[name], records, "block") for name, records in files.items()}
    return Folder(found | {f"{place}{name}": data for name, data in bodies.items() for place in ("", "pages/")})


@st.composite
def _states(draw: st.DrawFn) -> tuple[Folder, Folder]:
    """Draw two states: files that are the same, differ, move to another name, come and go; rules move between them."""
    kinds = [kind for kind in Kind for _ in _NAMES[kind]]
    names = [name for kind in Kind for name in _NAMES[kind]]
    old = {name: draw(record_lists(kind)) for name, kind in zip(names, kinds, strict=True) if draw(st.booleans())}
    new = {name: _edited(draw, name, old, kind) for name, kind in zip(names, kinds, strict=True) if draw(st.booleans())}
    return folder(old, draw(st.sampled_from(_BODIES))), folder(new, draw(st.sampled_from(_BODIES)))


def _edited(draw: st.DrawFn, name: str, old: Mapping[str, list[Record]], kind: Kind) -> list[Record]:
    """Draw the new records of a file: those of an old one, some of them in another order, with others between them."""
    source = draw(st.sampled_from([name, name, *_NAMES[kind]]))
    records = list(old.get(source, []))
    match draw(st.integers(0, 3)):
        case 0:
            return records
        case 1:
            return records[::-1]
        case 2:
            return [*records[1:], *draw(record_lists(kind)), *records[:1]]
        case _:
            return [*draw(record_lists(kind)), *records]


def changes_of(kind: Kind, old: Folder, new: Folder) -> ListChanges:
    """Return the changes of a list; only the files that have to be read are."""
    files = [side.listed for side in (old, new)]
    read = [files_to_read(one, frozenset(other)) for one, other in (files, files[::-1])]
    sides = [side.part(chosen) for side, chosen in zip((old, new), read, strict=True)]
    return compare_lists(kind, release_of(new.snapshot).file_counts()[kind], *sides)


def items_of(kind: Kind, side: Folder) -> list[bytes]:
    """Return the items of the whole list, from the compiled release."""
    listing = release_of(side.snapshot).listings[kind]
    return [join_window(listing, at, 1) for at in range(listing.total)]


def apply(old: list[bytes], found: ListChanges) -> list[bytes]:
    """Apply changes one by one, as the contract says: remove from the end, insert from the start, replace."""
    rules = list(old)
    for index, item in reversed(found.removed):
        assert rules.pop(index) == item
    for index, item in found.added:
        rules.insert(index, item)
    for index, item in found.changed:
        assert rules[index] != item
        rules[index] = item
    return rules


_SAME: list[Record] = [redirect("/same/1"), redirect("/same/2")]
_SHIFTED = (
    folder({"redirects.yaml": [redirect("/x")], "redirects/a.yaml": _SAME,
            "redirects/b.yaml": [redirect("/1"), redirect("/2"), redirect("/3")]}),
    folder({"redirects.yaml": [redirect("/y"), redirect("/x"), redirect("/z")], "redirects/a.yaml": _SAME,
            "redirects/b.yaml": [redirect("/1", "/other"), redirect("/3"), redirect("/4")]}),
)  # fmt: skip


@given(_states())
@example(_SHIFTED)
@example(_SHIFTED[::-1])
@example((folder({}), folder({})))
@example((folder({"redirects.yaml": [redirect("/a")]}), folder({"redirects.yaml": [redirect("/a", note="why")]})))
@example((folder({"redirects/a.yaml": [redirect("/a")]}), folder({"redirects/b.yaml": [redirect("/a")]})))
@example((folder({"pages.yaml": [page("/r", "", content_file="robots.txt")]}),
          folder({"pages.yaml": [page("/r", "", content_file="robots.txt")]}, _BODIES[1])))  # fmt: skip
@example((folder({"redirects.yaml": [redirect("/a")], "redirects/a.yaml": [redirect("/b")]}),
          folder({"redirects.yaml": [redirect("/b")], "redirects/a.yaml": [redirect("/b"), redirect("/a")]})))  # fmt: skip
def test_the_old_list_with_the_changes_is_the_new_list(states: tuple[Folder, Folder]) -> None:
    """Each list is compared with the whole list of the release; duplicates and moved, renamed files are among them."""
    for kind in Kind:
        old, new = (items_of(kind, side) for side in states)
        found = changes_of(kind, *states)
        assert apply(old, found) == new
        assert [old[index] for index, _ in found.removed] == [item for _, item in found.removed]
        for index, item in (*found.added, *found.changed):
            assert new[index] == item
        if old == new and states[0].files == states[1].files:
            assert found == ListChanges([], [], [])
        parsed = orjson.loads(found.dump())
        assert {name: [each["index"] for each in part] for name, part in parsed.items()} == {
            name: [index for index, _ in part] for name, part in found._asdict().items()
        }


def test_a_note_or_a_tag_changes_nothing_for_agents() -> None:
    """They are not sent; nor is the layout of a file."""
    old = folder({"redirects.yaml": [redirect("/a"), redirect("/b")]})
    new = folder({"redirects.yaml": [redirect("/a", note="why"), redirect("/b", tags=("x",))]})
    assert changes_of(Kind.REDIRECTS, old, new) == ListChanges([], [], [])


def test_a_rule_that_moved_is_removed_and_added() -> None:
    """In a file, and between files."""
    one, other = redirect("/a"), redirect("/b")
    old, new = folder({"redirects.yaml": [one, other]}), folder({"redirects.yaml": [other, one]})
    found = changes_of(Kind.REDIRECTS, old, new)
    (removed, added) = ([index for index, _ in part] for part in (found.removed, found.added))
    assert (removed, added, found.changed) in [([0], [1], []), ([1], [0], [])]
    old, new = folder({"redirects.yaml": [one, other]}), folder({"redirects.yaml": [other], "redirects/a.yaml": [one]})
    assert apply(items_of(Kind.REDIRECTS, old), changes_of(Kind.REDIRECTS, old, new)) == items_of(Kind.REDIRECTS, new)


class Held(NamedTuple):
    """A version with both of its lists, as items of JSON."""

    version: str
    lists: Mapping[Kind, list[Any]]


def held(place: Place) -> Held:
    """Return what a place serves now."""
    return Held(place.state()[0], {kind: place.items(kind=kind) for kind in Kind})


def applied(place: Place, old: Held, to: str) -> dict[Kind, list[Any]]:
    """Return the lists that an agent has after it applied the changes."""
    found = place.store.releases.changes(SPACE, SHOP, old.version, to)
    assert (found.old, found.new) == (old.version, to)
    lists = {}
    for kind in Kind:
        rules = [orjson.dumps(item) for item in old.lists[kind]]
        parts = orjson.loads(found.lists[kind])
        changes = ListChanges(
            *([(each["index"], orjson.dumps(each["item"])) for each in parts[name]] for name in parts)
        )
        lists[kind] = [orjson.loads(item) for item in apply(rules, changes)]
    return lists


def test_any_version_leads_to_any_other(place: Place) -> None:
    """By edits, pushes of several files, a file of content, removals and a rollback; forward and back."""
    versions = [held(place)]

    def note() -> None:
        versions.append(held(place))

    place.publish(*(put(redirect(f"/{number}")) for number in range(30)), put(page("/robots.txt")))
    note()
    place.publish(put(redirect("/7", "/other")), Delete(Kind.REDIRECTS, redirect("/3").id))
    note()
    place.push({"shop/redirects/b.yaml": yaml([("/x", "/y"), ("/z", "/y")]), "shop/pages/robots.txt": "one\n"} | {
        "shop/pages/p.yaml": "pages:\n  - {type: BASIC, path: /r, file: robots.txt, contentType: TEXT_PLAIN}\n"})  # fmt: skip
    note()
    place.push({"shop/pages/robots.txt": "two\n"})
    note()
    place.push({"shop/redirects/b.yaml": None, "shop/redirects/a.yaml": yaml([("/z", "/y"), ("/x", "/y")])})
    note()
    place.store.publishes.roll_back(SPACE, SHOP, versions[2].version, ADA)
    note()
    for old in versions:
        for new in versions:
            assert applied(place, old, new.version) == new.lists, (old.version, new.version)


def test_versions_are_named_by_numbers_and_prefixes_too(place: Place) -> None:
    """As in the lists of a version."""
    first = place.state()[0]
    second = place.publish(put(redirect("/a"))).version
    wanted = place.store.releases.changes(SPACE, SHOP, first, second)
    assert place.store.releases.changes(SPACE, SHOP, "1", "2") == wanted
    assert place.store.releases.changes(SPACE, SHOP, first[:9], second[:9].upper()) == wanted


def test_a_version_that_is_not_known_is_too_old(place: Place) -> None:
    """Its agent walks. A word that names no version at all is refused, and so is an unknown target."""
    here = place.state()[0]
    for word in ("f" * 40, "abcdef1", "2", "0"):
        with pytest.raises(VersionTooOld, match=word):
            place.store.releases.changes(SPACE, SHOP, word, here)
        with pytest.raises(NotFound):
            place.store.releases.changes(SPACE, SHOP, here, word)
    for word in ("main", "draft", "-1", "../x"):
        with pytest.raises(BadRequest):
            place.store.releases.changes(SPACE, SHOP, word, here)


def test_a_version_that_was_refused_was_never_served(place: Place) -> None:
    """No agent can hold it; the versions around it lead to each other."""
    before = held(place)
    refused = place.push({"shop/redirects.yaml": "redirects:\n  - {sorce: /x}\n"})
    assert place.state()[0] == before.version
    with pytest.raises(VersionTooOld):
        place.store.releases.changes(SPACE, SHOP, refused, before.version)
    place.push({"shop/redirects.yaml": yaml([("/b", "/c")])})
    after = held(place)
    assert applied(place, before, after.version) == after.lists
    with pytest.raises(VersionTooOld):
        place.store.releases.changes(SPACE, SHOP, refused, after.version)


def test_a_project_that_was_removed_and_created_again(place: Place) -> None:
    """The lists of both are known, so an agent that slept through it follows; nothing leads from or to the removal."""
    place.publish(put(redirect("/a")), put(page("/p")))
    before = held(place)
    place.store.projects.delete(SPACE, SHOP, ADA)
    removal = place.tip
    place.begin(SHOP)
    place.publish(put(redirect("/b")))
    after = held(place)
    assert applied(place, before, after.version) == after.lists
    with pytest.raises(VersionTooOld):
        place.store.releases.changes(SPACE, SHOP, removal, after.version)
    with pytest.raises(NotFound):
        place.store.releases.changes(SPACE, SHOP, before.version, removal)


class CountingStore(SegmentStore):
    """Segments that note which ones are asked for."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.paths.segments, place.paths.archive)
        self.asked: list[BlobId] = []

    def find_cached(self, blob: BlobId) -> Segment | None:
        """Note the blob."""
        self.asked.append(blob)
        return super().find_cached(blob)


@pytest.mark.parametrize("files", [2, 40])
def test_the_cost_follows_the_change(place: Place, files: int) -> None:
    """Guard: of a list in many files, only the changed file is read, once for each version."""
    names = [f"shop/redirects/{number:02}.yaml" for number in range(files)]
    place.push({name: yaml([(f"/{name}/{at}", "/x") for at in range(50)]) for name in names})
    old = held(place)
    place.push({names[-1]: yaml([(f"/{names[-1]}/{at}", "/y" if at == 7 else "/x") for at in range(50)])})
    new = held(place)
    store = CountingStore(place)
    with open_repository(place.repo) as repository:
        compiler = Compiler(place.paths, repository, store, read_only=True)
        found = read_changes(compiler, SHOP, old.version, new.version)
    assert len(store.asked) == 2
    (change,) = orjson.loads(found.lists[Kind.REDIRECTS])["changed"]
    assert change == {"index": files * 50 - 43, "item": new.lists[Kind.REDIRECTS][-43]}
    assert len(b"".join(found.lists.values())) < 300


@pytest.mark.parametrize("damage", [b"", b"WAYPOST2 and then nothing of use"])
def test_a_lost_release_is_compiled_again(place: Place, damage: bytes) -> None:
    """It has the lengths of the files that are not read."""
    old = held(place)
    place.publish(put(redirect("/a")))
    new = held(place)
    tree = place.store.releases.project(SPACE, SHOP).entry.tree
    assert tree
    path = release_path(place.paths.releases, tree)
    path.unlink()
    path.write_bytes(damage)
    assert applied(place.fresh(), old, new.version) == new.lists


def test_a_version_whose_objects_are_lost_is_too_old(place: Place) -> None:
    """The newest lists can be read, so an agent that walks goes on; a 503 would leave it where it is."""
    place.publish(put(redirect("/a")))
    old = held(place)
    place.publish(put(redirect("/b")))
    new = held(place)
    lost = place.git("rev-parse", f"{old.version}:shop")
    (place.repo / "objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(VersionTooOld):
        place.fresh().store.releases.changes(SPACE, SHOP, old.version, new.version)
    assert place.fresh().items() == new.lists[Kind.REDIRECTS]
