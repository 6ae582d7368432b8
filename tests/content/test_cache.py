"""The cache: bounded in the number or the weight of its values, the least recently used ones going first."""

import pytest

from content.cache import LruCache


def test_least_recently_used_value_goes_first() -> None:
    """Guard: a process runs for months, and cannot keep everything that clients ever asked for."""
    cache, computed = LruCache[str, str](3), list[str]()

    def ask(key: str) -> None:
        assert cache.get(key, lambda: computed.append(key) or key) == key  # type: ignore[func-returns-value] # None, then the key

    for key in "abcaad":
        ask(key)
    assert computed == ["a", "b", "c", "d"]
    for key in "cad":
        ask(key)
    assert computed == ["a", "b", "c", "d"], "these three are still there"
    ask("b")
    ask("c")
    assert computed == ["a", "b", "c", "d", "b", "c"], "b had made room for d, and c for b"
    assert len(cache) == 3


def test_found_value_counts_as_used() -> None:
    cache = LruCache[str, int](2)
    for number, key in enumerate("ab"):
        assert cache.put(key, number) == number
    assert cache.find("a") == 0
    cache.put("c", 2)
    assert [cache.find(key) for key in "abc"] == [0, None, 2]


@pytest.mark.parametrize(
    ("weights", "left"),
    [
        ([3, 3, 4], [3, 3, 4]),
        ([3, 3, 5], [3, 5]),
        ([3, 3, 10], [10]),
        ([3, 3, 11], [11]),
        ([11, 1], [1]),
    ],
)
def test_weight_of_all_values_is_bounded_and_the_newest_stays(weights: list[int], left: list[int]) -> None:
    """Guard: a value that is too heavy for the cache would otherwise be computed for each request."""
    cache = LruCache[int, int](10, lambda value: value)
    for key, weight in enumerate(weights):
        cache.put(key, weight)
    found = [cache.find(key) for key in range(len(weights))]
    assert [weight for weight in found if weight is not None] == left


def test_value_in_place_of_an_earlier_one_weighs_once() -> None:
    cache = LruCache[str, int](10, lambda value: value)
    cache.put("a", 4)
    for weight in (6, 5, 6):
        cache.put("b", weight)
    assert [cache.find(key) for key in "ab"] == [4, 6]
    cache.put("b", 7)
    assert [cache.find(key) for key in "ab"] == [None, 7]


def test_cleared_cache_is_empty_and_has_all_its_room() -> None:
    cache = LruCache[str, int](10, lambda value: value)
    cache.put("a", 9)
    cache.clear()
    assert (len(cache), cache.find("a")) == (0, None)
    cache.put("b", 5)
    cache.put("c", 5)
    assert [cache.find(key) for key in "bc"] == [5, 5]
