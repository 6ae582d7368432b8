"""The HTTP client of webhooks: sends one message to a checked address, within a time, and reads little of the response.

httpcore follows no redirects and ignores the proxies of the environment.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import httpcore

from api.events.webhook_target import Target, read_target
from api.runtime.checked_network import CheckedBackend, Resolve, error_class, resolve_host
from api.runtime.jobs.background import run_in_thread
from gitstore.wire.addresses import AddressPolicy

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


class WebhookClient:
    """A client for addresses that the policy allows; `seconds` limits everything from look-up to end of response."""

    def __init__(self, address_policy: AddressPolicy, seconds: float, resolve: Resolve | None = None) -> None:
        self._backend = CheckedBackend(address_policy, resolve or resolve_host)
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
            return WebhookResponse(None, error_class(ex), "")

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


async def _read(response: httpcore.Response) -> str:
    """Return the beginning of a response; a long response does not turn a success into a failure."""
    kept, count = b"", 0
    async for part in response.aiter_stream():
        kept = (kept + part)[:MAX_STORED_BYTES]
        count += len(part)
        if count >= MAX_RESPONSE_BYTES:
            break
    return kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
