"""Requests parsed from text of people and programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.canonical import exact_key
from content.matching.request import URL_LIMIT, Request, parse_key, parse_request
from tests.content.rules import HOSTS, paths, queries


@pytest.mark.parametrize(
    ("url", "request_"),
    [
        ("/", Request(None, "/", None)),
        ("/a?b=c", Request(None, "/a", "b=c")),
        ("/a?", Request(None, "/a", "")),
        ("/a?b?c", Request(None, "/a", "b?c")),
        ("/a#b?c", Request(None, "/a", None)),
        ("/a:b", Request(None, "/a:b", None)),
        ("https://Shop.Example", Request("shop.example", "/", None)),
        ("https://shop.example?x", Request("shop.example", "/", "x")),
        ("HTTP://shop.example:8080/a%7e", Request("shop.example", "/a~", None)),
        ("//", Request(None, "//", None)),
        ("//shop.example/a?b", Request(None, "//shop.example/a", "b")),
        ("///a%7e#b", Request(None, "///a~", None)),
        ("https://shop.example//a", Request("shop.example", "//a", None)),
        ("https://b\u00fccher.example/\u00fc", Request("xn--bcher-kva.example", "/%C3%BC", None)),
    ],
)
def test_a_url_becomes_a_canonical_request(url: str, request_: Request) -> None:
    assert parse_request(url) == request_


@pytest.mark.parametrize(
    "url",
    [
        *("", "a", "shop.example/a", "?a", "#a", "\\a"),
        *("ftp://h/a", "javascript:alert(1)", "https:/a", "https:a", "https:", "https://", "https:///a", "://a"),
        *("https://u@h/a", "https://u:p@h/a", "https://h:65536/", "https:\\\\h", "https://h\\@evil/"),
        *("/a\nb", "/a\x00", "/a\x7f", "/a\x85", "/a\ud800", "ht\ttps://h/", "/" + "a" * URL_LIMIT),
    ],
)
def test_anything_else_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]+ [a-z]+"):
        parse_request(url)


@given(st.text())
def test_any_text_is_a_request_or_a_value_error(url: str) -> None:
    try:
        request = parse_request(url)
    except ValueError:
        return
    assert request.path.startswith("/")
    assert request.text.isascii()


_urls = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "https://", "http://", "HTTPS://", "//"]),
        st.sampled_from(
            ["", "a.example", "a_b.example", "A.example", "a.example:80", "a.example.", "-a", "a..b", "a@b"]
        ),
        st.lists(
            st.sampled_from(["/", "//", "a", ":", "[", "é", "%41", "%2f", "?", "??", "?a=1", "\\"]), max_size=5
        ).map("".join),
    ),
)


@given(_urls)
def test_a_fragment_changes_nothing(url: str) -> None:
    """A URL without a fragment and without escapes is parsed by one pattern, with the same result."""
    try:
        request = parse_request(url + "#top")
    except ValueError:
        with pytest.raises(ValueError, match=r"[a-z]+ [a-z]+"):
            parse_request(url)
        return
    assert parse_request(url) == request


@given(paths, queries, st.sampled_from(["", *HOSTS]))
def test_the_key_of_a_source_is_the_key_of_the_request_that_equals_it(path: str, query: str, host: str) -> None:
    source = host + path + query
    key = exact_key(bool(host), source)
    asked = parse_request(f"https://{source}") if host else parse_key(exact_key(has_host=False, source=source))
    assert parse_key(key) == asked
    assert parse_key(key).text == key
