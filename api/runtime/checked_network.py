"""Connections of httpcore to checked addresses only, for webhooks and for the APIs of Git hosts.

The backend resolves a name, checks every address, and connects to one of these addresses, without a second look-up.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable

import httpcore

from gitstore.wire.addresses import AddressNotAllowed, AddressPolicy

Resolve = Callable[[str, int], Awaitable[list[str]]]


class UnresolvedHost(Exception):
    """A host name has no address."""


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """A network backend that connects to checked addresses only."""

    def __init__(self, address_policy: AddressPolicy, resolve: Resolve) -> None:
        self._address_policy = address_policy
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of a host that accepts; all of its addresses must be allowed."""
        found = [str(self._address_policy.check(each)) for each in await self._resolve(host, port)]
        if not found:
            raise UnresolvedHost(host)
        for address in found[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(found[-1], port, timeout, local_address, socket_options)


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host from the machine's resolver; UnresolvedHost if there are none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as ex:
        raise UnresolvedHost(host) from ex
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


_ERROR_CLASSES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (AddressNotAllowed, "address_refused"),
    (UnresolvedHost, "name_not_resolved"),
    ((TimeoutError, httpcore.TimeoutException), "timeout"),
    (httpcore.ConnectError, "connection_failed"),
    (httpcore.ProtocolError, "malformed_answer"),
    (ValueError, "malformed_url"),
)


def error_class(ex: BaseException) -> str:
    """Return the class of a failure as one word."""
    if _is_tls(ex):
        return "tls_failed"
    return next((name for kinds, name in _ERROR_CLASSES if isinstance(ex, kinds)), "connection_lost")


def _is_tls(ex: BaseException | None) -> bool:
    """Return whether the cause was a certificate or handshake."""
    # httpcore 1.0 raises ConnectError from ssl.SSLError:
    # https://github.com/encode/httpcore/blob/1.0.9/httpcore/_backends/anyio.py
    while ex is not None:
        if isinstance(ex, ssl.SSLError):
            return True
        ex = ex.__cause__ or ex.__context__
    return False
