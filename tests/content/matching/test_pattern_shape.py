"""Properties derived from a pattern's source hold for every text that it matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.pattern import compile_pattern
from content.matching.pattern_shape import group_begins_with_slash, is_anchored, literal_prefix, matches_question_mark
from tests.content.rules import regexes

texts = st.text("ab/.", max_size=8).map("/".__add__)


@pytest.mark.parametrize(
    ("source", "literal", "rest"),
    [
        (r"^/docs/v1\.2/", "/docs/v1.2/", ""),
        (r"\A/a", "/a", ""),
        ("^/500/?$", "/500", "/?$"),
        ("^/a+b", "/", "a+b"),
        ("^/a{2}", "/", "a{2}"),
        ("^/a(b|c)", "/a", "(b|c)"),
        ("^/a[|]b", "/a", "[|]b"),
        (r"^/a\d", "/a", r"\d"),
        ("^/a.b", "/a", ".b"),
        ("^$", "", "$"),
        ("^", "", ""),
    ],
)
def test_a_head_is_the_text_that_every_match_begins_with(source: str, literal: str, rest: str) -> None:
    assert literal_prefix(source) == (literal, rest)


@pytest.mark.parametrize("source", ["/a", "^/a|^/b", "(^/a)", "(?i)^/a", r"^\Q/a.b\E"])
def test_a_pattern_without_a_sure_start_has_no_head(source: str) -> None:
    assert literal_prefix(source) is None


@given(regexes, texts)
def test_every_match_begins_with_the_head(source: str, text: str) -> None:
    head = literal_prefix(source)
    matches = compile_pattern(source).captures(text) is not None
    if head is None:
        return
    assert text.startswith(head.literal) or not matches
    assert matches == text.startswith(head.literal) or not head.matches_any_suffix
    assert matches == (text in head.texts) or not head.texts


@pytest.mark.parametrize(
    ("source", "anchored"),
    [
        *(("^/a", True), (r"\A/a", True), ("(^/a)", True), ("(?i)^a", True), ("(?:^a|b)", True), ("(?P<n>^a)", True)),
        *(("/a", False), (r"\^a", False), ("[^a]", False), ("(a)^", False), ("a^", False)),
    ],
)
def test_an_anchor_is_seen_also_inside_groups_and_after_flags(source: str, anchored: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_anchored(source) is anchored


@pytest.mark.parametrize(
    ("source", "group", "begins"),
    [
        *((r"^a(/.*)$", 1, True), (r"^a(/.*)?$", 1, True), (r"^a(\/.*)$", 1, True), (r"^(a)(/b)", 2, True)),
        *((r"^(?:x)(?P<p>/b)", 1, False), (r"^a(.*)$", 1, False), (r"^a(/?.*)$", 1, False), (r"^a(/*)$", 1, False)),
        *((r"^a(/|b)$", 1, False), (r"^a(/)", 2, False), (r"^[(](/a)", 1, True), (r"^\((/a)", 1, True)),
        *((r"^a((/b)|c)", 1, False), (r"^a((/b)|c)", 2, True), (r"^a\Q(\E(/)", 1, False)),
        *((r"^\Q(/)\E(.*)$", 1, False), (r"^(?:x)(/b)", 1, True), (r"^(?:x)(/b)", 2, False)),
        *((r"^(?P<n>x)(/b)", 2, True), (r"^(?<n>x)(/b)", 2, True), (r"^(?i)(/b)", 1, True)),
    ],
)
def test_a_group_is_said_to_begin_with_a_slash_only_where_that_is_sure(source: str, group: int, begins: bool) -> None:  # noqa: FBT001 - a column of the table
    assert group_begins_with_slash(source, group) is begins


@given(regexes.map(lambda source: source.replace("(a", "(/")), texts, st.integers(1, 3))
def test_a_group_that_begins_with_a_slash_catches_nothing_else(source: str, text: str, group: int) -> None:
    captures = compile_pattern(source).captures(text)
    if captures and group <= len(captures) and group_begins_with_slash(source, group):
        assert (captures[group - 1] or "/").startswith("/")


@pytest.mark.parametrize(
    ("source", "has_one"),
    [
        *((r"^/a\?b", True), (r"^/a[?]b", True), (r"^/a\\\?", True)),
        *((r"^/a?b", False), (r"^/a\\?", False), (r"^/a[^?]b", False), ("^/a", False)),
    ],
)
def test_question_mark_is_seen_where_it_is_a_character(source: str, has_one: bool) -> None:  # noqa: FBT001 - a column of the table
    assert matches_question_mark(source) is has_one
