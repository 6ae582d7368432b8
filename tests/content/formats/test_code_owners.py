"""Owners of paths by CODEOWNERS: the rules of https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners."""

import pytest

from content.formats.code_owners import CodeOwners

FILE = """\
# The owners
*               @everyone
/shop/          @ada ben@example.com # of the shop
redirects.yaml  @rules
/docs/**/*.txt  @org/writers
/flat/*         @flat
/free/
!/shop/x        @nobody
[Section]
/odd/           @control\u0007 words @odd
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("@everyone",)),
        ("shop/pages.yaml", ("@ada", "ben@example.com")),
        ("shop/redirects/0001.yaml", ("@ada", "ben@example.com")),
        ("shop/redirects.yaml", ("@rules",)),
        ("redirects.yaml", ("@rules",)),
        ("docs/a/b/c.txt", ("@org/writers",)),
        ("docs/c.txt", ("@org/writers",)),
        ("docs/c.md", ("@everyone",)),
        ("flat/pages.yaml", ("@flat",)),
        ("flat/pages/a.txt", ("@everyone",)),
        ("free/redirects.txt", ()),
        ("odd/pages.yaml", ("@odd",)),
        ("other/shop/pages.yaml", ("@everyone",)),
    ],
)
def test_the_last_line_that_fits_applies(path: str, owners: tuple[str, ...]) -> None:
    assert CodeOwners(FILE).find(path) == owners


def test_a_file_of_nothing_owns_nothing() -> None:
    assert CodeOwners("\n# none\n\n").find("shop/redirects.yaml") == ()


def test_no_pattern_takes_long() -> None:
    """Each of these would take a backtracking matcher longer than the age of the universe."""
    owners = CodeOwners(f"/{'*a' * 40}b @a\n{'**/' * 40}x @b\n")
    assert owners.find(f"{'a' * 250}/{'/'.join('a' * 30)}") == ()
