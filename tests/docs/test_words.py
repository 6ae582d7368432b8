"""The check for the refused words of `docs/reference/words.md`; `make check` runs it on all prose."""

from pathlib import Path

import pytest

from tests.docs import words as words_module
from tests.docs.words import Text, check_text, find_violations
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


def test_comments_and_texts_of_a_script_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_module, "ROOT", tmp_path)
    (tmp_path / "view.tsx").write_text(
        """// Nobody is signed in.
const anew = "anew"; /* drawn
 anew */
const said = `Somebody has ${anew} it`;
export const View = () => <p class="x">As it was <b>told</b>: {said} to somebody else</p>;
""",
        encoding="utf-8",
    )
    found = [(each.line, each.word) for each in find_violations(["view.tsx"])]
    assert found == [(1, "Nobody"), (3, "anew"), (4, "Somebody"), (5, "told"), (5, "somebody")]
