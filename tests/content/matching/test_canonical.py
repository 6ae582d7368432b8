"""The canonical form: equal spellings, distinct spellings, and invalid hosts."""

import re
from urllib.parse import quote, quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.canonical import canonical_host, canonical_path, exact_key, percent_encode, split_host

LEGAL = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]?#]|%[0-9A-F]{2})*")
url_text = st.text(st.sampled_from([*"/ab%4fFzé漢?=&~ <>\\^|{}[]#\t\u2028"]))


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/a/b", "/a/b"),
        ("/%41%7e%2d", "/A~-"),
        ("/a%2fb", "/a%2Fb"),
        ("/caf\u00e9", "/caf%C3%A9"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/Firefox 11", "/Firefox%2011"),
        ("/100%", "/100%25"),
        ("/%zz%4", "/%25zz%254"),
        ("/%%41", "/%25A"),
        ("//a///b/", "//a///b/"),
        ("/a/../b/./c", "/a/../b/./c"),
        ("/A/a", "/A/a"),
        ("/a+b;c=d,(e)!*'$&:@", "/a+b;c=d,(e)!*'$&:@"),
        ("/<T>|{x}\\^`", "/%3CT%3E%7C%7Bx%7D%5C%5E%60"),
        ("/a?b=%7Ec&d=%2f", "/a?b=~c&d=%2F"),
        ("", ""),
    ],
)
def test_a_path_has_one_canonical_form(path: str, canonical: str) -> None:
    assert canonical_path(path) == canonical


@given(st.text() | url_text)
def test_the_canonical_form_is_legal_and_its_own_canonical_form(path: str) -> None:
    canonical = canonical_path(path)
    assert LEGAL.fullmatch(canonical)
    assert canonical_path(canonical) == canonical


@given(st.text(st.characters(codec="utf-8")))
def test_however_a_client_escapes_unreserved_and_non_ascii_text_the_form_is_the_same(text: str) -> None:
    path = "/" + re.sub(r"[!-,/:-@\[-^`{-}]", "", text)
    everything = "/" + "".join(f"%{byte:02x}" for byte in path[1:].encode())
    assert canonical_path(path) == canonical_path(everything) == canonical_path(quote(path))


@given(st.sampled_from("/?#[]@!$&'()*+,;=:"))
def test_an_escaped_reserved_character_stays_apart_from_the_character(character: str) -> None:
    assert canonical_path("/a" + character) != canonical_path("/a" + quote_from_bytes(character.encode(), safe=""))


@given(st.text())
def test_percent_encoding_leaves_escapes_alone_and_is_stable(text: str) -> None:
    encoded = percent_encode(text)
    assert encoded.isascii()
    assert percent_encode(encoded) == encoded
    assert percent_encode("%2f%zz%") == "%2f%zz%"


@pytest.mark.parametrize(
    ("host", "canonical"),
    [
        ("shop.example", "shop.example"),
        ("SHOP.Example", "shop.example"),
        ("shop.example.", "shop.example"),
        ("shop.example:8080", "shop.example"),
        ("Shop.Example.:443", "shop.example"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("B\u00dcCHER.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("\u4f8b\u3048\u3002example", "xn--r8jz45g.example"),
        ("my_host", "my_host"),
        ("192.0.2.1:80", "192.0.2.1"),
        ("[2001:DB8::1]:443", "[2001:db8::1]"),
    ],
)
def test_a_host_has_one_canonical_form(host: str, canonical: str) -> None:
    assert canonical_host(host) == canonical
    assert canonical_host(canonical) == canonical


@pytest.mark.parametrize(
    "host",
    [
        *("", ".", "a..b", "-", "a-.example", "a b", "a/b", "a\\b", "a%41", "a\t", "a\n", "user@host", "u:p@host"),
        *(
            "host:65536",
            "host:999999999999",
            "host:x",
            "host:1:2",
            "host:\u0661",
            "[::1",
            "::1",
            "a" * 64,
            "a." * 127 + "a",
        ),
        *("\u00e9" * 300, "\u2024", "xn--\u00e9", "a\u200d.example", "\ud800.example"),
    ],
)
def test_an_invalid_host_is_refused_with_a_sentence(host: str) -> None:
    with pytest.raises(ValueError, match=r"host|port|user name"):
        canonical_host(host)


@given(st.text(max_size=40))
def test_a_host_is_canonical_or_refused_never_something_else(host: str) -> None:
    try:
        canonical = canonical_host(host)
    except ValueError:
        return
    assert re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]", canonical)
    assert canonical_host(canonical) == canonical


def test_a_host_ends_at_the_first_slash() -> None:
    assert split_host("h.example/a/b?c") == ("h.example", "/a/b?c")
    assert split_host("h.example") == ("h.example", "")


@pytest.mark.parametrize(
    ("has_host", "source", "key"),
    [
        (False, "/a%7e?q=\u00e9", "/a~?q=%C3%A9"),
        (True, "Shop.Example:80/A b", "shop.example/A%20b"),
        (False, "a", ""),
        (False, "shop.example/a", ""),
        (False, "", ""),
        (False, "/a#b", ""),
        (True, "shop.example", ""),
        (True, "/a", ""),
        (True, "https://shop.example/a", ""),
        (True, "u@shop.example/a", ""),
    ],
)
def test_a_key_is_canonical_and_empty_where_nothing_can_equal_the_source(has_host: bool, source: str, key: str) -> None:  # noqa: FBT001 - a column of the table
    assert exact_key(has_host, source) == key


def test_text_that_is_not_unicode_has_a_form_all_the_same() -> None:
    """Guard: the checks refuse it, but nothing may fail before they do."""
    assert canonical_path("/\ud800") == "/%ED%A0%80"


def test_underscores_are_kept_in_a_host_of_any_case() -> None:
    """Real hosts have them; IDNA alone would refuse them."""
    assert canonical_host("My_Shop.Example") == "my_shop.example"


@pytest.mark.parametrize(("length", "is_host"), [(253, True), (254, False)])
def test_host_has_at_most_253_characters(length: int, is_host: bool) -> None:  # noqa: FBT001 - a table's column
    host = ("a" * 49 + ".") * 5 + "a" * (length - 250)
    assert len(host) == length
    for spelling in (host, host.upper()):
        if is_host:
            assert canonical_host(spelling) == host
        else:
            with pytest.raises(ValueError, match="is not a host name"):
                canonical_host(spelling)
