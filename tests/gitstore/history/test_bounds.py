"""The memory of a process for repositories is bounded, for it runs for months."""

import pytest

from gitstore.git.repository import open_repository
from gitstore.history import history
from gitstore.history.counts import FileCounter
from tests.gitstore.fixtures import SHOP, SPACE, Place, put, redirect


def test_folders_that_a_counter_of_files_remembers_are_bounded(place: Place) -> None:
    with open_repository(place.repo) as repository:
        most = FileCounter(repository)._entries.cache_parameters()["maxsize"]
    assert most is not None
    assert 0 < most <= 10_000


def test_words_of_commits_are_kept_for_a_bounded_number_of_them(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long messages are not kept at all; the history says the same either way."""
    monkeypatch.setattr(history, "_commit_cache", {})
    monkeypatch.setattr(history, "_CACHE_SIZE", 3)
    monkeypatch.setattr(history, "_MAX_CACHED_LENGTH", 20)
    texts = [f"Short {number}" for number in range(6)] + ["A long message " * 10]
    for number, text in enumerate(texts):
        place.publish(put(redirect(f"/{number}")), message=text)
    place.store.publishes.history(SPACE, SHOP, 0, 1)
    assert history._commit_cache == {}, "the newest is too long"
    for _ in range(2):
        publishes, _ = place.store.publishes.history(SPACE, SHOP, 0, len(texts))
        assert [publish.message.strip() for publish in reversed(publishes)] == [text.strip() for text in texts]
        assert 0 < len(history._commit_cache) <= 3
