"""The records that several drafts change: compared once for each state of a draft, the newest drafts first."""

import pytest

from content.changes.diff import ChangeType
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts import shared_records
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.layout import TreeId
from gitstore.store import drafts
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, page, put, redirect

A, B, NEW, TEXT = (identity_id(each) for each in ("/a", "/b", "/new", "/text"))
FOUND = {
    ("one", Kind.REDIRECTS, A, ChangeType.CHANGED),
    ("one", Kind.REDIRECTS, NEW, ChangeType.ADDED),
    ("two", Kind.REDIRECTS, B, ChangeType.REMOVED),
    ("two", Kind.PAGES, TEXT, ChangeType.CHANGED),
}


@pytest.fixture
def shop(place: Place) -> Place:
    """Return a project that two drafts change."""
    place.publish(put(redirect("/a")), put(redirect("/b")), put(page("/text")))
    place.save(put(redirect("/a", "/x")), put(redirect("/new")), draft=DraftName(SHOP, "one"))
    place.save(Delete(Kind.REDIRECTS, B), put(page("/text", "other\n")), draft=DraftName(SHOP, "two"))
    return place


def _find(place: Place) -> set[tuple[str, Kind, str, ChangeType]]:
    found = place.store.drafts.shared(SPACE, MAIN, list(Kind), [A, B, NEW, TEXT])
    return {(head.name.draft, each.kind, each.id, each.change) for head, records in found for each in records}


def test_a_draft_is_compared_once_until_it_moves(shop: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _find(shop) == FOUND
    opened, read = list[TreeId](), Compiler.snapshot

    def count(compiler: Compiler, project: str, tree: TreeId) -> Snapshot:
        opened.append(tree)
        return read(compiler, project, tree)

    monkeypatch.setattr(Compiler, "snapshot", count)
    assert (_find(shop), opened) == (FOUND, [])
    shop.save(put(redirect("/b", "/y")), draft=DraftName(SHOP, "one"))
    opened.clear()
    assert _find(shop) == FOUND | {("one", Kind.REDIRECTS, B, ChangeType.CHANGED)}
    assert len(opened) == 2, "more than the two states of the draft that moved were read"


def test_the_records_of_drafts_with_many_changes_are_looked_up(shop: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_records, "_MOST_COMPARED", 0)
    monkeypatch.setattr(shared_records, "changes_between", None)
    assert _find(shop) == FOUND


def test_the_newest_drafts_are_looked_at(shop: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_SHARED", 1)
    heads = shop.store.drafts.heads({SPACE: [SHOP]})
    _, newest = min(heads, key=lambda each: (-each[1].time, each[1].name))
    assert {draft for draft, *_ in _find(shop)} == {newest.name.draft}
