"""URLs taken apart as they are written."""

import pytest

from content.matching.url import Url, split_url


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("/a?b#c", Url("", None, "/a?b#c")),
        ("//a.example/b", Url("", None, "//a.example/b")),
        ("", Url("", None, "")),
        ("HTTPS://A.example:80/b", Url("https", "A.example:80", "/b")),
        ("https://a.example", Url("https", "a.example", "")),
        ("https://a.example?b", Url("https", "a.example", "?b")),
        ("https://a.example#b", Url("https", "a.example", "#b")),
        ("https:///b", Url("https", "", "/b")),
        ("https://", Url("https", "", "")),
        ("https:/b", Url("https", None, "/b")),
        ("javascript:alert(1)", Url("javascript", None, "alert(1)")),
        ("1a://b", Url("", None, "1a://b")),
    ],
)
def test_url_has_these_parts(text: str, parts: Url) -> None:
    assert split_url(text) == parts


@pytest.mark.parametrize(
    ("text", "is_path"), [("/a", True), ("/", True), ("//a", False), ("a", False), ("", False), ("https:/a", False)]
)
def test_path_on_the_same_host_is_told_apart(text: str, is_path: bool) -> None:  # noqa: FBT001 - a table's column
    assert split_url(text).is_path is is_path
