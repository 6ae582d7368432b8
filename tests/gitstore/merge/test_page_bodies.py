"""Content files of pages in a merge: the name of the file, and its text."""

from collections.abc import Sequence
from typing import Any

import pytest

from content.records.record import Placed
from content.records.vocabulary import Kind
from gitstore.layout import BlobId
from gitstore.merge.page_bodies import (
    find_unreachable_content,
    merge_body,
    merge_value,
    with_project_path,
    with_written_path,
)
from tests.gitstore.fixtures import page, redirect

_TEXTS = {"1": b"one", "2": b"two", "b": b"\xff"}


def placed(file: str, content_file: str = "") -> Placed[Any]:
    """Return a page in a file of the project `shop`."""
    return Placed(page("/a", content_file=content_file), f"shop/{file}")


@pytest.mark.parametrize(
    ("file", "written", "path"),
    [
        ("pages.yaml", "a.txt", "a.txt"),
        ("pages/deep/all.yaml", "a.txt", "pages/deep/a.txt"),
        ("pages/deep/all.yaml", "more/a.txt", "pages/deep/more/a.txt"),
    ],
)
def test_name_of_a_content_file_goes_from_the_page_to_the_project_and_back(file: str, written: str, path: str) -> None:
    whole = with_project_path("shop", placed(file, written))
    assert whole == placed(file, path)
    assert with_written_path("shop", whole, []) == placed(file, written)


def test_redirect_and_page_without_a_content_file_stay_as_they_are() -> None:
    for each in (placed("pages.yaml"), Placed(redirect("/a"), "shop/redirects.yaml")):
        assert with_project_path("shop", each) is each
        assert with_written_path("shop", each, [{"/a": each}]) is each


def test_content_file_is_named_as_a_side_has_written_it() -> None:
    """Guard: another spelling of the same path would change a line that no one touched."""
    written = placed("pages.yaml", "./a.txt")
    assert with_project_path("shop", written) == placed("pages.yaml", "a.txt")
    merged = placed("pages.yaml", "a.txt")
    assert with_written_path("shop", merged, [{}, {"/a": written}]) == written
    elsewhere, other = placed("pages/all.yaml", "./a.txt"), placed("pages.yaml", "./b.txt")
    assert with_written_path("shop", merged, [{"/a": elsewhere}, {"/a": other}]) == merged


def test_content_file_out_of_reach_is_written_into_the_page_and_in_conflict() -> None:
    """A page can only name a file in its own folder or below."""
    moved = placed("pages/deep/all.yaml", "a.txt")
    assert with_written_path("shop", moved, []) == placed("pages/deep/all.yaml")
    sides = [{"/a": placed("pages.yaml", "b.txt")}, {"/a": placed("pages.yaml", "a.txt")}, {}]
    conflict = find_unreachable_content("shop", moved, sides)
    assert conflict is not None
    assert (conflict.kind, conflict.identity, conflict.field) == (Kind.PAGES, "/a", "contentFile")
    assert (conflict.base, conflict.release, conflict.draft) == ("b.txt", "a.txt", None)
    inline = find_unreachable_content("shop", moved, [sides[0], {"/a": placed("pages.yaml")}, sides[1]])
    assert inline is not None
    assert (inline.base, inline.release, inline.draft) == ("b.txt", None, "a.txt")


@pytest.mark.parametrize(
    "found", [placed("pages.yaml", "a.txt"), placed("pages.yaml"), placed("pages/a.yaml", "pages/a.txt")]
)
def test_content_file_in_reach_is_no_conflict(found: Placed[Any]) -> None:
    assert find_unreachable_content("shop", found, [{}, {}, {}]) is None


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged", "disputed"),
    [
        ("a", "a", "a", "a", False),
        ("a", "b", "a", "b", False),
        ("a", "a", "b", "b", False),
        ("a", "b", "b", "b", False),
        ("a", "b", "c", "b", True),
        (None, "b", "c", "b", True),
        ("a", None, "c", None, True),
        ("a", "b", None, "b", True),
        ("a", "a", None, None, False),
    ],
)
def test_value_is_merged_from_three_sides(
    base: str | None,
    ours: str | None,
    theirs: str | None,
    merged: str | None,
    disputed: bool,  # noqa: FBT001 - as above
) -> None:
    assert merge_value(base, ours, theirs) == (merged, disputed)


@pytest.mark.parametrize(
    ("wanted", "blobs", "merged", "disputed"),
    [
        ({"one"}, ["1", "1", "1"], "1", False),
        ({"two"}, ["1", "1", "1"], b"two", False),
        ({"two"}, ["1", "2", "1"], "2", False),
        ({"three"}, ["1", "2", "b"], b"three", False),
        ({"one", "two"}, ["1", "1", "2"], "2", True),
        ({"one", "two"}, ["1", "1", "1"], "1", True),
        (set(), ["1", "2", "1"], "2", False),
        (set(), ["1", "2", "b"], "2", True),
        ({"one"}, ["b", "b", "b"], "b", False),
        ({"one"}, ["1", None, "1"], b"one", False),
        ({""}, ["1", None, "1"], None, False),
        ({""}, ["1", "1", "1"], b"", False),
        ({""}, ["1", "2", "b"], b"", False),
    ],
)
def test_text_of_the_pages_decides_on_the_content_file(
    wanted: set[str],
    blobs: Sequence[BlobId | None],
    merged: object,
    disputed: bool,  # noqa: FBT001 - a table's column
) -> None:
    """A file that is not text stays: an empty one in its place would hide it."""
    assert merge_body(wanted, blobs, _TEXTS.__getitem__) == (merged, disputed)
