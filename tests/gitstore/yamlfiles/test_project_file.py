"""Settings and tests of a project: read strictly, and written so that they read back."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from content.checks.expectations import Expectation
from gitstore.yamlfiles.project_file import ProjectFile, dump_project, load_project, load_tests
from schemas import check
from tests.gitstore.written import any_text

SETTINGS = b"""\
project:
  title: Shop
  description: |
    Redirects of the shop.
    Ask the shop team.
  policy:
    review: required
    lint: strict
"""


def test_settings_are_read() -> None:
    settings, problems = load_project(SETTINGS, "shop/project.yaml")
    assert problems == []
    assert settings == ProjectFile("Shop", "Redirects of the shop.\nAsk the shop team.\n", "required", "strict")
    assert settings.strict
    assert settings.needs_review


@pytest.mark.parametrize("data", [b"project: {}\n", b"project:\n  title: Shop\n"])
def test_what_is_left_out_is_at_its_default(data: bytes) -> None:
    settings, problems = load_project(data, "f")
    assert (problems, settings.review, settings.lint) == ([], "optional", "normal")
    assert not settings.strict
    assert not settings.needs_review


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ("wrong_type", 1, 1)),
        (b"project:\n  titel: x\n", ("unknown_field", 2, 3)),
        (b"project:\n  policy:\n    lint: loud\n", ("not_allowed", 3, 11)),
        (b"project: &a {}\n", ("anchor", 1, 10)),
        (b"project: []\n", ("wrong_type", 1, 10)),
    ],
)
def test_invalid_settings_are_problems_with_their_place(data: bytes, expected: tuple[str, int, int]) -> None:
    settings, problems = load_project(data, "shop/project.yaml")
    assert settings == ProjectFile()
    assert [(each.code, each.line, each.column) for each in problems] == [expected]
    assert problems[0].file == "shop/project.yaml"


@given(
    st.builds(
        ProjectFile,
        any_text.map(lambda text: text[:100]),
        any_text.map(lambda text: text[:1000]),
        st.sampled_from(["required", "optional"]),
        st.sampled_from(["strict", "normal"]),
    )
)
def test_settings_that_are_written_read_back(settings: ProjectFile) -> None:
    assume(not check("project", {"project": {"title": settings.title, "description": settings.description}}))
    assert load_project(dump_project(settings), "f") == (settings, [])


def test_tests_are_read_with_their_lines() -> None:
    data = b"tests:\n  - url: /old\n    status: 301\n    location: /new\n\n  - {url: /none, status: '404'}\n"
    tests, problems = load_tests(data, "shop/tests.yaml")
    assert problems == []
    assert tests == [
        Expectation("/old", 301, "/new", "shop/tests.yaml", 2),
        Expectation("/none", 404, "", "shop/tests.yaml", 6),
    ]


def test_a_project_may_have_no_tests() -> None:
    assert load_tests(b"tests: []\n", "f") == ([], [])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"tests:\n  - url: /a\n", ("missing_field", 2, 5)),
        (b"tests:\n  - {url: /a, status: 418}\n", ("not_allowed", 2, 23)),
        (b"tests:\n  - {url: /a, status: 404, location: /b}\n", ("not_allowed", 2, 38)),
        (b"tests: \xff\n", ("bad_encoding", 1, 8)),
    ],
)
def test_invalid_tests_are_problems_with_their_place(data: bytes, expected: tuple[str, int, int]) -> None:
    tests, problems = load_tests(data, "f")
    assert tests == []
    assert [(each.code, each.line, each.column) for each in problems] == [expected]
