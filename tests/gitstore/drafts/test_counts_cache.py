"""The counts of a draft are found by every process once one has counted them, and no rule is read for that."""

import os
from pathlib import Path

import pytest

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.drafts.counts_cache import CountsCache
from gitstore.drafts.drafts import DraftName
from gitstore.layout import TreeId
from gitstore.store.store import Store
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, put, redirect, yaml

ONE = Counts(1, 0, 0)


def _found(store: Store) -> object:
    [(_, head)] = store.drafts.heads({SPACE: [SHOP]})
    opened = store.drafts.read_open(SPACE, head)
    assert opened
    counts = store.drafts.find_counts(SPACE, head, opened)
    return counts and counts[Kind.REDIRECTS]


def test_what_one_process_has_counted_others_find_without_reading_rules(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state that was not counted has none, whatever was counted before."""
    place.save(put(redirect("/a")))
    assert _found(place.store) is None
    place.store.drafts.report(SPACE, MAIN)
    other = Store(place.store.directory.root)
    assert _found(other) == ONE
    place.save(put(redirect("/b")))
    read = list[str]()
    monkeypatch.setattr(SegmentStore, "find_cached", lambda _, blob: read.append(blob))
    assert _found(other) is None
    assert read == []
    monkeypatch.undo()
    place.store.drafts.listed(SPACE, SHOP)
    assert _found(other) == Counts(2, 0, 0)


def test_a_changed_rule_that_moves_to_another_file_is_counted_once(place: Place) -> None:
    """Also by who has counted the draft before; files are met in any order, so there are many."""
    place.publish(put(redirect("/a")), put(redirect("/b")))
    for number in range(12):
        name = DraftName(SHOP, f"d{number}")
        for file in ("", f"redirects/{number}.yaml"):
            place.save(put(redirect("/a", "/changed"), file=file), draft=name)
            counts = place.store.drafts.report(SPACE, name).counts
        assert counts[Kind.REDIRECTS] == Counts(0, 1, 0)


def test_a_draft_that_began_before_its_project_has_the_count_of_all_its_rules(place: Place) -> None:
    """Such a branch comes by a push: its base has no folder of the project."""
    files = {"later/project.yaml": "title: Later\n", "later/redirects.yaml": yaml([("/a", "/1"), ("/b", "/2")])}
    place.push(files, to="draft/later/main")
    place.begin("later")
    [(_, head)] = place.store.drafts.heads({SPACE: ["later"]})
    opened = place.store.drafts.read_open(SPACE, head)
    assert opened
    assert opened.trees[0] is None
    assert place.store.drafts.find_counts(SPACE, head, opened) is None
    [(_, _, counts)] = place.store.drafts.listed(SPACE, "later")
    found = place.fresh().store.drafts.find_counts(SPACE, head, opened)
    assert found == counts
    assert found[Kind.REDIRECTS] == Counts(2, 0, 0)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"trees":["1","2"]}', b'{"trees":["1","2"],"redirects":[1]}'])
def test_a_damaged_file_has_no_counts(tmp_path: Path, content: bytes) -> None:
    """The next count replaces it."""
    cache, name, trees = CountsCache(tmp_path / "counts"), DraftName("shop", "main"), (TreeId("1"), TreeId("2"))
    counts = {Kind.REDIRECTS: ONE, Kind.PAGES: Counts(0, 2, 3)}
    cache.store(name, trees, counts)
    [file] = (tmp_path / "counts").iterdir()
    file.write_bytes(content)
    assert cache.find(name, trees) is None
    cache.store(name, trees, counts)
    assert cache.find(name, trees) == counts
    assert cache.find(name, (None, TreeId("2"))) is None
    assert cache.find(DraftName("shop", "other"), trees) is None


def test_the_drafts_with_counts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest count goes first."""
    monkeypatch.setattr("gitstore.drafts.counts_cache._MOST_FILES", 2)
    cache, trees = CountsCache(tmp_path), (None, TreeId("2"))
    names = [DraftName("shop", name) for name in "abc"]
    for number, name in enumerate(names):
        cache.store(name, trees, dict.fromkeys(Kind, ONE))
        for file in tmp_path.glob(f"{name.draft}.*"):
            os.utime(file, (number, number))
    assert [cache.find(name, trees) is None for name in names] == [True, False, False]
