"""A list that is searched, filtered, sorted and cut by columns equals the one from a look at every record."""

from collections.abc import Mapping, Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from content.changes.diff import Change
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.segment import Segment, dump_segment, load_segment
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.draft_changes import draft_changes
from gitstore.drafts.listing import SORTS, DraftRecord, DraftView, Query, Span, list_changes, list_items, rank_window
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.fixtures import redirect
from tests.gitstore.folders import Folder

WORDS = ("a", "A", "ß", "SS", "É", "é", "İ", "Σ", "ς", "0")
words = st.lists(st.sampled_from(WORDS), max_size=3).map("".join)
tags = st.lists(st.sampled_from(("x", "y", "X")), max_size=2, unique=True).map(tuple)
redirects = st.builds(
    Redirect,
    st.sampled_from((RedirectType.BASIC, RedirectType.REGEX)),
    words.map("/{}".format),
    words.map("/{}".format),
    st.sampled_from(RedirectStatus),
    words,
    tags,
)
pages = st.builds(
    Page, st.just(PageType.BASIC), words.map("/{}".format), words, st.sampled_from(ContentType), words, tags
)
states = st.fixed_dictionaries(
    {Kind.REDIRECTS: st.lists(redirects, max_size=12), Kind.PAGES: st.lists(pages, max_size=6)}
)
queries = st.builds(
    Query,
    text=st.just("") | words | st.just("\n") | st.lists(words, min_size=2, max_size=3).map(" ".join),
    type=st.sampled_from(("", "BASIC", "REGEX")),
    status=st.sampled_from(("", "FOUND", "MOVED_PERMANENT")),
    tag=st.sampled_from(("", "x", "X", "z")),
    change=st.sampled_from(("", "added", "changed", "removed", "none")),
    sort=st.sampled_from(SORTS),
)


def _folder(state: Mapping[Kind, Sequence[Record]], per_file: int, *, unique: bool) -> Folder:
    files = {}
    for kind, records in state.items():
        held = list({record.identity: record for record in records}.values()) if unique else list(records)
        for number, at in enumerate(range(0, len(held), per_file)):
            files[f"{kind}/{number}.yaml"] = new_file(kind, held[at : at + per_file], "flow")
    return Folder(files)


@given(
    states,
    states,
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(Kind),
    queries,
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_list_is_what_a_look_at_every_record_gives(
    old: dict[Kind, list[Record]],
    new: dict[Kind, list[Record]],
    per_file: int,
    kept: bool,  # noqa: FBT001 - drawn by hypothesis
    kind: Kind,
    query: Query,
    offset: int,
    limit: int,
) -> None:
    """Items, changes and the total are equal; also if the draft has a source twice, which release never has."""
    base = _folder(old, per_file, unique=True).snapshot
    working = _folder({each: [*old[each], *new[each]] if kept else new[each] for each in Kind}, per_file, unique=False)
    draft = DraftView(kind, base, working.snapshot, draft_changes(kind, base, working.snapshot))
    expected = naive(working.snapshot, kind, changes_between(base, working.snapshot)[kind], query)
    found = list_items(draft, query, Span(offset, limit))
    assert (list(found.items), found.total) == (expected[offset : offset + limit], len(expected))


def test_each_word_of_a_search_is_looked_for_by_itself() -> None:
    """In any field, in any order; a change too, and what follows the first words counts as one."""
    records = [redirect("/item-1", "/shoes", note="for Spring"), redirect("/item-2", "/spring"), redirect("/other")]
    working = Folder({"redirects.yaml": new_file(Kind.REDIRECTS, records, "flow")}).snapshot
    draft = DraftView(Kind.REDIRECTS, None, working, draft_changes(Kind.REDIRECTS, None, working))
    expected = {
        "item spring": ["/item-1", "/item-2"],
        "SPRING shoes": ["/item-1"],
        "item other": [],
        "  other ": ["/other"],
        "i t e m 1 - s for spring": ["/item-1"],
        "i t e m 1 - s spring for": [],
    }
    for text, sources in expected.items():
        assert [item.placed.record.identity for item in list_items(draft, Query(text), Span(0, 9)).items] == sources
        assert [each.identity for each in list_changes(draft, Span(0, 9), Query(text)).changes] == sources


@given(states)
def test_project_without_a_past_is_all_new(state: dict[Kind, list[Record]]) -> None:
    """Every record is added."""
    working = _folder(state, 3, unique=True).snapshot
    draft = DraftView(Kind.PAGES, None, working, draft_changes(Kind.PAGES, None, working))
    found = list_items(draft, Query(change="added"), Span(0, 99))
    assert [item.placed for item in found.items] == list(working.placed(Kind.PAGES))


@given(
    st.lists(st.lists(st.text("ab", max_size=2), max_size=20).map(sorted), max_size=8),
    st.integers(0, 99),
    st.integers(0, 99),
)
def test_window_of_runs_is_one_of_their_merge(runs: list[list[str]], offset: int, limit: int) -> None:
    """Equal keys keep the order of the runs."""
    merged = sorted(((key, number, at) for number, run in enumerate(runs) for at, key in enumerate(run)))
    assert rank_window(runs, offset, limit) == [(number, at) for _, number, at in merged][offset : offset + limit]


@given(states)
def test_columns_of_a_stored_segment_are_those_of_the_parsed_one(state: dict[Kind, list[Record]]) -> None:
    """Other processes read the same columns of a file."""
    for files in _folder(state, 5, unique=False).snapshot.rule_files.values():
        for file in files:
            again: Segment = load_segment(dump_segment(file.segment))
            assert again.columns == file.segment.columns


def naive(snapshot: Snapshot, kind: Kind, changes: Sequence[Change], query: Query) -> list[DraftRecord]:
    """Return the whole list, by building and checking every record."""
    by_identity = {change.identity: change.change for change in changes}
    items = [DraftRecord(placed, by_identity.get(placed.record.identity)) for placed in snapshot.placed(kind)]
    items += [DraftRecord(Placed(change.old), change.change) for change in changes if change.new is None and change.old]
    found = [item for item in items if _is_wanted(item, query)]
    if query.sort == "file":
        return found
    return sorted(found, key=partial(_key, query.sort), reverse=query.sort.startswith("-"))


def _is_wanted(item: DraftRecord, query: Query) -> bool:
    record = item.placed.record
    target = record.target if isinstance(record, Redirect) else ""
    text = f"{record.identity}\n{target}\n{record.note}".casefold()
    return (
        all(word in text for word in query.text.casefold().split() or [query.text])
        and query.type in {"", record.type.value}
        and query.status in {"", getattr(record, "status", "")}
        and (not query.tag or query.tag in record.tags)
        and query.change in {"", item.change.value if item.change else "none"}
    )


def _key(sort: str, item: DraftRecord) -> str:
    record = item.placed.record
    if sort.endswith("source"):
        return record.identity
    return record.content_type if isinstance(record, Page) else record.target
