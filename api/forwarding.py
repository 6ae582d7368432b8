"""Who the client is when a proxy stands in front: told by X-Forwarded-For, as far as trusted proxies wrote it."""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network
from typing import Any


class Forwarding:
    """The proxies whose word is taken; a peer on a UNIX socket is one, since only this machine reaches that."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._networks = [ip_network(text) for text in trusted]

    def __bool__(self) -> bool:
        """Tell whether there is any proxy to trust."""
        return bool(self._networks)

    def apply(self, scope: dict[str, Any]) -> None:
        """Put the client's address in the place of the proxy's, where a trusted proxy names it."""
        peer = scope.get("client")
        if peer and not self._trusts(peer[0]):
            return
        named = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
        found = self._client(part.strip() for part in reversed(named.decode("latin-1").split(",")))
        if found:
            scope["client"] = (found, 0)

    def _client(self, hops: Iterable[str]) -> str | None:
        """The nearest hop that is no trusted proxy: what stands beyond it may be anybody's invention."""
        found = None
        for hop in hops:
            if not _is_address(hop):
                break
            found = hop
            if not self._trusts(hop):
                break
        return found

    def _trusts(self, text: str) -> bool:
        return _is_address(text) and any(ip_address(text) in network for network in self._networks)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
