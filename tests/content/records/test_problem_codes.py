"""The table of codes is complete, and every code in it is used."""

import re
from pathlib import Path

import pytest

from content.records.problem import Severity
from content.records.problem_codes import CODES, problem

SOURCES = [
    path for path in Path(__file__).parents[3].joinpath("content").rglob("*.py") if path.name != "problem_codes.py"
]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_snake_case_documented_and_used(code: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert CODES[code][1]
    family = code.replace("duplicate_source", "duplicate_").replace("duplicate_path", "duplicate_")
    assert any(f'"{family}' in path.read_text() for path in SOURCES)


def test_a_problem_has_the_severity_of_its_code() -> None:
    assert problem("chain", "m", "/target").severity is Severity.WARNING
    assert problem("redirect_loop", "m").severity is Severity.ERROR
    assert problem("redirect_loop", "m").pointer == ""
    with pytest.raises(KeyError):
        problem("no_such_code", "m")
