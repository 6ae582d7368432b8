"""The addresses of another repository's host: resolved once, and each checked before a connection to it."""

import socket

from gitstore.wire.addresses import AddressNotAllowed, AddressPolicy
from gitstore.wire.client.remote_errors import RemoteAway, RemoteRefused
from gitstore.wire.client.remote_url import RemoteUrl


def resolve(url: RemoteUrl, policy: AddressPolicy) -> list[tuple[int, str]]:
    """Return the families and addresses of the host. Raises RemoteAway, RemoteRefused for an address that is not allowed."""
    try:
        policy.check_host(url.host)
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys((int(each[0]), str(each[4][0])) for each in found))
        for _, address in addresses:
            policy.check(address)
    except AddressNotAllowed as ex:
        raise RemoteRefused(
            f"The upstream's host {url.host} is at an address that is not allowed: {ex} The operator can allow its network "
            "with the setting upstream_networks."
        ) from ex
    except (OSError, UnicodeError) as ex:
        raise RemoteAway(f"The upstream's host {url.host} cannot be resolved.") from ex
    return addresses
