"""A compiled release: windows join to the whole list, and answers equal those of the rules in memory."""

from hashlib import sha256
from itertools import accumulate, pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.canonical import exact_key
from content.matching.request import Request
from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release import Release
from gitstore.compiled.releases.release_file import ReleaseFile
from gitstore.compiled.segments.key_table import key_base
from gitstore.compiled.segments.sections import dump_sections, load_sections
from gitstore.compiled.segments.segment import dump_segment, load_segment
from gitstore.compiled.validation.checks import build_matcher
from gitstore.yamlfiles.dump import new_file
from tests.content import rules
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, dump_release, folder_of, join_window, release_of

projects = st.tuples(
    st.lists(rules.redirects(), max_size=8, unique_by=lambda record: record.identity),
    st.lists(rules.paths.map(page), max_size=4, unique_by=lambda record: record.identity),
)


@given(projects, st.integers(1, 5))
def test_windows_joined_are_the_whole_list(project: tuple[list[Record], list[Record]], limit: int) -> None:
    """Windows of any limit join to the whole list; a window beyond the end is empty."""
    release = release_of(folder_of(*project).snapshot)
    for kind, records in zip(Kind, project, strict=True):
        listing = release.listings[kind]
        windows = [listing.window(offset, limit) for offset in range(0, listing.total + limit, limit)]
        items = [
            item
            for data, _ in windows
            for item in orjson.loads(b"[%b]" % b"".join(part for part in data if isinstance(part, memoryview)))
        ]
        assert items == [record.wire() for record in records]
        assert sum(count for _, count in windows) == listing.total == len(records)
        assert [listing.item(position) for position in range(listing.total)] == items
        assert join_window(listing, listing.total + 5, limit) == b""


@given(
    projects,
    st.lists(
        st.tuples(st.sampled_from([None, *rules.HOSTS]), rules.paths, st.sampled_from([None, "a=1", "b"])), max_size=8
    ),
)
def test_compiled_tables_answer_as_the_rules_do(
    project: tuple[list[Record], list[Record]], asked: list[tuple[str | None, str, str | None]]
) -> None:
    """Both give the same rule, place and Location for every request, and the same losing rules."""
    snapshot = folder_of(*project).snapshot
    compiled, plain = release_of(snapshot).matcher, build_matcher(snapshot)
    for request in (Request(*each) for each in asked):
        assert compiled.match(request) == plain.match(request)
        assert compiled.answer(request) == plain.answer(request)


@pytest.mark.parametrize(
    ("spelt", "other"), [("/r8548", "/r90281"), ("/rd50b5", "/r1709c%66"), ("/r1709cf", "/rd50b5")]
)
def test_rules_whose_keys_have_the_same_hash_are_distinguished(spelt: str, other: str) -> None:
    """Two sources in a million share the 40 bits that a table holds, in any spelling."""
    matcher = release_of(folder_of([redirect(other), redirect(spelt)], [page(spelt)]).snapshot).matcher
    assert key_base(spelt) == key_base(exact_key(has_host=False, source=other))
    for position, source in enumerate((other, spelt)):
        assert matcher.source.redirects_at(exact_key(has_host=False, source=source)) == [position]
    assert matcher.source.pages_at(spelt) == [0]
    assert matcher.source.pages_at(exact_key(has_host=False, source=other)) == []


def test_places_count_over_files_also_empty_ones() -> None:
    """Positions run over all files in path order."""
    files = {"redirects.yaml": b"redirects: []\n"}
    for name in ("b", "a", "c"):
        files[f"redirects/{name}.yaml"] = folder_of([redirect(f"/{name}/{n}") for n in range(2)]).files[
            "redirects.yaml"
        ]
    files["redirects/aa.yaml"] = b"redirects: []\n"
    release = release_of(Folder(files).snapshot)
    found = [(release.redirect(position).record.source, release.redirect(position).file) for position in range(6)]
    assert found == [(f"/{name}/{n}", f"shop/redirects/{name}.yaml") for name in "abc" for n in range(2)]


def test_content_of_files_is_in_the_release() -> None:
    """An agent gets exactly the contract's fields, for inline content and content in files."""
    pages = b"pages:\n  - {type: BASIC, path: /r, contentType: TEXT_PLAIN, file: robots.txt, note: why}\n"
    release = release_of(Folder({"pages.yaml": pages, "robots.txt": "é\n".encode()}).snapshot)
    assert release.listings[Kind.PAGES].item(0) == {
        "type": "BASIC",
        "path": "/r",
        "content": "é\n",
        "contentType": "TEXT_PLAIN",
    }


@given(projects)
def test_runs_are_those_of_the_files_whoever_computes_them(project: tuple[list[Record], list[Record]]) -> None:
    """A release of an earlier program has no digests of its files; its manifest is the same."""
    redirects, pages = project
    middle = len(redirects) // 2
    names = ("redirects.yaml", "redirects/a.yaml", "redirects/b.yaml", "pages.yaml")
    parts: tuple[list[Record], ...] = (redirects[:middle], [], redirects[middle:], pages)
    kinds = (Kind.REDIRECTS, Kind.REDIRECTS, Kind.REDIRECTS, Kind.PAGES)
    files = {name: new_file(kind, part, "flow") for name, kind, part in zip(names, kinds, parts, strict=True)}
    data = dump_release(Folder(files).snapshot)
    sections = load_sections(memoryview(data))
    meta = orjson.loads(sections["meta"])
    for kind in Kind:
        del meta[kind.value]["runs"]
    stored_parts = {name: [part] for name, part in sections.items()}
    stored = dump_sections({**stored_parts, "meta": [orjson.dumps(meta)]})
    earlier = Release("shop", ReleaseFile(memoryview(stored)))
    release = Release("shop", ReleaseFile(memoryview(data)))
    for kind in Kind:
        listing = release.listings[kind]
        assert listing.runs == earlier.listings[kind].runs
        assert [run.count for run in listing.runs] == [
            len(p) for p, k in zip(parts, kinds, strict=True) if k is kind and p
        ]
        ends = list(accumulate((run.count for run in listing.runs), initial=0))
        for run, (start, end) in zip(listing.runs, pairwise(ends), strict=True):
            assert run.sha256 == sha256(join_window(listing, start, end - start) + b",").hexdigest()


def test_an_unchanged_file_is_not_hashed_again() -> None:
    """Guard: its digest is stored with it; that of a page whose content is in another file is of the page as sent."""
    body = {"robots.txt": b"one\n"}
    folder = folder_of([redirect("/a")], [page("/r", "", content_file="robots.txt")]).changed(body)
    (file,) = folder.snapshot.rule_files[Kind.REDIRECTS]
    stored = load_segment(dump_segment(file.segment))
    assert vars(stored)["items_sha256"] == sha256(bytes(file.segment.items)).hexdigest()
    assert release_of(folder.snapshot).listings[Kind.REDIRECTS].runs[0].sha256 == stored.items_sha256
    other = folder.changed({"robots.txt": b"two\n"})
    sums = [release_of(each.snapshot).listings[Kind.PAGES].runs[0].sha256 for each in (folder, other)]
    assert sums[0] != sums[1]
