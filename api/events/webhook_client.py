"""The HTTP client of webhooks: sends one message to a checked address, within a time, and reads little of the response.

httpcore follows no redirects and ignores the proxies of the environment.
"""

from collections.abc import Mapping
from typing import NamedTuple

import httpcore

from api.events.webhook_target import read_target
from api.runtime.checked_client import CheckedClient, OutgoingRequest
from api.runtime.checked_network import Resolve, error_class
from gitstore.wire.addresses import AddressPolicy

MAX_RESPONSE_BYTES = 64 * 1024  # read at most
MAX_STORED_BYTES = 1024  # of them, stored for users
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
        self._client = CheckedClient(address_policy, seconds, resolve)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        """POST a body; never raises for failures of the receiver or the network."""
        try:
            target = read_target(url)
            request = OutgoingRequest(
                "POST", target.scheme, target.host, target.port, target.authority, target.path, headers, body
            )
            return await self._client.send(request, _read_response)
        except Exception as ex:  # noqa: BLE001 - every failure of a receiver or the network is the result of an attempt
            return WebhookResponse(None, error_class(ex), "")


async def _read_response(response: httpcore.Response) -> WebhookResponse:
    return WebhookResponse(response.status, None, await _read(response))


async def _read(response: httpcore.Response) -> str:
    """Return the beginning of a response; a long response does not turn a success into a failure."""
    kept, count = b"", 0
    async for part in response.aiter_stream():
        kept = (kept + part)[:MAX_STORED_BYTES]
        count += len(part)
        if count >= MAX_RESPONSE_BYTES:
            break
    return kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
