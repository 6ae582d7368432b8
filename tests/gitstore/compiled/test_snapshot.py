"""A snapshot finds the same records as a search through all of them, and reports the problems of its files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.records.problem import Severity
from content.records.record import Record, identity_id
from content.records.vocabulary import Kind
from tests.content import rules
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, folder_of

files = st.lists(st.lists(rules.redirects(), max_size=4), max_size=4).map(
    lambda lists: Folder(
        {f"redirects/{number}.yaml": folder_of(records).files["redirects.yaml"] for number, records in enumerate(lists)}
    )
)


@given(files, st.integers(0, 6), st.integers(0, 6))
def test_find_and_windows_agree_with_the_whole(folder: Folder, offset: int, limit: int) -> None:
    """The first record of an identity is found; a window is a slice."""
    snapshot = folder.snapshot
    placed = list(snapshot.placed(Kind.REDIRECTS))
    assert snapshot.count(Kind.REDIRECTS) == len(placed)
    assert list(snapshot.placed_window(Kind.REDIRECTS, offset, limit)) == placed[offset : offset + limit]
    assert [each.position for each in placed] == list(range(len(placed)))
    for each in placed:
        first = next(other for other in placed if other.record.id == each.record.id)
        assert snapshot.find(Kind.REDIRECTS, each.record.id) == first
        assert snapshot.find_record(Kind.REDIRECTS, each.record.id) == first.record
    assert snapshot.find(Kind.REDIRECTS, identity_id("/never")) is None
    assert snapshot.find(Kind.PAGES, identity_id("/a")) is None
    assert snapshot.find_record(Kind.PAGES, identity_id("/a")) is None


@pytest.mark.parametrize(
    ("file", "data", "code"),
    [
        ("strange.bin", b"", "unknown_file"),
        ("deep/er/x.txt", b"", "unknown_file"),
        ("redirects.yaml", b"pages: []\n", "wrong_kind"),
        ("pages.yaml", b"pages:\n  - {type: BASIC, path: /a, contentType: XML, file: none.xml}\n", "missing_file"),
        ("pages.yaml", b"pages:\n  - {type: BASIC, path: /a, contentType: XML, file: project.yaml}\n", "missing_file"),
        ("pages/..", b"", "bad_name"),
        ("pages/.git", b"", "bad_name"),
        ("pages/a\\b", b"", "bad_name"),
    ],
)
def test_files_that_do_not_belong_are_problems_at_their_place(file: str, data: bytes, code: str) -> None:
    """Each problem names the file, with the project's folder."""
    problems = Folder({file: data}).snapshot.problems
    assert (f"shop/{file}", code) in {(problem.file, problem.code) for problem in problems}


def test_body_that_is_not_text_is_a_problem_of_the_body() -> None:
    """The problem names the body's own path."""
    pages = b"pages:\n  - {type: BASIC, path: /a, contentType: XML, file: a.xml}\n"
    problems = Folder({"pages.yaml": pages, "a.xml": b"\xff"}).snapshot.problems
    assert [(problem.file, problem.code) for problem in problems][:1] == [("shop/a.xml", "bad_encoding")]


def test_a_body_that_is_not_well_formed_is_a_warning_at_its_page_once_it_is_changed() -> None:
    pages = b"pages:\n  - {type: BASIC, path: /a, contentType: XML, file: a.xml}\n"
    folder = Folder({"pages.yaml": pages, "a.xml": b"<a>\n</a"})
    [found] = folder.snapshot.problems
    assert (found.file, found.line, found.code, found.severity) == (
        "shop/pages.yaml",
        2,
        "xml_malformed",
        Severity.WARNING,
    )
    assert "line 2 of shop/a.xml" in found.message
    assert folder.changed({"a.xml": b"<a/>"}).snapshot.problems == ()


def test_project_needs_its_file() -> None:
    """A folder without project.yaml cannot be published."""
    snapshot = folder_of([redirect("/a")], [page("/p")]).changed({"project.yaml": None}).snapshot
    assert [(problem.file, problem.code) for problem in snapshot.problems] == [("shop/project.yaml", "missing_file")]
    assert isinstance(snapshot.redirects()[0].record, Record)
