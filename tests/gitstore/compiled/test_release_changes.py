"""A release that is written as changes since an earlier one is the release that is compiled from nothing."""

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from content.records.record import Record
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.releases.release import Release
from gitstore.compiled.releases.release_changes import PreviousState, dump_changes
from gitstore.compiled.releases.release_file import ReleaseFile
from gitstore.compiled.segments.segment_tables import find_exact_key
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.yamlfiles.dump import new_file
from tests.content import rules
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, join_window, release_of

_NAMES = ("redirects.yaml", "redirects/a.yaml", "redirects/b.yaml")
_sources = st.sampled_from(("/a", "/b", "/c", "/é", "/%C3%A9", "/ü", "h.example/a", "^/x", "^/y"))


def _rule(source: str, target: str) -> Record:
    if source.startswith("^"):
        return redirect(source, target, type=RedirectType.REGEX)
    type_ = RedirectType.BASIC if source.startswith("/") else RedirectType.BASIC_HOST
    return redirect(source, target, type=type_)


_lists = st.lists(st.one_of(st.builds(_rule, _sources, st.sampled_from(("/1", "/2"))), rules.redirects()), max_size=8)
_projects = st.dictionaries(st.sampled_from(_NAMES), _lists)
_pages = st.lists(st.sampled_from(("/p", "/é", "/q")).map(page), max_size=3, unique_by=lambda each: each.identity)
_states = st.lists(st.tuples(_projects, _pages, st.integers(0, 2)), min_size=2, max_size=5)


def _snapshot(redirects: Mapping[str, list[Record]], pages: list[Record], comments: int) -> Snapshot:
    """Return a state without duplicates; comments at the top of each file move all lines."""
    seen: set[str] = set()
    files = {}
    for name in sorted(redirects):
        unique = {record.identity: record for record in redirects[name] if record.identity not in seen}
        seen |= unique.keys()
        files[name] = b"# comment\n" * comments + new_file(Kind.REDIRECTS, list(unique.values()), "flow")
    return Folder({**files, "pages.yaml": new_file(Kind.PAGES, pages, "block")}).snapshot


def _compile(snapshot: Snapshot, before: PreviousState) -> Release:
    """Return the release of a state after another one: as changes where they suit, or else as a whole."""
    data = dump_changes(snapshot, before, small=0, most=0)
    return Release("shop", ReleaseFile(memoryview(data)), before.release.base) if data else release_of(snapshot)


def shown(release: Release, keys: frozenset[str]) -> list[object]:
    """Return all that can be read of a release."""
    found: list[object] = [release.settings, sorted(release.hosts()), release.file_counts(), list(release.patterns())]
    for kind in Kind:
        listing, canonical = release.listings[kind], release.canonical_listings[kind]
        for at in range(listing.total + 1):
            found += [join_window(each, at, limit) for each in (listing, canonical) for limit in (1, 3, 100)]
        found += [listing.sha256, listing.runs, listing.runs_sha256, list(listing.ids), list(listing.fingerprints)]
        found += [(listing.item(at), listing.place(at)) for at in range(listing.total)]
        found += [listing.positions(key) for key in sorted(keys)]
    return found


@given(_states)
@example([({"redirects.yaml": [redirect("/a"), redirect("/b")]}, [], 0), ({}, [page("/p")], 0), ({}, [], 1)])
@example(
    [
        ({"redirects.yaml": [redirect(f"/{n}") for n in range(8)]}, [], 0),
        ({"redirects.yaml": [redirect(f"/{n}", "/x" if n in {2, 5} else "/new") for n in range(8)]}, [], 0),
        ({"redirects.yaml": [redirect(f"/{n}", "/x" if n == 5 else "/new") for n in (7, 0, 1, 2, 3, 5, 6)]}, [], 1),
    ]
)
@example(
    [
        (
            {"redirects.yaml": [_rule("/é", "/1"), _rule("/ü", "/1")], "redirects/a.yaml": [_rule("/%C3%A9", "/2")]},
            [],
            0,
        ),
        ({"redirects.yaml": [_rule("/ü", "/1")], "redirects/a.yaml": [_rule("/%C3%A9", "/2")]}, [], 0),
        (
            {"redirects.yaml": [_rule("/é", "/3"), _rule("/ü", "/1")], "redirects/a.yaml": [_rule("/%C3%A9", "/2")]},
            [],
            0,
        ),
    ]
)
@example(
    [
        ({"redirects.yaml": [redirect("/a"), redirect("/b")]}, [page("/p")], 0),
        ({"redirects.yaml": [redirect("/a"), redirect("/b"), redirect("/c")]}, [page("/p"), page("/q")], 0),
        ({"redirects.yaml": [redirect("/a"), redirect("/b"), redirect("/c")]}, [page("/p"), page("/q")], 2),
    ]
)
def test_a_release_of_changes_is_that_of_its_state(
    states: list[tuple[Mapping[str, list[Record]], list[Record], int]],
) -> None:
    """After any change, a release is read like one that is compiled from nothing."""
    snapshots = [_snapshot(*state) for state in states]
    release = release_of(snapshots[0])
    for before, snapshot in pairwise(snapshots):
        release = _compile(snapshot, PreviousState(before, release))
        keys = frozenset(
            find_exact_key(each.record) for kind in Kind for state in (before, snapshot) for each in state.placed(kind)
        )
        assert shown(release, keys) == shown(release_of(snapshot), keys)


def test_a_change_of_some_rules_is_written_as_changes() -> None:
    """Control: the law above compares releases of changes, not whole ones only."""
    sources = [f"/{number}" for number in range(8)]
    before = _snapshot({"redirects.yaml": [redirect(source) for source in sources]}, [], 0)
    after = _snapshot({"redirects.yaml": [redirect(source, "/x") for source in sources[::2]]}, [page("/p")], 1)
    assert dump_changes(after, PreviousState(before, release_of(before)), small=0, most=0)
