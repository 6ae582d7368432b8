"""Search and replace: literal text, regular expressions with groups, and requests that are refused in advance."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.changes import replacement as replacements
from content.changes.replacement import InvalidReplacement, Replacement, with_fields
from content.matching.pattern import InvalidPattern
from content.records.record import Page
from content.records.vocabulary import ContentType, PageType
from tests.content.rules import redirect

WORDS = st.text(alphabet="ab$.é/\n", max_size=12)


@given(WORDS.filter(bool), WORDS, WORDS)
def test_literal_text_is_replaced_literally(find: str, new: str, text: str) -> None:
    """No character of it is special: not `.`, not `$1`."""
    replacement = Replacement(find, new)
    replacement.check()
    assert replacement.apply(text) == text.replace(find, new)


@given(st.sampled_from(["(a+)(b)?", "a|é", "[^a/]+", r"\$", "(/)(.)"]), WORDS)
def test_a_regular_expression_replaces_every_occurrence_from_the_left(find: str, text: str) -> None:
    """The result equals Python's where the two languages agree; a group that took no part is empty."""
    line = text.replace("\n", "")
    groups = re.compile(find).groups
    new = "<" + "".join(f"${number + 1}" for number in range(groups)) + "$x>"
    expected = re.sub(find, lambda found: f"<{''.join(each or '' for each in found.groups())}$x>", line)
    assert Replacement(find, new, regex=True).apply(line) == expected


@pytest.mark.parametrize(
    ("find", "new", "message"),
    [
        ("", "x", "the text to find is empty"),
        ("a*", "x", "empty text"),
        ("(a)|$", "x", "empty text"),
        ("a(b)", "$2", r"\$2 refers to a group"),
        ("(", "x", "RE2 refuses"),
        ("a" * 2049, "x", "at most 2048"),
    ],
)
def test_an_impossible_replacement_is_refused_in_advance(find: str, new: str, message: str) -> None:
    with pytest.raises((InvalidPattern, InvalidReplacement), match=message):
        Replacement(find, new, regex=True).check()


def test_a_match_between_characters_is_refused_where_it_happens() -> None:
    r"""`\b` does not match the empty text itself, and yet matches an empty text in `a`."""
    replacement = Replacement(r"\b", "-", regex=True)
    replacement.check()
    with pytest.raises(InvalidReplacement, match="empty text"):
        replacement.apply("a")


@pytest.mark.parametrize("regex", [False, True])
def test_a_text_that_grows_beyond_every_field_is_refused(regex: bool) -> None:  # noqa: FBT001 - a case of the table
    """The text is refused before it is built: a mebibyte of letters, times eight thousand, would fill the memory."""
    with pytest.raises(InvalidReplacement, match="more than"):
        Replacement("a", "b" * 8192, regex=regex).apply("a" * (1 << 20))
    with pytest.raises(InvalidReplacement, match="more than"):
        Replacement("(a+)", "$1" * 4096, regex=True).apply("a" * 10_000)


def test_only_the_named_fields_change_and_tags_one_by_one() -> None:
    record = redirect("BASIC", "/old", "/old/x")
    tagged = with_fields(record, {"tags": ["old", "new"], "note": "old"})
    replacement = Replacement("old", "very-old")
    assert replacement.changed_fields(tagged, ["target", "tags"]) == {
        "target": "/very-old/x",
        "tags": ["very-old", "new"],
    }
    assert replacement.changed_fields(record, ["note", "tags"]) == {}


def test_a_page_keeps_the_file_of_its_content() -> None:
    page = Page(PageType.BASIC, "/a", "hello", ContentType.XML, content_file="a.txt")
    after = with_fields(page, Replacement("hello", "bye").changed_fields(page, ["content"]))
    assert after == Page(PageType.BASIC, "/a", "bye", ContentType.XML, content_file="a.txt")


@pytest.mark.parametrize(
    ("regex", "new", "text", "is_refused"),
    [
        (False, "bb", "aaaaa", False),
        (False, "bb", "aaaaac", True),
        (False, "b" * 11, "a", True),
        (True, "b" * 9, "a", False),
        (True, "b" * 10, "a", True),
        (True, "bbb", "aaa", True),
    ],
)
def test_text_grows_to_a_limit_and_no_further(
    regex: bool,  # noqa: FBT001 - a table's column
    new: str,
    text: str,
    is_refused: bool,  # noqa: FBT001 - as above
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guard: a short request would fill the memory otherwise. A regular expression counts what it replaces too."""
    monkeypatch.setattr(replacements, "MAX_LENGTH", 10)
    if not is_refused:
        assert Replacement("a", new, regex).apply(text) == text.replace("a", new)
        return
    with pytest.raises(InvalidReplacement, match="more than 10 characters"):
        Replacement("a", new, regex).apply(text)
