"""Patterns in little memory, and what the library says of those that it refuses."""

import pytest

from content.matching.pattern import InvalidPattern, PatternSet, compile_pattern
from content.matching.patterns import Patterns
from content.records.vocabulary import RedirectType

_SOURCES = tuple(rf"^/{letter}[a-z]{{1,20}}x[a-z]{{1,20}}$" for letter in "abcde")


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_set_that_needs_more_memory_is_cut_until_each_part_fits(count: int) -> None:
    """Guard: no pattern is lost on the way, down to sets of one pattern."""
    memory = _least_memory(_SOURCES[:1])
    found = PatternSet(_SOURCES[:count], memory)
    assert len(found._sets) >= max(1, count // 2)
    for number in range(count):
        assert found.candidates(f"/{'abcde'[number]}bxb") == [number]


def _least_memory(sources: tuple[str, ...]) -> int:
    """Find how much memory a set of the sources needs: half of it is not enough."""
    memory = 1 << 20
    while PatternSet(sources, memory // 2).candidates("/abxb"):
        memory //= 2
    return memory


def test_refused_pattern_writes_nothing_to_the_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """Guard: RE2 would log each refusal with the source in it."""
    with pytest.raises(InvalidPattern):
        compile_pattern("(")
    assert PatternSet(["(", "a"]).candidates("a") == [1]
    assert capfd.readouterr().err == ""


def test_patterns_are_listed_in_file_order_and_backwards() -> None:
    rows = [(3, RedirectType.REGEX, "^/a"), (1, RedirectType.REGEX_HOST, "^b"), (2, RedirectType.REGEX, "^/c")]
    assert list(Patterns(rows)) == rows
    assert list(reversed(Patterns(rows))) == rows[::-1]
