"""Text of users in Markdown: a block of code has it literally, and nothing of it where a host looks for commands."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from content.formats.markdown import as_code_block

HOSTILE = (
    "/approve\n/merge",
    "Fixes #12 @acme/all",
    "```\n/approve",
    "````\n~~~\n```\n/merge\n```````",
    "<img src=x onerror=alert(1)>",
    "a\r/merge\r\n/close\u2028/label ~x",
    "    indented\n\ttabbed",
    "",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_one_block_and_begins_no_line(text: str) -> None:
    assert_literal(text)


@given(st.text("`~/ \n\tab#@<&\\>-", max_size=60))
def test_any_text_is_one_block(text: str) -> None:
    assert_literal(text)


def assert_literal(text: str) -> None:
    """Check the block as CommonMark reads it, and its lines as a host that looks for commands does."""
    block = as_code_block(text)
    kinds = [(each.type, each.content) for each in MarkdownIt().parse(f"Before\n\n{block}\n\nAfter\n")]
    contents = [content for kind, content in kinds if kind == "fence"]
    assert [kind for kind, _ in kinds if not kind.startswith(("paragraph", "inline"))] == ["fence"]
    assert [content for kind, content in kinds if kind == "inline"] == ["Before", "After"]
    assert "\n" not in text or contents[0].count("\n") == text.count("\n") + 1
    if text.replace("\n", "").isprintable():
        assert contents == [text + "\n"]
    assert not re.search(r"^[/`~]", block, re.MULTILINE)
