"""The prose of the project: without the refused words of `docs/reference/words.md`."""

import pytest

from tests.docs.words import FOLDERS, Text, check_text, find_violations
from tests.service import ROOT


@pytest.mark.parametrize("name", FOLDERS)
def test_prose_keeps_to_the_word_list(name: str) -> None:
    assert [f"{found.path}:{found.line}: {found.word!r} in: {found.around}" for found in find_violations([name])] == []


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
