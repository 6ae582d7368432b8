"""Edits of tests.yaml: what is added is read back, and what was there stays."""

from hypothesis import given
from hypothesis import strategies as st

from content.checks.expectations import Expectation
from gitstore.yamlfiles.project_file import load_tests
from gitstore.yamlfiles.tests_edit import rewrite_tests

texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff"), min_size=1, max_size=20
)
tests = st.lists(
    st.one_of(
        st.builds(Expectation, texts, st.sampled_from([301, 302]), texts | st.just("")),
        st.builds(Expectation, texts, st.sampled_from([200, 404])),
    ),
    max_size=4,
)


def meaning(data: bytes) -> list[tuple[str, int, str]]:
    found, problems = load_tests(data, "")
    assert problems == []
    return [(each.url, each.status, each.location) for each in found]


def wanted(found: list[Expectation]) -> list[tuple[str, int, str]]:
    return [(each.url, each.status, each.location) for each in found]


@given(before=tests, after=tests)
def test_whatever_is_written_is_read_back(before: list[Expectation], after: list[Expectation]) -> None:
    data = rewrite_tests(b"", before)
    assert meaning(data) == wanted(before)
    assert meaning(rewrite_tests(data, after)) == wanted(after)
    longer = rewrite_tests(data, [*before, *after])
    assert meaning(longer) == wanted([*before, *after])
    assert not before or longer.startswith(data)


def test_an_added_test_leaves_comments_quotes_and_line_breaks() -> None:
    data = b"# Why\r\ntests: # all\r\n- {url: '/a', status: 301} # first\r\n"
    new = rewrite_tests(data, [Expectation("/a", 301), Expectation("/b", 302, "/c")])
    assert new == data + b"- url: /b\r\n  status: 302\r\n  location: /c\r\n"


def test_a_list_in_one_line_and_a_broken_file_are_written_anew_below_their_comments() -> None:
    assert (
        rewrite_tests(b"# Why\ntests: []\n", [Expectation("/b", 404)])
        == b"# Why\ntests:\n  - url: /b\n    status: 404\n"
    )
    assert rewrite_tests(b"# Why\ntests: {\n", []) == b"# Why\ntests: []\n"
    assert rewrite_tests(b"\xff", []) == b"tests: []\n"
