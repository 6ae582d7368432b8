"""Outgoing requests reach no inner address: not by a lying resolver, a redirect, a proxy or a notation of an address.

The clients of webhooks, of the OpenID provider, of the APIs of Git hosts and of Git upstreams run in a network of their own, whose resolver
answers a public address first and an inner one after. Every connection to any address there is counted.
"""

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.e2e.lying_network import PORT, PUBLIC

HTTP = ("webhook", "provider", "host")
UPSTREAMS = {"git": "RemoteGarbage", "git-https": "RemoteAway", "git-ssh": "RemoteAway"}
"""The clients of upstreams, and what they say of the server of these tests, which is no repository and has no certificate."""
ALL = (*HTTP, *UPSTREAMS)
INNER = (
    "metadata.test", "loopback.test", "six.test", "mapped.test", "nat64.test", "both.test", "localhost",
    "127.0.0.1", "169.254.169.254", "0.0.0.0", "0177.0.0.1", "2130706433", "0x7f.1",  # noqa: S104 - it is sent to, not bound
    "[::]", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
)  # fmt: skip
REFUSED = {"address_refused", "malformed_url", "ProviderSilent", "RemoteRefused"}


def outcomes(*cases: tuple[str, str]) -> list[dict[str, Any]]:
    """Send the cases in one network, with proxies in the environment that lead inside."""
    command = ("unshare", "-rnm", sys.executable, "-m", "tests.e2e.lying_network")
    proxies = dict.fromkeys(
        ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"), f"http://127.0.0.1:{PORT}"
    )
    done = subprocess.run(
        command,
        input=json.dumps(cases),
        env={**os.environ, **proxies},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        pytest.fail(
            "No network of its own for this test. Install iproute2 and util-linux, and run as root or where `unshare -rnm` "
            f"is permitted. {done.stderr}"
        )
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return] # JSON of the program


@cache
def inner() -> dict[tuple[str, str], dict[str, Any]]:
    """Send to every inner address by every client."""
    cases = [(client, f"http://{host}:{PORT}/") for client in ALL for host in INNER]
    pairs = [(client, host) for client in ALL for host in INNER]
    return dict(zip(pairs, outcomes(*cases), strict=True))


@pytest.mark.parametrize("host", INNER)
@pytest.mark.parametrize("client", ALL)
def test_an_inner_address_gets_no_connection(client: str, host: str) -> None:
    """Names and notations of inner addresses are refused before a connection to any of their addresses."""
    found = inner()[client, host]
    assert found["result"] in REFUSED
    assert found["connected"] == []


@pytest.mark.parametrize("client", ALL)
def test_the_checked_address_is_connected_to(client: str) -> None:
    """One look-up for check and connection, so that a second answer is not used; proxies are ignored."""
    first, again = outcomes((client, f"http://rebind.test:{PORT}/"), (client, f"http://rebind.test:{PORT}/again"))
    assert first == {"result": UPSTREAMS.get(client, "200"), "asked": ["rebind.test"], "connected": [PUBLIC]}
    assert again["result"] in REFUSED
    assert again["connected"] == []


@pytest.mark.parametrize("client", [*HTTP, "git"])
def test_a_redirect_is_not_followed(client: str) -> None:
    """A public server that redirects inside gets the only connection."""
    (found,) = outcomes((client, f"http://public.test:{PORT}/redirect"))
    result = "RemoteRefused" if client == "git" else "302"
    assert found == {"result": result, "asked": ["public.test"], "connected": [PUBLIC]}


@pytest.mark.parametrize("client", HTTP)
def test_slow_and_endless_answers_end(client: str) -> None:
    """A body that drips ends by time, endless headers by size, and a long body by size or is cut off."""
    slow, headers, long = outcomes(
        *((client, f"http://public.test:{PORT}/{path}") for path in ("slow", "headers", "long"))
    )
    assert slow["result"] in {"timeout", "ProviderSilent", "RemoteAway"}
    assert headers["result"] in {"malformed_answer", "ProviderSilent", "RemoteAway"}
    assert long["result"] in {"200", "Unavailable", "RemoteRefused"}
    assert (long["result"] == "200") == (client == "webhook")


def test_a_provider_without_tls_has_to_be_in_a_named_network() -> None:
    """The public address gets no connection by http:// unless the operator names its network."""
    (found,) = outcomes(("provider-https-only", f"http://public.test:{PORT}/"))
    assert found["result"] == "ProviderSilent"
    assert found["connected"] == []
