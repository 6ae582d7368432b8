"""Search and replace: literal text, regular expressions with groups, and what is refused before anything is touched."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.pattern import PatternRefused
from content.record import Page
from content.replacement import Replacement, ReplacementRefused, with_fields
from content.vocabulary import ContentType, PageType
from tests.content.rules import redirect

WORDS = st.text(alphabet="ab$.é/\n", max_size=12)


@given(WORDS.filter(bool), WORDS, WORDS)
def test_literal_text_is_replaced_as_it_stands(find: str, new: str, text: str) -> None:
    """No sign of it means anything: not `.`, not `$1`."""
    replacement = Replacement(find, new)
    replacement.check()
    assert replacement.apply(text) == text.replace(find, new)


@given(st.sampled_from(["(a+)(b)?", "a|é", "[^a/]+", r"\$", "(/)(.)"]), WORDS)
def test_a_regular_expression_replaces_every_occurrence_from_the_left(find: str, text: str) -> None:
    """As Python's own does, where the two languages agree, with what took no part being empty."""
    line = text.replace("\n", "")
    groups = re.compile(find).groups
    new = "<" + "".join(f"${number + 1}" for number in range(groups)) + "$x>"
    expected = re.sub(find, lambda found: f"<{''.join(each or '' for each in found.groups())}$x>", line)
    assert Replacement(find, new, regex=True).apply(line) == expected


@pytest.mark.parametrize(
    ("find", "new", "message"),
    [
        ("", "x", "nothing to look for"),
        ("a*", "x", "empty text"),
        ("(a)|$", "x", "empty text"),
        ("a(b)", "$2", r"\$2 stands for a group"),
        ("(", "x", "RE2 refuses"),
        ("a" * 2049, "x", "at most 2048"),
    ],
)
def test_what_cannot_be_is_refused_beforehand(find: str, new: str, message: str) -> None:
    with pytest.raises((PatternRefused, ReplacementRefused), match=message):
        Replacement(find, new, regex=True).check()


def test_a_match_between_characters_is_refused_where_it_happens() -> None:
    r"""`\b` does not match the empty text itself, and yet matches nothing at all in `a`."""
    replacement = Replacement(r"\b", "-", regex=True)
    replacement.check()
    with pytest.raises(ReplacementRefused, match="empty text"):
        replacement.apply("a")


@pytest.mark.parametrize("regex", [False, True])
def test_a_text_that_grows_beyond_every_field_is_refused(regex: bool) -> None:  # noqa: FBT001 - a case of the table
    """Before it is made: a mebibyte of one letter, each replaced by eight thousand, would fill the memory."""
    with pytest.raises(ReplacementRefused, match="more than"):
        Replacement("a", "b" * 8192, regex=regex).apply("a" * (1 << 20))
    with pytest.raises(ReplacementRefused, match="more than"):
        Replacement("(a+)", "$1" * 4096, regex=True).apply("a" * 10_000)


def test_only_the_named_fields_change_and_tags_one_by_one() -> None:
    record = redirect("BASIC", "/old", "/old/x")
    tagged = with_fields(record, {"tags": ["old", "new"], "note": "old"})
    replacement = Replacement("old", "very-old")
    assert replacement.changed(tagged, ["target", "tags"]) == {"target": "/very-old/x", "tags": ["very-old", "new"]}
    assert replacement.changed(record, ["note", "tags"]) == {}


def test_a_page_keeps_the_file_that_its_content_stands_in() -> None:
    page = Page(PageType.BASIC, "/a", "hello", ContentType.XML, content_file="a.txt")
    after = with_fields(page, Replacement("hello", "bye").changed(page, ["content"]))
    assert after == Page(PageType.BASIC, "/a", "bye", ContentType.XML, content_file="a.txt")
