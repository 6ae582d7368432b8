"""The version that a manifest has to be of: a service that lies may answer with another one."""

import pytest

from cli.content.verification import is_version

MANIFEST = {"publishNumber": 14, "version": "14abcdef" + "0" * 32}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("14", True),
        ("14abcdef", True),
        ("14ABCDE", True),
        ("1", False),
        ("14ab", False),
        ("5", False),
        ("4abcdef", False),
    ],
)
def test_a_version_is_named_by_its_number_or_by_seven_digits_of_its_commit(wanted: str, found: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_version(MANIFEST, wanted) is found


def test_the_digits_of_a_number_are_not_those_of_a_commit() -> None:
    assert not is_version({**MANIFEST, "publishNumber": 3}, "14")
