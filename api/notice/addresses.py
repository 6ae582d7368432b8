"""Which network addresses webhooks may be sent to: public ones, and those that the operator has named.

Names are not judged, for they can change: what they resolve to is, each time, before a connection is made to it.
"""

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

# What counts as global in one version of Python or another, and leads to places that are not.
_NEVER_PUBLIC = tuple(
    ip_network(network)
    for network in (
        "100.64.0.0/10",  # carriers' own
        "168.63.129.16/32",  # a cloud's host, seen from inside its machines
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # relays of 6to4
        "::/96",  # IPv4 in IPv6, as once
        "::ffff:0:0/96",  # IPv4 in IPv6
        "::ffff:0:0:0/96",  # IPv4 in IPv6, translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local
        "2001::/23",  # Teredo, ORCHID, benchmarks
        "2002::/16",  # 6to4
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local, as once
    )
)


class AddressRefused(Exception):
    """A webhook leads to an address that it may not be sent to."""


class Reach:
    """The addresses that may be reached; `networks` are private ones that may be, too."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._allowed = tuple(ip_network(network, strict=False) for network in networks)

    def check(self, text: str) -> Address:
        """The address that a text is; AddressRefused where it may not be reached. A zone (`%eth0`) never may."""
        address = ip_address(text)
        named = any(address in network for network in self._allowed)
        if getattr(address, "scope_id", None) or not (named or is_public(address)):
            raise AddressRefused(f"{text} is not a public address.")
        return address

    def check_host(self, host: str) -> None:
        """Raise AddressRefused for a host that is written as an address, in whichever form, that may not be reached."""
        literal = read_literal(host)
        if literal is not None:
            self.check(literal)


def is_public(address: Address) -> bool:
    """Tell whether an address is one of the public internet, and no way round to one that is not."""
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    hidden = any(address in network for network in _NEVER_PUBLIC)
    return address.is_global and not special and not hidden


def read_literal(host: str) -> str | None:
    """The address that a host is written as; None for a name. `2130706433` and `0x7f.1` are 127.0.0.1 to a resolver."""
    if host.rstrip(".").lower() == "localhost" or host.rstrip(".").lower().endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
    except OSError:
        return None
