"""The HTTP client of webhooks: sends one message to a checked address, within a time, and reads little of the response.

httpcore follows no redirects and ignores the proxies of the environment. It connects through a custom backend that
resolves the name, checks every address, and connects to one of these addresses, without a second look-up.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import httpcore

from api.events.webhook_target import Target, read_target
from api.runtime.jobs.background import run_in_thread
from gitstore.wire.addresses import AddressNotAllowed, AddressPolicy

Resolve = Callable[[str, int], Awaitable[list[str]]]

MAX_RESPONSE_BYTES = 64 * 1024  # read at most
MAX_STORED_BYTES = 1024  # of them, stored for users
_CONNECT_SECONDS = 5.0
_SUCCESS = range(200, 300)


class WebhookResponse(NamedTuple):
    """The result of sending: a status or a class of error, and the beginning of the response."""

    status: int | None
    error: str | None
    text: str

    @property
    def is_success(self) -> bool:
        """True for a 2xx."""
        return self.status in _SUCCESS


class UnresolvedHost(Exception):
    """A host name has no address."""


class WebhookClient:
    """A client for addresses that the policy allows; `seconds` limits everything from look-up to end of response."""

    def __init__(self, address_policy: AddressPolicy, seconds: float, resolve: Resolve | None = None) -> None:
        self._backend = _CheckedBackend(address_policy, resolve or resolve_host)
        self._seconds = seconds

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The settings of TLS; reading the system's certificates takes long, and most services have no webhook."""
        return ssl.create_default_context()

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        """POST a body; never raises for failures of the receiver or the network."""
        try:
            target = read_target(url)
            async with asyncio.timeout(self._seconds):
                return await self._post(target, headers, body)
        except Exception as ex:  # noqa: BLE001 - every failure of a receiver or the network is the result of an attempt
            return WebhookResponse(None, _error_class(ex), "")

    async def _post(self, target: Target, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        host = target.host.rstrip(".")
        url = httpcore.URL(scheme=target.scheme, host=host, port=target.port, target=target.path)
        lines = {"Host": target.authority, "Content-Length": str(len(body)), "Connection": "close", **headers}
        request = httpcore.Request("POST", url, headers=list(lines.items()), content=body, extensions=self._limits())
        tls = await run_in_thread(lambda: self._tls) if target.scheme == "https" else None
        connection = httpcore.AsyncHTTPConnection(url.origin, tls, network_backend=self._backend)
        try:
            response = await connection.handle_async_request(request)
            try:
                return WebhookResponse(response.status, None, await _read(response))
            finally:
                await response.aclose()
        finally:
            await connection.aclose()

    def _limits(self) -> dict[str, dict[str, float]]:
        connect = min(_CONNECT_SECONDS, self._seconds)
        return {"timeout": {"connect": connect, "read": self._seconds, "write": self._seconds}}


class _CheckedBackend(httpcore.AsyncNetworkBackend):
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


async def _read(response: httpcore.Response) -> str:
    """Return the beginning of a response; a long response does not turn a success into a failure."""
    kept, count = b"", 0
    async for part in response.aiter_stream():
        kept = (kept + part)[:MAX_STORED_BYTES]
        count += len(part)
        if count >= MAX_RESPONSE_BYTES:
            break
    return kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


_ERROR_CLASSES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (AddressNotAllowed, "address_refused"),
    (UnresolvedHost, "name_not_resolved"),
    ((TimeoutError, httpcore.TimeoutException), "timeout"),
    (httpcore.ConnectError, "connection_failed"),
    (httpcore.ProtocolError, "malformed_answer"),
    (ValueError, "malformed_url"),
)


def _error_class(ex: BaseException) -> str:
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
