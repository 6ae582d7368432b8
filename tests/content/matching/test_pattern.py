"""Regular expressions of users: refused ones, and linear time for the others."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.pattern import SOURCE_LIMIT, InvalidPattern, PatternSet, compile_pattern, find_pattern
from tests.content.rules import regexes


def test_a_pattern_searches_anywhere_and_gives_what_its_groups_caught() -> None:
    pattern = compile_pattern(r"b(c)(x)?(.*)")
    assert pattern.groups == 3
    assert pattern.captures("abcd") == ("c", None, "d")
    assert pattern.captures("acd") is None
    assert compile_pattern("^a$").captures("a") == ()


@given(regexes, st.text("ab/.é", max_size=8))
def test_the_first_of_all_matches_is_the_one_that_is_given(source: str, text: str) -> None:
    pattern = compile_pattern(source)
    first = next(pattern.occurrences(text), None)
    assert pattern.captures(text) == (first and first[2])


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "empty"),
        ("a" * (SOURCE_LIMIT + 1), "2049"),
        (r"a\Cb", "half a character"),
        (r"\\\C", "half a character"),
        ("a\x00b", "NUL"),
        ("a\ud800", "surrogate"),
        ("(?=a)", "look-ahead"),
        ("(?!a)", "look-ahead"),
        ("(?<=a)", "look-behind"),
        ("(?<!a)b", "look-behind"),
        ("(?>a)", "atomic"),
        (r"(a)\1", "back-references"),
        ("a++", "possessive"),
        ("a{1001}", "1000"),
        ("(a{500}){3}", "1000"),
        ("x{1000}" * 250, "memory"),
        ("(a", r"missing \)"),
        ("[b-a]", "range"),
        ("*a", "no argument"),
        (r"a\Z", r"\\z"),
    ],
)
def test_a_refused_source_is_refused_with_the_reason(source: str, reason: str) -> None:
    with pytest.raises(InvalidPattern, match=reason):
        compile_pattern(source)


def test_an_escaped_backslash_before_a_c_is_not_a_half_character() -> None:
    pattern = compile_pattern(r"^\\C$")
    assert pattern.captures(r"\C") == ()


def test_a_dollar_does_not_match_before_a_line_break() -> None:
    assert compile_pattern("a$").captures("a\n") is None


def test_nothing_matches_a_line_break() -> None:
    assert compile_pattern("a[^x]b").captures("a\nb") is None
    assert PatternSet(["a[^x]b"]).candidates("a\nb") == []


@pytest.mark.parametrize(
    "source",
    [
        *(r"(a+)+$", r"([a-zA-Z]+)*$", r"(a|aa)+$", r"(a|a?)+$", r"(.*a){20}$", r"^(([a-z])+.)+[A-Z]([a-z])+$"),
        *(r"(\w*)*!", r"((a*)*)*b", r"(x+x+)+y", r"^(\d+)*$", r"(.*)(.*)(.*)(.*)(.*)z$", r"(a?){100}a{100}$"),
        *(r"([^/]*/)*[^/]*x$", r"\s+$", r"^(?:.*?,){11}P", r"(a{0,50}){0,20}b$", r".{1000}z", r"(?:[a-z]{1,100}){10}Z"),
    ],
)
def test_patterns_that_ruin_backtracking_engines_take_linear_time(source: str) -> None:
    """The slowest takes 0.1 s for a URL of the greatest length; backtracking would take years."""
    pattern = compile_pattern(source)
    began = thread_time()
    for text in ("a" * 16_384, "/" * 16_384, "a/" * 8_192 + "!"):
        pattern.captures(text)
    assert thread_time() - began < 5


@given(st.lists(regexes | st.sampled_from(["(", "", r"\C"]), max_size=12), st.text("ab/.", max_size=8))
def test_a_set_finds_exactly_the_patterns_that_match_one_by_one(sources: list[str], text: str) -> None:
    matching = []
    for number, source in enumerate(sources):
        try:
            if compile_pattern(source).captures(text) is not None:
                matching.append(number)
        except InvalidPattern:
            continue
    assert PatternSet(sources).candidates(text) == matching


def test_a_set_too_big_for_its_memory_is_split_and_loses_nothing() -> None:
    sources = [f"^/{number}/(.*)$" for number in range(1500)]
    patterns = PatternSet(sources, memory=1 << 20)
    assert len(patterns._sets) > 1
    for number in (0, 1, 749, 750, 1499):
        assert patterns.candidates(f"/{number}/a") == [number]


def test_an_empty_set_has_no_candidates() -> None:
    assert PatternSet([]).candidates("/a") == []


def test_five_thousand_ordinary_patterns_are_compiled_once() -> None:
    sources = [rf"^/old-{number}/(\d+)/([a-z-]+)(?:/.*)?$" for number in range(5_000)]
    first = [find_pattern(source) for source in sources]
    assert all(find_pattern(source) is pattern for source, pattern in zip(sources, first, strict=True))
