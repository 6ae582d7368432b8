"""Names from outside: what may be in a path, a ref and a log line."""

import pytest

from content.records.names import is_agent_name, is_name

GOOD = ["a", "A-1_b", "-", "main", "x" * 50]
BAD = ["", "a b", "a/b", "a.b", "..", "a\n", "\na", "é", "a" * 101, "a\0", "@{"]


@pytest.mark.parametrize("text", GOOD)
def test_names_of_letters_digits_underscores_and_hyphens_are_accepted(text: str) -> None:
    assert is_name(text)
    assert is_agent_name(text)


@pytest.mark.parametrize("text", BAD)
def test_all_else_is_refused(text: str) -> None:
    """Guard: the whole text is looked at, for a part of it would let a line break through."""
    assert not is_name(text)
    assert not is_agent_name(text)


def test_agents_may_have_longer_names() -> None:
    assert not is_name("x" * 51)
    assert is_agent_name("x" * 100)
