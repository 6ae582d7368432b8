"""The nearest name to a misspelled one."""

import time

import pytest

from content.records.nearness import nearest

NAMES = ("source", "target", "Status")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sorce", "source"),
        ("TARGET", "target"),
        ("STATUS", "Status"),
        ("statsu", "Status"),
        ("source", ""),
        ("Status", ""),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_nearest_name_is_found_without_regard_to_case(word: str, expected: str) -> None:
    assert nearest(word, NAMES) == expected


def test_best_of_several_near_names_is_given() -> None:
    assert nearest("targets", ("target", "targetss", "tar")) == "targetss"


def test_nothing_is_near_where_there_are_no_names() -> None:
    assert nearest("source", ()) == ""


def test_long_word_takes_no_time() -> None:
    """Guard: a word from outside is cut before it is compared; in full this takes minutes."""
    began = time.process_time()
    assert nearest("ab" * 50_000, ["ab" * 30, "ba" * 30]) == "ab" * 30
    assert time.process_time() - began < 1
