"""The canonical form of a release's lists, held to records that are converted one by one."""

from collections.abc import Mapping
from itertools import chain

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from content.matching.canonical import exact_key
from content.matching.canonical_record import canonical_record
from content.matching.matcher import Matcher, RuleBook
from content.matching.request import parse_key
from content.records.record import Page, Record
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.releases.canonical_list import Splice
from gitstore.compiled.releases.release import Release
from gitstore.compiled.releases.release_dump import PreviousRelease
from gitstore.compiled.segments.segment import dump_segment, load_segment
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.yamlfiles.dump import new_file
from tests.content import rules
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, dump_release, folder_of, release_of

_NAMES = ("redirects.yaml", "redirects/a.yaml", "redirects/b.yaml", "redirects/c.yaml")
_SOURCES = ("/é", "/%C3%A9", "/%c3%a9", "/a", "/%61", "/b", "/ü x", "/%41", "/A", "/%")
_lists = st.lists(
    st.one_of(rules.redirects(), st.sampled_from(_SOURCES).map(redirect), st.just(redirect("/t", "/é"))), max_size=5
)
_projects = st.dictionaries(st.sampled_from(_NAMES), _lists)
_pages = st.lists(st.sampled_from(_SOURCES).map(page), max_size=4, unique_by=lambda record: record.identity)


def folder(redirects: Mapping[str, list[Record]], pages: list[Record]) -> Folder:
    """Return a project without duplicates: of equal sources the first one stays."""
    seen: set[str] = set()
    files = {}
    for name in sorted(redirects):
        unique = {record.identity: record for record in reversed(redirects[name]) if record.identity not in seen}
        kept = list(unique.values())[::-1]
        seen |= unique.keys()
        files[name] = new_file(Kind.REDIRECTS, kept, "flow")
    return Folder({**files, "pages.yaml": new_file(Kind.PAGES, pages, "block")})


def expected(snapshot: Snapshot, kind: Kind) -> list[Mapping[str, str]]:
    """Return the canonical list: at the place of a record that another one hides is the one that answers."""
    records = [placed.record for placed in snapshot.placed(kind)]
    first: dict[str, Record] = {}
    for record in records:
        if key := key_of(record):
            first.setdefault(key, record)
    return [canonical_record(first.get(key_of(record), record)).wire() for record in records]


def key_of(record: Record) -> str:
    """Return the key of an exact record; empty for any other."""
    if isinstance(record, Page):
        return exact_key(record.type.has_host, record.path)
    return exact_key(record.type.has_host, record.source) if record.type.is_exact else ""


def read(release: Release, kind: Kind, offset: int, limit: int) -> tuple[list[Mapping[str, str]], int]:
    """Read a window in both ways, in one piece and in many; check its size."""
    parts, count = release.canonical_listings[kind].window(offset, limit)
    found = b""
    for part in parts:
        data = b"".join(part.pieces(1 << 20)) if isinstance(part, Splice) else bytes(part)
        if isinstance(part, Splice):
            assert data == b"".join(part.pieces(1))
        assert len(part) == len(data)
        found += data
    return orjson.loads(b"[%b]" % found), count


@given(_projects, _pages, st.integers(1, 6))
@example({"redirects.yaml": [redirect("/é"), redirect("/a"), redirect("/ü"), redirect("/ß")]}, [], 3)
@example({"redirects.yaml": [redirect("/é", "/1")], "redirects/a.yaml": [redirect("/%C3%A9", "/2")]}, [], 1)
@example({}, [page("/é", "1"), page("/%C3%A9", "2")], 1)
def test_every_window_is_that_of_the_converted_records(
    redirects: Mapping[str, list[Record]], pages: list[Record], limit: int
) -> None:
    snapshot = folder(redirects, pages).snapshot
    release = release_of(snapshot)
    for kind in Kind:
        items = expected(snapshot, kind)
        assert release.canonical_listings[kind].total == release.listings[kind].total == len(items)
        for offset in range(len(items) + 2):
            window = items[offset : offset + limit]
            assert read(release, kind, offset, limit) == (window, len(window))
        assert read(release, kind, 0, len(items) + 1)[0] == items


@given(_projects, _pages)
def test_every_copy_of_a_source_has_the_answer_of_the_matcher(
    redirects: Mapping[str, list[Record]], pages: list[Record]
) -> None:
    """An agent that keeps the first or the last record of a source gives the same answer as the matcher."""
    snapshot = folder(redirects, pages).snapshot
    release = release_of(snapshot)
    total = snapshot.count(Kind.REDIRECTS)
    matcher = Matcher(RuleBook(snapshot.redirects(), []))
    for item in read(release, Kind.REDIRECTS, 0, total)[0]:
        key = exact_key(item["type"].endswith("_HOST"), item["source"]) if item["type"].startswith("BASIC") else ""
        if not key:
            continue
        assert item["source"] == key
        match = matcher.match(parse_key(key))
        if match and match.redirect and key_of(match.redirect.record) == key:
            assert (item["target"], item["status"]) == (match.location, match.redirect.record.status.value)


@given(_projects, _projects, _pages, _pages)
def test_a_change_is_compiled_to_the_same_bytes(
    before: dict[str, list[Record]], put: dict[str, list[Record]], old_pages: list[Record], new_pages: list[Record]
) -> None:
    old, new = folder(before, old_pages).snapshot, folder({**before, **put}, new_pages).snapshot
    compiled = memoryview(dump_release(old))
    assert dump_release(new, PreviousRelease(old, compiled)) == dump_release(new)


@given(_lists)
def test_the_canonical_items_of_a_segment_survive_the_disk(records: list[Record]) -> None:
    for file in folder_of(records).snapshot.rule_files[Kind.REDIRECTS]:
        loaded = load_segment(dump_segment(file.segment))
        assert [list(table) for table in loaded.canonical] == [list(table) for table in file.segment.canonical]


def test_a_list_in_canonical_form_is_stored_once() -> None:
    release = release_of(
        folder_of([redirect("/a"), redirect("^/é", "/x", type=RedirectType.REGEX)], [page("/b")]).snapshot
    )
    for kind in Kind:
        assert release.canonical_listings[kind] is release.listings[kind]


def test_only_differing_records_are_stored_twice() -> None:
    """Ten differing records among a thousand take the space of ten."""
    plain = [redirect(f"/a/{number}") for number in range(1000)]
    differing = [redirect(f"/é/{number}") for number in range(10)]
    small, large = (len(dump_release(folder_of(records).snapshot)) for records in (plain, [*plain, *differing]))
    item = len(orjson.dumps(canonical_record(differing[0]).wire()))
    assert large - small < 10 * (3 * item + 100)


def test_a_page_is_sent_with_the_content_of_its_file() -> None:
    pages = "pages:\n  - {type: BASIC, path: /é, contentType: TEXT_PLAIN, file: body.txt}\n".encode()
    release = release_of(Folder({"pages.yaml": pages, "body.txt": "ü\n".encode()}).snapshot)
    items, _ = read(release, Kind.PAGES, 0, 1)
    assert items == [{"type": "BASIC", "path": "/%C3%A9", "content": "ü\n", "contentType": "TEXT_PLAIN"}]


def test_files_without_differing_records_are_passed_over() -> None:
    """Windows begin and end in files with and without differing records, and in empty ones."""
    names = [f"redirects/{name}.yaml" for name in "abcdefg"]
    sources = [[], ["/1", "/2"], ["/é", "/3"], ["/4"], [], ["/5", "/ü", "/ß"], ["/6"]]
    files: dict[str, list[Record]] = {
        name: [redirect(source, "/t") for source in each] for name, each in zip(names, sources, strict=True)
    }
    release = release_of(folder(files, []).snapshot)
    wanted = [canonical_record(record).wire()["source"] for record in chain.from_iterable(files.values())]
    for offset in range(len(wanted) + 1):
        for limit in range(len(wanted) + 2):
            items, _ = read(release, Kind.REDIRECTS, offset, limit)
            assert [item["source"] for item in items] == wanted[offset : offset + limit]


def test_the_written_list_and_the_matcher_keep_the_spelling_of_the_files() -> None:
    release = release_of(folder_of([redirect("/é", "/ü")], []).snapshot)
    assert release.redirect(0).record == redirect("/é", "/ü")
    assert release.listings[Kind.REDIRECTS].item(0)["source"] == "/é"
