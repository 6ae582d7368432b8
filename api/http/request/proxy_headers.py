"""The client's address behind a proxy: X-Forwarded-For, as far as trusted proxies wrote it."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Any

_MAPPED = "::ffff:"
_MAPPED_BITS = 96
"""An IPv4 address as a socket of both versions reports it: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2"""


class ProxyHeaders:
    """The trusted proxies; a peer on a UNIX socket is trusted, since it is on this machine."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._networks = [ip_network(text) for text in in_both_forms(trusted)]

    def __bool__(self) -> bool:
        """Tell whether any proxy is trusted."""
        return bool(self._networks)

    def apply(self, scope: dict[str, Any]) -> None:
        """Replace the proxy's address in the scope by the client's, if a trusted proxy names it."""
        # None for a UNIX socket: https://asgi.readthedocs.io/en/stable/specs/www.html#http-connection-scope
        peer = scope.get("client")
        if peer and not self._is_trusted(peer[0]):
            return
        named = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
        found = self._client(part.strip() for part in reversed(named.decode("latin-1").split(",")))
        if found:
            scope["client"] = (found, 0)

    def _client(self, hops: Iterable[str]) -> str | None:
        """Return the nearest hop that is not a trusted proxy: the hops beyond it may be forged."""
        found = None
        for hop in hops:
            if "%" in hop or not _is_address(hop):  # the scope of an address is any text, and has no meaning elsewhere
                break
            found = hop
            if not self._is_trusted(hop):
                break
        return found

    def _is_trusted(self, text: str) -> bool:
        return _is_address(text) and any(ip_address(text) in network for network in self._networks)


def in_both_forms(trusted: Iterable[str]) -> list[str]:
    """Return addresses or networks, and those of IPv4 also in the form that a socket of both versions reports."""
    return [form for text in trusted for form in _forms(text)]


def _forms(text: str) -> Sequence[str]:
    network = ip_network(text)
    if not isinstance(network, IPv4Network):
        return (text,)
    return text, f"{_MAPPED}{network.network_address}/{_MAPPED_BITS + network.prefixlen}"


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
