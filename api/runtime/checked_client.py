"""One HTTP request to a checked address, bounded in time, without redirects and without the proxies of the environment.

Over `http://` the addresses may have rules of their own, since all that is sent can be read on the way.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar

import httpcore

from api.runtime.checked_network import CheckedBackend, Resolve, resolve_host
from api.runtime.jobs.background import run_in_thread
from gitstore.wire.addresses import AddressPolicy

T = TypeVar("T")

_CONNECT_SECONDS = 5.0


class TooLongResponse(Exception):
    """The response has more bytes than allowed."""


class OutgoingRequest(NamedTuple):
    """A request: `host` without brackets, `authority` for the header Host, `target` with its query."""

    method: str
    scheme: str
    host: str
    port: int
    authority: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""


class CheckedClient:
    """A client for addresses that the policy allows; `seconds` limits everything from look-up to end of response."""

    def __init__(
        self,
        policy: AddressPolicy,
        seconds: float,
        resolve: Resolve | None = None,
        http_policy: AddressPolicy | None = None,
    ) -> None:
        found = resolve or resolve_host
        policies = {"https": policy, "http": http_policy or policy}
        self._backends = {scheme: CheckedBackend(allowed, found) for scheme, allowed in policies.items()}
        self._seconds = seconds

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The settings of TLS; reading the system's certificates takes long, and most services send nothing."""
        return ssl.create_default_context()

    async def send(self, request: OutgoingRequest, read: Callable[[httpcore.Response], Awaitable[T]]) -> T:
        """Send a request, and return what `read` makes of the response; raises what `error_class` names."""
        async with asyncio.timeout(self._seconds):
            return await self._exchange(request, read)

    async def _exchange(self, request: OutgoingRequest, read: Callable[[httpcore.Response], Awaitable[T]]) -> T:
        url = httpcore.URL(
            scheme=request.scheme, host=request.host.rstrip("."), port=request.port, target=request.target
        )
        lines = {"Host": request.authority, "Content-Length": str(len(request.body)), "Connection": "close"}
        headers = list({**lines, **request.headers}.items())
        outgoing = httpcore.Request(
            request.method, url, headers=headers, content=request.body, extensions=self._limits()
        )
        tls = await run_in_thread(lambda: self._tls) if request.scheme == "https" else None
        connection = httpcore.AsyncHTTPConnection(url.origin, tls, network_backend=self._backends[request.scheme])
        try:
            response = await connection.handle_async_request(outgoing)
            try:
                return await read(response)
            finally:
                await response.aclose()
        finally:
            await connection.aclose()

    def _limits(self) -> dict[str, dict[str, float]]:
        connect = min(_CONNECT_SECONDS, self._seconds)
        return {"timeout": {"connect": connect, "read": self._seconds, "write": self._seconds}}


async def read_whole(response: httpcore.Response, most: int) -> bytes:
    """Return the whole body; TooLongResponse for one with more than `most` bytes."""
    parts, size = list[bytes](), 0
    async for part in response.aiter_stream():
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooLongResponse
    return b"".join(parts)
