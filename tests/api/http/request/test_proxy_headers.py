"""The client's address: reported by the nearest trusted proxy, never by the client itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.request.proxy_headers import ProxyHeaders, in_both_forms

TRUSTED = ("10.0.0.0/8", "::1")


def client(peer: str | None, *values: str, trusted: tuple[str, ...] = TRUSTED) -> str | None:
    """Return the client's address after forwarding, for these X-Forwarded-For headers."""
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in values]
    scope: dict[str, Any] = {"client": (peer, 1) if peer else None, "headers": headers}
    ProxyHeaders(trusted).apply(scope)
    return scope["client"][0] if scope["client"] else None


@pytest.mark.parametrize(
    ("peer", "values", "expected"),
    [
        ("10.0.0.1", ("203.0.113.9",), "203.0.113.9"),
        ("::1", ("2001:db8::7",), "2001:db8::7"),
        (None, ("203.0.113.9",), "203.0.113.9"),
        ("10.0.0.1", ("198.51.100.1, 203.0.113.9",), "203.0.113.9"),
        ("10.0.0.1", ("198.51.100.1", "203.0.113.9"), "203.0.113.9"),
        ("10.0.0.1", ("203.0.113.9, 10.2.3.4",), "203.0.113.9"),
        ("10.0.0.1", ("10.2.3.4, 10.2.3.5",), "10.2.3.4"),
        ("10.0.0.1", ("203.0.113.9, unknown",), "10.0.0.1"),
        ("10.0.0.1", ("nonsense, 203.0.113.9",), "203.0.113.9"),
        ("10.0.0.1", ("",), "10.0.0.1"),
        ("10.0.0.1", (), "10.0.0.1"),
        ("192.0.2.1", ("203.0.113.9",), "192.0.2.1"),
        ("::ffff:10.0.0.1", ("203.0.113.9",), "203.0.113.9"),
        ("::ffff:10.0.0.1", ("203.0.113.9, ::ffff:10.2.3.4",), "203.0.113.9"),
        ("::ffff:192.0.2.1", ("203.0.113.9",), "::ffff:192.0.2.1"),
        ("10.0.0.1", ("fe80::1%<script>",), "10.0.0.1"),
        ("10.0.0.1", ("fe80::1%<script>, 10.2.3.4",), "10.2.3.4"),
        (None, (), None),
    ],
)
def test_the_nearest_untrusted_hop_is_the_client(
    peer: str | None, values: tuple[str, ...], expected: str | None
) -> None:
    assert client(peer, *values) == expected


def test_proxies_with_ipv4_are_named_as_a_socket_of_both_versions_reports_them_too() -> None:
    assert in_both_forms(["10.0.0.0/8", "192.0.2.1", "::1", "2001:db8::/32"]) == [
        *("10.0.0.0/8", "::ffff:10.0.0.0/104", "192.0.2.1", "::ffff:192.0.2.1/128", "::1", "2001:db8::/32")
    ]


@given(st.text(st.characters(max_codepoint=255), max_size=60))
def test_nothing_that_a_client_sends_first_changes_what_the_proxy_adds(claim: str) -> None:
    assert client("10.0.0.1", f"{claim}, 203.0.113.9") == "203.0.113.9"


@given(st.text(st.characters(max_codepoint=255), max_size=60))
def test_without_trusted_proxies_the_header_is_nothing(claim: str) -> None:
    assert client("192.0.2.1", claim, trusted=()) == "192.0.2.1"
