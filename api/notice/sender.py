"""Sending one message over HTTP: to an address that was checked, once, within a time, reading little of the answer.

httpcore follows no redirects and looks at no proxies of the environment. It connects through a backend of ours, which
resolves the name, checks every address, and connects to one of these addresses: there is no second look-up.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

import httpcore

from api.notice.addresses import AddressRefused, Reach
from api.notice.target import Target, read_target

Resolve = Callable[[str, int], Awaitable[list[str]]]

MOST_READ = 64 * 1024
MOST_KEPT = 1024
"""Bytes of an answer that are read at most, and that are kept for people."""
_CONNECT_SECONDS = 5.0
_SUCCESS = range(200, 300)


class Answer(NamedTuple):
    """What came of sending: a status, or the class of error that came instead of one, and how the answer begins."""

    status: int | None
    error: str | None
    text: str

    @property
    def is_success(self) -> bool:
        """True for a 2xx."""
        return self.status in _SUCCESS


class Unresolved(Exception):
    """A host's name has no address."""


class Sender:
    """Sends to whatever `reach` allows; `seconds` are for everything, from the look-up to the end of the answer."""

    def __init__(self, reach: Reach, seconds: float, resolve: Resolve | None = None) -> None:
        self._backend = _Checked(reach, resolve or look_up)
        self._seconds = seconds
        self._tls = ssl.create_default_context()

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """POST a body; never raises for what a receiver or the network does."""
        try:
            target = read_target(url)
            async with asyncio.timeout(self._seconds):
                return await self._post(target, headers, body)
        except Exception as ex:  # noqa: BLE001 - whatever a receiver or the network does, it was an attempt
            return Answer(None, _error_class(ex), "")

    async def _post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Answer:
        host = target.host.rstrip(".")
        url = httpcore.URL(scheme=target.scheme, host=host, port=target.port, target=target.path)
        lines = {"Host": target.authority, "Content-Length": str(len(body)), "Connection": "close", **headers}
        request = httpcore.Request("POST", url, headers=list(lines.items()), content=body, extensions=self._limits())
        connection = httpcore.AsyncHTTPConnection(url.origin, self._tls, network_backend=self._backend)
        try:
            response = await connection.handle_async_request(request)
            try:
                return Answer(response.status, None, await _read(response))
            finally:
                await response.aclose()
        finally:
            await connection.aclose()

    def _limits(self) -> dict[str, dict[str, float]]:
        connect = min(_CONNECT_SECONDS, self._seconds)
        return {"timeout": {"connect": connect, "read": self._seconds, "write": self._seconds}}


class _Checked(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked, and to nothing else."""

    def __init__(self, reach: Reach, resolve: Resolve) -> None:
        self._reach = reach
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's call
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address of a host that takes one; every one of them must be allowed."""
        found = [str(self._reach.check(each)) for each in await self._resolve(host, port)]
        if not found:
            raise Unresolved(host)
        for address in found[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(found[-1], port, timeout, local_address, socket_options)


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, as the machine's resolver knows them; Unresolved where it knows none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as ex:
        raise Unresolved(host) from ex
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def _read(response: httpcore.Response) -> str:
    """The first of an answer; what is longer than we read is no reason to call a success a failure."""
    kept, count = b"", 0
    async for part in response.aiter_stream():
        kept = (kept + part)[:MOST_KEPT]
        count += len(part)
        if count >= MOST_READ:
            break
    return kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


_ERROR_CLASSES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (AddressRefused, "address_refused"),
    (Unresolved, "name_not_resolved"),
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
    """Tell whether a certificate or handshake was at fault, which httpcore tells as a failure to connect."""
    while ex is not None:
        if isinstance(ex, ssl.SSLError):
            return True
        ex = ex.__cause__ or ex.__context__
    return False
