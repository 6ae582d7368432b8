"""Laws of the three-way merge, compared with a naive model, and its documented decisions one by one."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.changes.decision import Decision, Decisions, digest
from content.changes.merge import WHOLE_RULE, Conflict, Merge, merge
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from tests.content.states import PlacedRules, three_states

FILE = "shop/redirects.yaml"
Fields = dict[str, object]


def naive_fields(placed: Placed[Record] | None) -> Fields | None:
    """Return a rule as a flat mapping, with its file; written independently of the code under test."""
    if placed is None:
        return None
    record = placed.record
    shared: Fields = {"type": str(record.type), "note": record.note or None, "tags": list(record.tags) or None}
    if isinstance(record, Redirect):
        own: Fields = {"source": record.source, "target": record.target, "status": str(record.status)}
    else:
        own = {
            "path": record.path,
            "content": record.content,
            "contentType": str(record.content_type),
            "contentFile": record.content_file or None,
        }
    return {name: value for name, value in {**shared, **own, "file": placed.file}.items() if value is not None}


def naive_merge(
    base: PlacedRules, ours: PlacedRules, theirs: PlacedRules
) -> tuple[dict[str, Fields], set[tuple[str, str]]]:
    """Return the merged rules without order, and the places of the conflicts: the textbook rule, value by value."""
    rules: dict[str, Fields] = {}
    conflicts = set()
    for key in {*base, *ours, *theirs}:
        b, o, t = (naive_fields(side.get(key)) for side in (base, ours, theirs))
        if o is None or t is None:
            kept = t if o == b else o
            if b not in (o, t) and o != t:
                conflicts.add((key, WHOLE_RULE))
        else:
            kept = {}
            for name in {*o, *t}:
                before, release, draft = (b or {}).get(name), o.get(name), t.get(name)
                value = draft if release == before else release
                if value is not None:
                    kept[name] = value
                if len({repr(each) for each in (before, release, draft)}) == 3:
                    conflicts.add((key, name))
        if kept is not None:
            rules[key] = kept
    return rules, conflicts


def state_of(merged: Merge[Record]) -> list[tuple[str, Record]]:
    """Return the merged rules in order, as file and record."""
    return [(placed.file, placed.record) for placed in merged.placed]


def rows(state: PlacedRules) -> list[tuple[str, Record]]:
    """Return the rules of a state in the same form."""
    return [(placed.file, placed.record) for placed in state.values()]


def state(merged: Merge[Record]) -> PlacedRules:
    """Return the merged records as a state that can be merged again."""
    return {placed.record.identity: placed for placed in merged.placed}


@given(three_states())
def test_a_side_that_changed_nothing_yields_to_the_other(states: tuple[PlacedRules, PlacedRules, PlacedRules]) -> None:
    base, changed, _ = states
    assert merge(base, base, changed) == Merge(merge(changed, changed, changed).placed, ())
    assert state_of(merge(base, base, changed)) == rows(changed)
    assert state_of(merge(base, changed, base)) == rows(changed)
    assert merge(base, changed, base).conflicts == ()


@given(three_states())
def test_what_both_sides_did_alike_is_taken_once(states: tuple[PlacedRules, PlacedRules, PlacedRules]) -> None:
    base, changed, _ = states
    assert state_of(merge(base, changed, changed)) == rows(changed)
    assert merge(base, changed, changed).conflicts == ()


@given(three_states())
def test_rules_fields_and_conflicts_are_those_of_the_naive_model(
    states: tuple[PlacedRules, PlacedRules, PlacedRules],
) -> None:
    """No rule is lost or doubled, no field is lost, no conflict is false and none is missed."""
    rules, conflicts = naive_merge(*states)
    merged = merge(*states)
    assert len(merged.placed) == len(rules)
    assert {placed.record.identity: naive_fields(placed) for placed in merged.placed} == rules
    assert {(conflict.identity, conflict.field) for conflict in merged.conflicts} == conflicts
    assert len(merged.conflicts) == len(conflicts)


@given(three_states())
def test_swapping_the_sides_swaps_the_values_of_the_conflicts_and_nothing_else(
    states: tuple[PlacedRules, PlacedRules, PlacedRules],
) -> None:
    base, ours, theirs = states
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert {_facts(conflict) for conflict in one.conflicts} == {_facts(_swapped(each)) for each in other.conflicts}
    disputed = {conflict.identity for conflict in one.conflicts}
    assert _undisputed(one, disputed) == _undisputed(other, disputed)


@given(three_states())
def test_merging_again_changes_nothing(states: tuple[PlacedRules, PlacedRules, PlacedRules]) -> None:
    """The result stays the same if release is merged into the draft, or the draft into release, before the merge."""
    base, ours, theirs = states
    once = merge(base, ours, theirs)
    assert merge(ours, ours, state(once)) == Merge(once.placed, ())
    if not once.conflicts:
        assert merge(base, state(once), theirs) == once
        assert merge(base, ours, state(once)) == once


@given(three_states())
def test_files_follow_each_other_by_path_and_positions_count_from_zero(
    states: tuple[PlacedRules, PlacedRules, PlacedRules],
) -> None:
    placed = merge(*states).placed
    assert [each.file for each in placed] == sorted(each.file for each in placed)
    assert [each.position for each in placed] == list(range(len(placed)))
    assert {each.line for each in placed} <= {0}


@given(three_states())
def test_both_orders_survive_where_they_do_not_contradict_each_other(
    states: tuple[PlacedRules, PlacedRules, PlacedRules],
) -> None:
    base, ours, theirs = states
    merged = state(merge(base, ours, theirs))
    for file in {placed.file for placed in merged.values()}:
        order = [key for key, placed in merged.items() if placed.file == file]
        release, draft = ([key for key in side if key in order and side[key].file == file] for side in (ours, theirs))
        if [key for key in release if key in draft] == [key for key in draft if key in release]:
            assert [key for key in order if key in release] == release
            assert [key for key in order if key in draft] == draft


def test_rules_appended_on_both_sides_are_all_kept_release_first() -> None:
    base = _state("/a /b")
    merged = merge(base, _state("/a /b /r"), _state("/a /b /d"))
    assert (_keys(merged), merged.conflicts) == ("/a /b /r /d", ())


def test_rules_put_first_on_both_sides_are_all_kept_release_first() -> None:
    merged = merge(_state("/a"), _state("/r /a"), _state("/d /a"))
    assert (_keys(merged), merged.conflicts) == ("/r /d /a", ())


def test_a_new_rule_comes_after_the_rule_that_it_followed_in_the_draft() -> None:
    merged = merge(_state("/a /b"), _state("/a /b /r"), _state("/first /a /d /b"))
    assert _keys(merged) == "/first /a /d /b /r"


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("/c /b /a", "/a /b /c", "/c /b /a"),
        ("/a /b /c", "/c /b /a", "/c /b /a"),
        ("/b /a /c", "/a /c /b", "/b /a /c"),
        ("/a /r /b /c", "/c /b /a", "/c /b /a /r"),
    ],
    ids=["release reordered", "draft reordered", "both reordered", "draft reordered, release added"],
)
def test_the_order_of_the_side_that_reordered_is_taken_and_release_wins_a_tie(
    ours: str, theirs: str, expected: str
) -> None:
    merged = merge(_state("/a /b /c"), _state(ours), _state(theirs))
    assert (_keys(merged), merged.conflicts) == (expected, ())


def test_different_fields_of_one_rule_are_merged() -> None:
    base = _one(_redirect(target="/x"))
    merged = merge(base, _one(_redirect(target="/new")), _one(_redirect(target="/x", note="why", tags=("old",))))
    assert state_of(merged) == [(FILE, _redirect(target="/new", note="why", tags=("old",)))]
    assert merged.conflicts == ()


def test_the_same_field_changed_differently_is_a_conflict_and_release_wins_meanwhile() -> None:
    merged = merge(_one(_redirect(target="/x")), _one(_redirect(target="/r")), _one(_redirect(target="/d")))
    assert merged.conflicts == (Conflict(Kind.REDIRECTS, "/old", "target", "/x", "/r", "/d"),)
    assert state_of(merged) == [(FILE, _redirect(target="/r"))]


def test_a_rule_removed_on_one_side_and_untouched_on_the_other_is_gone() -> None:
    base = _one(_redirect())
    assert merge(base, {}, base) == merge(base, base, {}) == Merge((), ())


@pytest.mark.parametrize("removed_in", ["release", "draft"])
def test_a_rule_removed_on_one_side_and_changed_on_the_other_is_a_conflict_of_the_whole_rule(removed_in: str) -> None:
    base, changed = _one(_redirect(target="/x")), _one(_redirect(target="/y"))
    ours, theirs = ({}, changed) if removed_in == "release" else (changed, {})
    (conflict,) = merge(base, ours, theirs).conflicts
    fields = {"type": "BASIC", "source": "/old", "target": "/x", "status": "FOUND", "file": FILE}
    kept = {**fields, "target": "/y"}
    expected = (None, kept) if removed_in == "release" else (kept, None)
    assert (conflict.field, conflict.base, conflict.release, conflict.draft) == (WHOLE_RULE, fields, *expected)
    assert len(merge(base, ours, theirs).placed) == len(ours)


def test_moving_a_rule_and_changing_it_do_not_conflict() -> None:
    moved: PlacedRules = {"/old": Placed(_redirect(), "shop/redirects/a.yaml")}
    merged = merge(_one(_redirect()), moved, _one(_redirect(target="/new")))
    assert state_of(merged) == [("shop/redirects/a.yaml", _redirect(target="/new"))]
    assert merged.conflicts == ()


def test_the_same_source_added_on_both_sides_conflicts_only_where_it_differs() -> None:
    merged = merge({}, _one(_redirect(target="/r")), _one(_redirect(target="/d", note="why")))
    assert merged.conflicts == (Conflict(Kind.REDIRECTS, "/old", "target", None, "/r", "/d"),)
    assert state_of(merged) == [(FILE, _redirect(target="/r", note="why"))]
    assert merge({}, _one(_redirect()), _one(_redirect())).conflicts == ()


def test_a_page_moved_into_a_file_of_its_own_keeps_the_content_that_the_other_side_gave_it() -> None:
    moved, rewritten = _page("old", content_file="shop/robots.txt"), _page("new")
    merged = merge(_one(_page("old")), _one(moved), _one(rewritten))
    assert state_of(merged) == [(FILE, _page("new", content_file="shop/robots.txt"))]


def test_lines_and_positions_play_no_part() -> None:
    """A rule is unchanged if it only moves down in its file because another was inserted above it."""
    base: PlacedRules = {"/old": Placed(_redirect(), FILE, 2, 0)}
    ours: PlacedRules = {"/old": Placed(_redirect(), FILE, 9, 4)}
    merged = merge(base, ours, _one(_redirect(target="/d")))
    assert (state_of(merged), merged.conflicts) == ([(FILE, _redirect(target="/d"))], ())


def test_a_conflict_on_the_wire_says_which_record_which_field_and_all_three_values() -> None:
    conflict = Conflict(Kind.REDIRECTS, "/old", "note", None, "r", "d")
    assert conflict.wire() == {
        "kind": "redirect",
        "id": _redirect().id,
        "source": "/old",
        "field": "note",
        "base": None,
        "release": "r",
        "draft": "d",
    }
    assert Conflict(Kind.PAGES, "/p", "content", "b", "r", "d").wire()["path"] == "/p"


def _redirect(target: str = "/x", note: str = "", tags: tuple[str, ...] = ()) -> Redirect:
    return Redirect(RedirectType.BASIC, "/old", target, RedirectStatus.FOUND, note, tags)


def _page(content: str, content_file: str = "") -> Page:
    return Page(PageType.BASIC, "/robots.txt", content, ContentType.TEXT_PLAIN, content_file=content_file)


def _one(record: Record) -> PlacedRules:
    return {record.identity: Placed(record, FILE)}


def _state(sources: str) -> PlacedRules:
    made: Iterable[Record] = (
        Redirect(RedirectType.BASIC, source, "/x", RedirectStatus.FOUND) for source in sources.split()
    )
    return {record.identity: Placed(record, FILE) for record in made}


def _keys(merged: Merge[Record]) -> str:
    return " ".join(placed.record.identity for placed in merged.placed)


def _swapped(conflict: Conflict) -> Conflict:
    return Conflict(conflict.kind, conflict.identity, conflict.field, conflict.base, conflict.draft, conflict.release)


def _facts(conflict: Conflict) -> str:
    return repr(sorted(conflict.wire().items()))


def _undisputed(merged: Merge[Record], disputed: set[str]) -> dict[str, Placed[Record]]:
    kept = {placed.record.identity: Placed(placed.record, placed.file) for placed in merged.placed}
    return {key: placed for key, placed in kept.items() if key not in disputed}


def decisions_for(conflicts: Iterable[Conflict]) -> Decisions:
    """Return decisions for the draft's value of these conflicts."""
    return Decisions(
        Decision(str(each.wire()["kind"]), each.id, each.field, digest(each.release)) for each in conflicts
    )


@given(three_states(), st.integers(0, 1 << 16))
def test_a_resolved_conflict_has_the_drafts_value(
    states: tuple[PlacedRules, PlacedRules, PlacedRules], chosen: int
) -> None:
    """Any of the conflicts can be decided; the others stay, and nothing else of the merge changes."""
    before = merge(*states)
    picked = [each for number, each in enumerate(before.conflicts) if chosen >> number & 1]
    after = merge(*states, decisions_for(picked))
    assert after.conflicts == tuple(each for each in before.conflicts if each not in picked)
    expected, values = {key: naive_fields(placed) for key, placed in state(before).items()}, states[2]
    for each in picked:
        if each.field == WHOLE_RULE:
            expected[each.identity] = naive_fields(values.get(each.identity))
        else:
            rule = {**(expected[each.identity] or {}), each.field: each.draft}
            expected[each.identity] = {name: value for name, value in rule.items() if value is not None}
    assert {key: naive_fields(placed) for key, placed in state(after).items()} == {
        key: fields for key, fields in expected.items() if fields is not None
    }


@given(three_states(), three_states())
def test_a_decision_on_a_value_that_release_has_no_more_says_nothing(
    states: tuple[PlacedRules, PlacedRules, PlacedRules], others: tuple[PlacedRules, PlacedRules, PlacedRules]
) -> None:
    stale = [
        each
        for each in merge(*others).conflicts
        if each.identity not in states[1] or each.release not in (naive_fields(states[1][each.identity]) or {}).values()
    ]
    stale = [each for each in stale if each.field != WHOLE_RULE and each.release is not None]
    assert merge(*states, decisions_for(stale)) == merge(*states)


def test_a_resolved_value_holds_also_if_it_is_that_of_the_base() -> None:
    """A decision against release is not the same as an unchanged value."""
    rule = Redirect(RedirectType.BASIC, "/a", "/base", RedirectStatus.FOUND)
    base: PlacedRules = {"/a": Placed(rule, FILE)}
    ours: PlacedRules = {"/a": Placed(replace(rule, target="/release"), FILE)}
    decisions = Decisions([Decision("redirect", rule.id, "target", digest("/release"))])
    assert state_of(merge(base, ours, base, decisions)) == rows(base)
    assert state_of(merge(base, ours, base)) == rows(ours)
