"""The table of codes is complete, and nothing in it is dead."""

import re
from pathlib import Path

import pytest

from content.problem import Severity
from content.problem_codes import CODES, problem

SOURCES = [
    path for path in Path(__file__).parents[2].joinpath("content").glob("*.py") if path.name != "problem_codes.py"
]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_snake_case_told_in_words_and_given_somewhere(code: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert CODES[code][1]
    family = code.replace("duplicate_source", "duplicate_").replace("duplicate_path", "duplicate_")
    assert any(f'"{family}' in path.read_text() for path in SOURCES)


def test_a_problem_has_the_severity_of_its_code() -> None:
    assert problem("chain", "m", "/target").severity is Severity.WARNING
    assert problem("redirect_loop", "m").severity is Severity.ERROR
    with pytest.raises(KeyError):
        problem("no_such_code", "m")
