"""A diff: laws over any two states, and the shapes that people and the API see."""

from collections.abc import Mapping

import pytest
from hypothesis import given

from content.changes.diff import Change, ChangeType, Counts, count, diff
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from tests.content.states import PlacedRules, three_states

BEFORE = Redirect(RedirectType.BASIC, "/old", "/x", RedirectStatus.FOUND, note="why")
AFTER = Redirect(RedirectType.BASIC, "/old", "/new", RedirectStatus.FOUND, tags=("shop",))


@given(three_states())
def test_the_changes_lead_from_the_old_state_to_the_new(states: tuple[PlacedRules, PlacedRules, PlacedRules]) -> None:
    old, new = _records(states[1]), _records(states[2])
    changes = diff(Kind.REDIRECTS, old, new)
    assert _applied(old, changes) == new
    assert len({change.identity for change in changes}) == len(changes)


@given(three_states())
def test_each_change_has_exactly_the_fields_that_differ(states: tuple[PlacedRules, PlacedRules, PlacedRules]) -> None:
    """Every change has a difference, and every field has its old and new value."""
    old, new = _records(states[1]), _records(states[2])
    for change in diff(Kind.REDIRECTS, old, new):
        assert change.old == old.get(change.identity)
        assert change.new == new.get(change.identity)
        assert change.fields
        assert all(before != after for before, after in change.fields.values())


@given(three_states())
def test_the_way_back_adds_what_was_removed_and_removes_what_was_added(
    states: tuple[PlacedRules, PlacedRules, PlacedRules],
) -> None:
    old, new = _records(states[1]), _records(states[2])
    there, back = count(diff(Kind.PAGES, old, new)), count(diff(Kind.PAGES, new, old))
    assert there == Counts(back.removed, back.changed, back.added)


@given(three_states())
def test_a_state_does_not_differ_from_itself(states: tuple[PlacedRules, PlacedRules, PlacedRules]) -> None:
    assert diff(Kind.REDIRECTS, _records(states[0]), dict(_records(states[0]))) == []


def test_changes_are_in_the_order_of_the_new_state_and_removals_last_in_the_order_of_the_old() -> None:
    old = {source: _redirect(source) for source in ("/gone2", "/kept", "/gone1")}
    new: dict[str, Record] = {source: _redirect(source) for source in ("/b", "/kept", "/a")}
    changes = diff(Kind.REDIRECTS, old, new)
    assert [change.identity for change in changes] == ["/b", "/a", "/gone2", "/gone1"]


def test_a_field_that_one_side_leaves_empty_has_none_there() -> None:
    assert Change(Kind.REDIRECTS, BEFORE, AFTER).fields == {
        "target": ("/x", "/new"),
        "note": ("why", None),
        "tags": (None, ["shop"]),
    }


def test_a_page_whose_content_moved_into_a_file_has_changed() -> None:
    inline = Page(PageType.BASIC, "/robots.txt", "all", ContentType.TEXT_PLAIN)
    beside = Page(PageType.BASIC, "/robots.txt", "all", ContentType.TEXT_PLAIN, content_file="shop/robots.txt")
    (change,) = diff(Kind.PAGES, {"/robots.txt": inline}, {"/robots.txt": beside})
    assert change.fields == {"contentFile": (None, "shop/robots.txt")}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, AFTER, ChangeType.ADDED),
        (BEFORE, AFTER, ChangeType.CHANGED),
        (BEFORE, None, ChangeType.REMOVED),
    ],
)
def test_a_change_knows_what_happened_and_to_which_record(
    old: Redirect | None, new: Redirect | None, expected: ChangeType
) -> None:
    change = Change(Kind.REDIRECTS, old, new)
    assert (change.change, change.identity, change.id) == (expected, "/old", BEFORE.id)


def test_a_change_without_any_record_is_refused_when_it_is_asked() -> None:
    with pytest.raises(ValueError, match="old or a new"):
        _ = Change(Kind.PAGES, None, None).identity


def test_a_change_on_the_wire_names_the_record_with_old_and_new() -> None:
    assert Change(Kind.REDIRECTS, BEFORE, AFTER).wire() == {
        "kind": "redirect",
        "id": BEFORE.id,
        "source": "/old",
        "type": "BASIC",
        "change": "changed",
        "fields": {
            "target": {"old": "/x", "new": "/new"},
            "note": {"old": "why", "new": None},
            "tags": {"old": None, "new": ["shop"]},
        },
    }


def test_counts_on_the_wire_are_by_name() -> None:
    changes = diff(Kind.REDIRECTS, {"/old": BEFORE, "/a": _redirect("/a")}, {"/old": AFTER, "/b": _redirect("/b")})
    assert count(changes).wire() == {"added": 1, "changed": 1, "removed": 1}


def _redirect(source: str) -> Redirect:
    return Redirect(RedirectType.BASIC, source, "/x", RedirectStatus.FOUND)


def _records(state: PlacedRules) -> dict[str, Record]:
    return {key: placed.record for key, placed in state.items()}


def _applied(old: Mapping[str, Record], changes: list[Change]) -> dict[str, Record]:
    after = {key: record for key, record in old.items() if key not in {change.identity for change in changes}}
    return after | {change.identity: change.new for change in changes if change.new is not None}
