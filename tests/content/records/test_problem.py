"""Problems as the API and the terminal show them."""

import pytest

from content.records.problem import Problem, Severity, errors

PROBLEM = Problem("bad_host", "a host is missing", pointer="/source")
PLACED = PROBLEM.at("shop/redirects.yaml", 3, 5)


def test_problem_at_a_place_keeps_all_else() -> None:
    warning = PROBLEM.as_warning().at("shop/redirects.yaml", 3, 5)
    assert (warning.file, warning.line, warning.column) == ("shop/redirects.yaml", 3, 5)
    assert (warning.code, warning.message, warning.pointer) == ("bad_host", "a host is missing", "/source")
    assert warning.severity is Severity.WARNING
    assert (PROBLEM.at("f").line, PROBLEM.at("f").column) == (0, 0)


def test_pointer_goes_below_a_prefix() -> None:
    assert PLACED.under("/redirects/4").pointer == "/redirects/4/source"
    assert PLACED.under("/redirects/4").file == PLACED.file


def test_wire_form_leaves_unknown_places_out() -> None:
    always = {"code": "bad_host", "severity": "error", "message": "a host is missing"}
    assert PROBLEM.wire() == {**always, "pointer": "/source"}
    places = {"file": "shop/redirects.yaml", "line": 3, "column": 5, "pointer": "/source"}
    assert PLACED.wire() == {**places, **always}
    assert Problem("bad_host", "a host is missing").wire() == always


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (PROBLEM, "error: a host is missing [bad_host]"),
        (PLACED, "shop/redirects.yaml:3:5: error: a host is missing [bad_host]"),
        (PROBLEM.at("f", 3), "f:3: error: a host is missing [bad_host]"),
        (PROBLEM.as_warning().at("f"), "f: warning: a host is missing [bad_host]"),
    ],
)
def test_text_is_one_line_for_a_terminal(problem: Problem, text: str) -> None:
    assert problem.text() == text


def test_errors_are_told_apart_from_warnings() -> None:
    assert errors([PROBLEM.as_warning(), PLACED, PROBLEM]) == [PLACED, PROBLEM]
