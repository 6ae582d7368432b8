"""The network addresses that a webhook or an upstream may be at: public ones, and networks that the operator allows.

Host names are not checked, since their addresses can change; each resolved address is, before a connection to it.
"""

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

# Networks that some versions of Python report as global, although they lead to addresses that are not:
# https://docs.python.org/3/library/ipaddress.html#ipaddress.IPv4Address.is_global
_NEVER_PUBLIC = tuple(
    ip_network(network)
    for network in (
        "100.64.0.0/10",  # shared address space of carriers
        # Azure's host, seen from inside its virtual machines:
        # https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
        "168.63.129.16/32",
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # relays of 6to4
        "::/96",  # IPv4 in IPv6, deprecated
        "::ffff:0:0/96",  # IPv4 in IPv6
        "::ffff:0:0:0/96",  # IPv4 in IPv6, translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local
        "2001::/23",  # Teredo, ORCHID, benchmarks
        "2002::/16",  # 6to4
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local, deprecated
    )
)


class AddressNotAllowed(Exception):
    """The address of a receiver or an upstream is not allowed."""


class AddressPolicy:
    """The addresses that may be reached: public ones unless `only_named`, and those in `networks`."""

    def __init__(self, networks: Iterable[str] = (), *, only_named: bool = False) -> None:
        self._allowed = tuple(ip_network(network, strict=False) for network in networks)
        self._only_named = only_named

    def require_named(self) -> "AddressPolicy":
        """Return the policy of the named networks alone."""
        return AddressPolicy(map(str, self._allowed), only_named=True)

    def check(self, text: str) -> Address:
        """Parse an address; AddressNotAllowed if it may not be reached. An address with a zone (`%eth0`) never may."""
        address = ip_address(text)
        is_open = is_public(address) and not self._only_named
        if getattr(address, "scope_id", None) or not (self.is_named(address) or is_open):
            raise AddressNotAllowed(f"{text} is not a public address.")
        return address

    def is_named(self, address: Address) -> bool:
        """Tell whether the operator names a network of this address."""
        return any(address in network for network in self._allowed)

    def check_host(self, host: str) -> None:
        """Raise AddressNotAllowed for a host that is an address, in any notation, and may not be reached."""
        literal = read_literal(host)
        if literal is not None:
            self.check(literal)


def is_public(address: Address) -> bool:
    """Return whether an address is in the public internet, and is not an alias of an address that is not."""
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    hidden = any(address in network for network in _NEVER_PUBLIC)
    return address.is_global and not special and not hidden


def read_literal(host: str) -> str | None:
    """Return the address that a host denotes without a look-up; None for a name."""
    # Names below localhost are loopback addresses: https://www.rfc-editor.org/rfc/rfc6761#section-6.3
    if host.rstrip(".").lower() == "localhost" or host.rstrip(".").lower().endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    # Resolvers accept all notations of inet_aton; `2130706433` and `0x7f.1` are 127.0.0.1:
    # https://man7.org/linux/man-pages/man3/inet_aton.3.html
    try:
        return socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
    except OSError:
        return None
