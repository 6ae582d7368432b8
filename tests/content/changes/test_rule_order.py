"""Restoring rules to their former places."""

from hypothesis import given
from hypothesis import strategies as st

from content.changes.rule_order import restore_rules
from tests.content.rules import redirect

LETTERS = "abcdefgh"


def rules(letters: str) -> list[str]:
    return [f"/{letter}" for letter in letters]


def back(present: str, order: str, restored: str) -> str:
    """Return the letters in their order after some were restored."""
    records = [redirect("BASIC", source, "/now") for source in rules(present)]
    old = {source: redirect("BASIC", source, "/then") for source in rules(restored)}
    found = restore_rules(records, rules(order), old)
    assert all(getattr(record, "target", "") == ("/then" if record.identity in old else "/now") for record in found)
    return "".join(record.identity[1:] for record in found)


def test_a_rule_follows_the_nearest_of_those_that_it_followed() -> None:
    assert back("acd", "abcd", "b") == "abcd"
    assert back("cd", "abcd", "ab") == "abcd"
    assert back("xad", "abcd", "bc") == "xabcd"
    assert back("axd", "abcd", "b") == "abxd"


def test_a_rule_that_is_in_its_place_stays_there() -> None:
    assert back("axbc", "abc", "b") == "axbc"


def test_a_rule_that_was_moved_goes_back() -> None:
    assert back("acb", "abc", "b") == "abc"


@given(st.permutations(LETTERS), st.sets(st.sampled_from(LETTERS)))
def test_putting_everything_back_gives_the_order_as_it_was(shuffled: list[str], kept: set[str]) -> None:
    """The order is restored for any remaining letters in any order."""
    present = "".join(letter for letter in shuffled if letter in kept)
    assert back(present, LETTERS, LETTERS) == LETTERS


@given(st.sets(st.sampled_from(LETTERS)), st.permutations("xyz"))
def test_what_is_not_restored_keeps_its_order(gone: set[str], new: list[str]) -> None:
    present = "".join(letter for letter in LETTERS if letter not in gone) + "".join(new)
    found = back(present, LETTERS, "".join(gone))
    assert "".join(letter for letter in found if letter not in gone) == present
