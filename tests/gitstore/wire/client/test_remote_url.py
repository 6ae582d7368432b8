"""The URLs that an upstream can have, and those that it cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.wire.client.remote_url import RemoteUrl, Transport, parse_url


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://host.example/a/b.git", RemoteUrl(Transport.HTTPS, "/a/b.git", "host.example", 443)),
        ("https://host.example:8443/a/", RemoteUrl(Transport.HTTPS, "/a", "host.example", 8443)),
        ("http://[::1]:3000/a", RemoteUrl(Transport.HTTP, "/a", "::1", 3000)),
        ("ssh://git@host/~team/a.git", RemoteUrl(Transport.SSH, "~team/a.git", "host", 22, "git")),
        ("git@host:~team/a.git", RemoteUrl(Transport.SSH, "~team/a.git", "host", 22, "git")),
        ("git@host:/~team/a.git", RemoteUrl(Transport.SSH, "~team/a.git", "host", 22, "git")),
        ("ssh://git@host/-a.git", RemoteUrl(Transport.SSH, "/-a.git", "host", 22, "git")),
        ("/srv/git/a.git", RemoteUrl(Transport.PATH, "/srv/git/a.git")),
        ("file:///srv/git/a.git", RemoteUrl(Transport.PATH, "/srv/git/a.git")),
    ],
)
def test_a_url_is_parsed(text: str, found: RemoteUrl) -> None:
    assert parse_url(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *("git@host:--help", "git@host:-x/a.git"),
        *("", "a", "a/b", "../a", "/a/../b", "-x", "ext::sh -c id", "ssh://-oProxyCommand=x/a", "git://host/a"),
        *(
            "https://user:secret@host/a",
            "https://user@host/a",
            "https://host\\@other/a",
            "https://ho st/a",
            "https:///a",
        ),
        *(
            "https://host:0/a",
            "https://host:99999/a",
            "https://host:x/a",
            "https://host/a?b",
            "https://host/a#b",
            "HTTPS://h/",
        ),
        *(
            "https://-host/a",
            "https://host/a\nb",
            "https://[::1/a",
            "x" * 3000,
            "file://host/a",
            "https://bücher.example/",
        ),
    ],
)
def test_other_urls_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^The "):
        parse_url(text)


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        found = parse_url(text)
    except ValueError:
        return
    assert found.path.startswith("/")
