"""The changes that a draft's list, a diff and a rule's history show are those of a naive walk over whole states.

States are pushed by plain git, so they may be invalid: with duplicates in other files, pages that name files, files
that come and go.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content.changes.diff import Change, ChangeType, count
from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.draft_changes import DraftChanges, draft_changes
from gitstore.drafts.listing import DraftView, Query, Span, count_changes, find_item, list_changes, list_items
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.fixtures import SHOP, SPACE, create_place, page, redirect
from tests.gitstore.folders import Folder
from tests.rounds import rounds

_STATE_COUNT = 4
_BODIES = ("pages/a.txt", "pages/b.txt")
# In each file at most a few of the same few records, so that most states have some twice.
_redirects = st.builds(redirect, st.sampled_from(("/a", "/b", "/c")), st.sampled_from(("/x", "/y")))
_pages = st.one_of(
    st.builds(page, st.sampled_from(("/p", "/q", "/r")), st.sampled_from(("one\n", "two\n"))),
    st.builds(page, st.sampled_from(("/p", "/q", "/r")), st.just(""), content_file=st.sampled_from(("a.txt", "b.txt"))),
)


def _files(kind: Kind, records: st.SearchStrategy[Record]) -> st.SearchStrategy[dict[str, bytes | None]]:
    content = st.none() | st.lists(records, max_size=3, unique_by=lambda record: record.identity).map(
        lambda found: new_file(kind, found, "flow")
    )
    return st.fixed_dictionaries({f"{kind}/{number}.yaml": content for number in range(3)})


def _merged(*parts: Mapping[str, bytes | None]) -> dict[str, bytes]:
    return {path: data for part in parts for path, data in part.items() if data is not None}


_bodies = st.fixed_dictionaries({path: st.none() | st.sampled_from((b"one\n", b"other\n")) for path in _BODIES})
_states = st.builds(_merged, _files(Kind.REDIRECTS, _redirects), _files(Kind.PAGES, _pages), _bodies)


@st.composite
def _sequences(draw: st.DrawFn) -> list[dict[str, bytes]]:
    """Draw states, each with a few files of another one in place of those of the state before it."""
    states = [draw(_states)]
    for _ in range(_STATE_COUNT - 1):
        other = draw(_states)
        chosen = draw(st.sets(st.sampled_from(sorted({*states[-1], *other, "redirects/0.yaml"})), max_size=3))
        kept = {path: data for path, data in states[-1].items() if path not in chosen}
        states.append({**kept, **{path: data for path, data in other.items() if path in chosen}})
    return states


def naive_changes(kind: Kind, old: Snapshot, new: Snapshot) -> dict[str, Change]:
    """Compare every record of two states; of duplicates the last one counts."""
    before, after = ({placed.record.identity: placed.record for placed in side.placed(kind)} for side in (old, new))
    pairs = {key: (before.get(key), after.get(key)) for key in {**before, **after}}
    return {key: Change(kind, *pair) for key, pair in pairs.items() if pair[0] != pair[1]}


@settings(max_examples=rounds(100, 600))
@given(_sequences(), st.sampled_from(Kind))
def test_changes_of_a_draft_are_those_of_a_naive_walk(states: list[dict[str, bytes]], kind: Kind) -> None:
    """Both the difference rule by rule, and the change that the list shows of each record."""
    for old, new in itertools.pairwise(states):
        base, working = Folder(old).snapshot, Folder(new).snapshot
        expected = naive_changes(kind, base, working)
        assert {each.identity: each for each in changes_between(base, working)[kind]} == expected
        _check_changes(kind, base, working, draft_changes(kind, base, working), expected)


@settings(max_examples=rounds(100, 600))
@given(_sequences(), st.sampled_from(Kind))
def test_changes_that_follow_the_states_of_a_draft_are_those_of_a_naive_walk(
    states: list[dict[str, bytes]], kind: Kind
) -> None:
    """From each state that the draft may have had before, and where its base moves."""
    snapshots = [Folder(state).snapshot for state in states]
    for first in range(2):
        last = None
        for working in [*snapshots, *reversed(snapshots)]:
            base = snapshots[first] if working is not snapshots[-1] else snapshots[first + 1]
            last = draft_changes(kind, base, working, last)
            _check_changes(kind, base, working, last, naive_changes(kind, base, working))


def test_after_an_edit_only_its_file_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """With rules changed, removed and added, as long as their ids are nowhere else."""
    files = {f"redirects/{number}.yaml": _flow(f"/{number}", f"/{number}/b") for number in range(9)}
    base = Folder(files).snapshot
    states = [
        {**files, "redirects/0.yaml": _flow("/0", "/0/new")},
        {**files, "redirects/0.yaml": _flow("/0"), "redirects/1.yaml": _flow("/1", target="/other")},
        {**files, "redirects/9.yaml": _flow("/9")},
        files,
    ]
    last = draft_changes(Kind.REDIRECTS, base, base)
    monkeypatch.setattr("gitstore.drafts.draft_changes._compare_states", None)
    for state in states:
        working = Folder(state).snapshot
        last = draft_changes(Kind.REDIRECTS, base, working, last)
        _check_changes(Kind.REDIRECTS, base, working, last, naive_changes(Kind.REDIRECTS, base, working))


def _flow(*sources: str, target: str = "/x") -> bytes:
    return new_file(Kind.REDIRECTS, [redirect(source, target) for source in sources], "flow")


def _check_changes(
    kind: Kind, base: Snapshot, working: Snapshot, changes: DraftChanges, expected: Mapping[str, Change]
) -> None:
    """Compare the changes that are listed, their counts and filters, and the list of records, with those expected."""
    draft = DraftView(kind, base, working, changes)
    found = list_changes(draft, Span(0, 99))
    assert {each.identity: each for each in found.changes} == expected
    assert found.counts == count_changes(draft) == count(expected.values())
    for wanted in ChangeType:
        listed = list_changes(draft, Span(0, 99), Query(change=wanted)).changes
        assert {each.identity for each in listed} == {key for key, each in expected.items() if each.change is wanted}
    shown = {(item.placed.record.identity, item.change) for item in list_items(draft, Query(), Span(0, 99)).items}
    present = {placed.record.identity: placed.record.id for placed in working.placed(kind)}
    assert shown == {(key, expected[key].change if key in expected else None) for key in present} | {
        (key, ChangeType.REMOVED) for key in expected.keys() - present
    }
    for key, number in present.items():
        item = find_item(draft, number)
        assert item is not None
        assert item.change == (expected[key].change if key in expected else None)


@settings(max_examples=rounds(8, 24))
@given(_sequences())
def test_history_of_a_rule_is_that_of_a_naive_walk(states: list[dict[str, bytes]]) -> None:
    """Also of publishes that were refused, before the log is stored and after it was lost."""
    with TemporaryDirectory() as folder:
        place = create_place(Path(folder) / "data").begin(SHOP)
        previous = {"pages.yaml": b"", "redirects.yaml": b""}
        snapshots = [Folder({}).snapshot]
        for state in states:
            gone = dict.fromkeys(f"{SHOP}/{path}" for path in previous.keys() - state.keys())
            if state != previous:
                place.push({**gone, **{f"{SHOP}/{path}": data for path, data in state.items()}})
                snapshots.append(Folder(state).snapshot)
            previous = state
        for kind, identity in ((Kind.REDIRECTS, "/a"), (Kind.REDIRECTS, "/b"), (Kind.PAGES, "/p")):
            expected = [naive_changes(kind, *pair).get(identity) for pair in itertools.pairwise(snapshots)]
            wanted = [(number, change.wire()) for number, change in enumerate(expected, 2) if change][::-1]
            for _ in range(2):
                events, _total = place.fresh().store.publishes.rule_history(SPACE, SHOP, kind, identity, slice(0, 99))
                assert [(event.publish.number, event.change) for event in events] == wanted
                (place.paths.changes / SHOP).unlink(missing_ok=True)
