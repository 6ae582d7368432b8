"""Words and numbers in the output of commands."""

import pytest

from cli.console.output import age_text, count_noun


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 seconds"),
        (1, "1 second"),
        (26.3, "26 seconds"),
        (60, "1 minute"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (86_399, "23 hours"),
        (172_800, "2 days"),
    ],
)
def test_an_age_has_its_largest_unit(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_a_count_agrees_with_its_noun() -> None:
    assert [count_noun(each, "namespace") for each in (0, 1, 2)] == ["0 namespaces", "1 namespace", "2 namespaces"]
