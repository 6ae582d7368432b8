"""The check for the refused words of `docs/reference/words.md`; `make check` runs it on all prose."""

import pytest

from tests.docs.words import Text, check_text
from tests.service import ROOT


@pytest.mark.parametrize(
    ("words", "is_docstring", "refused"),
    [
        ("Write the file anew.", False, ["anew"]),
        ("Write the file again; see `anew`.", False, []),
        ("Whoever asks gets it.", False, ["Whoever"]),
        ("What a draft changes.", True, ["What …"]),
        ("What a draft changes.", False, []),
        ("Return the changes of a draft.", True, []),
    ],
)
def test_a_refused_word_or_a_clause_for_a_noun_is_found(words: str, refused: list[str], *, is_docstring: bool) -> None:
    text = Text(ROOT / "README.md", 1, words, is_docstring)
    assert [found.word for found in check_text(text)] == refused
