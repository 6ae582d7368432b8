"""Compressed windows: kept up to a number of bytes, the least recently used going first, and never mixed up."""

import gc
import gzip
import os
import weakref
from pathlib import Path

import pytest

from api.http.request.parameters import Window
from api.http.response import compression
from api.http.response.compression import CompressionCache
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release import Release
from gitstore.git.repository import Author
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile

_BODY = os.urandom(1000)
"""Bytes that do not compress: the window is a little longer than they are."""


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Release]:
    """Two releases."""
    store, ada = create_store(tmp_path_factory.mktemp("data")), Author("Ada", "ada@shop.example")
    store.namespaces.create("acme", "", ada)
    for project in ("shop", "docs"):
        store.projects.create("acme", project, ProjectFile(project), ada)
    return store.releases.project("acme", "shop").release, store.releases.project("acme", "docs").release


def test_window_comes_back_as_it_went(releases: tuple[Release, Release]) -> None:
    """Of the release, the kind and the window that it was added for, and of no other."""
    found, (one, other) = CompressionCache(), (release.listings[Kind.REDIRECTS] for release in releases)
    one_pages = releases[0].listings[Kind.PAGES]
    found.add(one, Window(10, 0), (b"head", memoryview(_BODY)))
    data = found.get(one, Window(10, 0))
    assert data is not None
    assert gzip.decompress(data) == b"head" + _BODY
    assert found.get(other, Window(10, 0)) is None
    assert found.get(one_pages, Window(10, 0)) is None
    assert found.get(one, Window(10, 1)) is None


def test_same_window_gives_the_same_bytes(releases: tuple[Release, Release]) -> None:
    """Guard: no time in the header, or two workers would send different bytes under one etag."""
    data = []
    for _ in range(2):
        found = CompressionCache()
        found.add(releases[0].listings[Kind.PAGES], Window(1, 0), (_BODY,))
        data.append(found.get(releases[0].listings[Kind.PAGES], Window(1, 0)))
    assert data[0] == data[1]
    assert data[0] is not None
    assert data[0][4:8] == bytes(4), "the time"


def test_bytes_are_bounded_and_the_least_recently_used_go_first(
    releases: tuple[Release, Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: a client that asks for each window of a long list cannot fill the memory of a worker."""
    monkeypatch.setattr(compression, "_MAX_BYTES", 3 * len(_BODY) + 500)
    found, listing = CompressionCache(), releases[0].listings[Kind.REDIRECTS]
    for offset in range(3):
        found.add(listing, Window(1, offset), (_BODY,))
    assert found.get(listing, Window(1, 0)) is not None, "there is room for three"
    found.add(listing, Window(1, 3), (_BODY,))
    left = [found.get(listing, Window(1, offset)) is not None for offset in range(4)]
    assert left == [True, False, True, True]


def test_window_stays_with_its_list(tmp_path: Path) -> None:
    """Guard: a window is found by the id of its list, which another one could get once the first is gone."""
    store, ada = create_store(tmp_path), Author("Ada", "ada@shop.example")
    store.namespaces.create("acme", "", ada)
    store.projects.create("acme", "shop", ProjectFile("Shop"), ada)
    found, listing = CompressionCache(), store.releases.project("acme", "shop").release.listings[Kind.PAGES]
    found.add(listing, Window(1, 0), (_BODY,))
    listing_is_there = weakref.ref(listing)
    del store, listing
    gc.collect()
    assert listing_is_there() is not None
