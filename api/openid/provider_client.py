"""The HTTP client of the provider: JSON from a checked address, bounded in time and size, without redirects."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import httpcore
import orjson

from api.events.webhook_target import read_target
from api.openid.errors import provider_away, provider_silent
from api.runtime.checked_client import CheckedClient, OutgoingRequest, TooLongResponse, read_whole
from api.runtime.checked_network import error_class
from gitstore.wire.addresses import AddressPolicy

_MOST_BYTES = 1 << 20
_SERVER_ERROR = 500
_BUSY = 429


class ProviderAnswer(NamedTuple):
    """An answer: its status, and its JSON object; empty where it has none."""

    status: int
    body: Mapping[str, Any]


class ProviderClient:
    """The client of one provider; without TLS only in networks that the operator names."""

    def __init__(self, networks: tuple[str, ...], seconds: float) -> None:
        policy = AddressPolicy(networks)
        self._client = CheckedClient(policy, seconds, http_policy=policy.require_named())

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> ProviderAnswer:
        """GET a JSON object; raises 503 for no answer, 5xx and garbage."""
        return await self.send("GET", url, headers or {}, b"")

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> ProviderAnswer:
        """Send a request; raises 503 for no answer, 429, 5xx and garbage."""
        try:
            target = read_target(url)
            lines = {"Accept": "application/json", "User-Agent": "waypost", **headers}
            request = OutgoingRequest(
                method, target.scheme, target.host, target.port, target.authority, target.path, lines, body
            )
            answer = await self._client.send(request, _read_answer)
        except TooLongResponse:
            raise provider_away("too long") from None
        except Exception as ex:  # noqa: BLE001 - every failure of a provider or the network is one of its kinds
            raise provider_silent(error_class(ex)) from None  # the cause may have the code or a token
        if answer.status >= _SERVER_ERROR or answer.status == _BUSY:
            raise provider_away(f"status {answer.status}")
        return answer


async def _read_answer(response: httpcore.Response) -> ProviderAnswer:
    data = await read_whole(response, _MOST_BYTES)
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        body = None
    return ProviderAnswer(response.status, body if isinstance(body, dict) else {})
