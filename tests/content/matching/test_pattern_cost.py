"""The cost of regular expressions: the lower bound from the text, and the size of RE2's program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.pattern import facts_of
from content.matching.pattern_cost import UNICODE_CLASS_COST, least_cost, unicode_classes

_ATOMS = st.sampled_from(
    ["a", "b", "[a-z]", ".", "[^/]", r"\d", "é", "[a-zà-ž]", r"\.", "^", "$", r"\b", r"\pN", r"\x61", r"\Qa.b\E"]
)
_REPETITIONS = st.sampled_from(["", "", "*", "+?", "?", "{2}", "{3,5}", "{0,4}", "{7,}", "{2}?", "{0}", "{1}"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.builds(str.__add__, inner, _REPETITIONS)
    branches = st.lists(inner, min_size=1, max_size=3).map("|".join)
    opened = st.sampled_from(["(?:", "(", "(?i:", "(?s:", "(?P<name>"])
    return st.one_of(
        st.lists(repeated, min_size=1, max_size=3).map("".join),
        st.builds(lambda opening, body, times: f"{opening}{body}){times}", opened, branches, _REPETITIONS),
    )


@given(st.recursive(_ATOMS, _nested, max_leaves=12))
def test_the_lower_bound_is_never_above_the_cost(source: str) -> None:
    facts = facts_of(source)
    assert facts.fault or least_cost(source) <= facts.cost


@pytest.mark.parametrize(
    ("source", "least"),
    [
        ("^/blog/(.*)$", 0),
        ("a{500}", 500),
        ("(?i)^/1[a-zà-ž]{900}", 1802),
        ("((a{10}){10}){10}", 1000),
        ("(?:abc|de){100}", 300),
        (r"\Qab\E{9}", 10),
        ("(?:^|$){900}", 0),
        ("a{5}{5}", 25),
    ],
)
def test_counted_repetitions_are_counted_without_compiling(source: str, least: int) -> None:
    assert least_cost(source) == least


def test_repetitions_that_re2_refuses_are_left_to_it() -> None:
    source = "(?:a{1000}){1000}"
    assert least_cost(source) == 0
    assert "a repetition may count to 1000" in facts_of(source).fault


@pytest.mark.parametrize(
    ("source", "count"), [(r"\pL\p{Greek}", 2), (r"[\pL\PN]x", 2), (r"\\pL", 0), (r"\Q\pL\E", 0), ("p", 0)]
)
def test_unicode_classes_are_counted_and_cost_what_reading_them_takes(source: str, count: int) -> None:
    assert unicode_classes(source) == count
    assert 0 <= least_cost(source) - count * UNICODE_CLASS_COST <= count


def test_the_cost_is_the_size_of_the_program() -> None:
    small, large = facts_of("^/a$").cost, facts_of("^/a{100}$").cost
    assert 0 < small < 10
    assert 99 <= large - small <= 101
