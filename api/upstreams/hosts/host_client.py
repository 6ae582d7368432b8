"""The HTTP client of the hosts' APIs: JSON to a checked address, bounded in time and size, without redirects.

The token goes in a header alone; no error has it, nor more than a short line of what the host answers.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import httpcore
import orjson

from api.runtime.checked_network import CheckedBackend, Resolve, error_class, resolve_host
from api.runtime.jobs.background import run_in_thread
from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.http_remote import read_retry
from gitstore.wire.client.remote_errors import RemoteAway, RemoteBusy, RemoteRefused, hiding, quote_remote
from gitstore.wire.client.remote_url import RemoteUrl, Transport

_MOST_BYTES = 4 << 20
_MOST_DEPTH = 5  # of lists and objects in an error
_LONGEST_REST = 86_400.0
_MOST_TEXT = 10_000  # of an answer, looked at for an error
_CONNECT_SECONDS = 5.0
_SECRET_HEADERS = frozenset({"authorization", "private-token"})
_REFUSED = "address_refused"


class HostAnswer(NamedTuple):
    """The answer of a host: its status, and its JSON; None where it has none."""

    status: int
    body: Any = None
    rest: float = 0.0
    """The seconds for which the host wants no request."""

    @property
    def is_success(self) -> bool:
        """True for a 2xx."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP

    @property
    def message(self) -> str:
        """The messages of its JSON, as one short line."""
        return quote_remote(" ".join(_texts(self.body))[:_MOST_TEXT])


class AnswerRefused(RemoteRefused):
    """An answer of a host that is no success; `status` is that of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class HostClient(NamedTuple):
    """A client of one API: its base, and the headers with the token."""

    base: RemoteUrl
    headers: Mapping[str, str]
    network: "HostNetwork"

    def __repr__(self) -> str:
        return f"HostClient({self.base.authority!r}, …)"

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> HostAnswer:
        """Send a request; raises RemoteAway or RemoteRefused where no answer can be had, and for 5xx, 3xx, 401, 429."""
        answer = await self.network.send(self, method, path, body)
        host, status = self.base.host, answer.status
        message = self._quote(answer)
        if status in {401, 403, 429} and "rate limit" in message.lower():
            raise RemoteBusy(f"The API of {host} answers {status}: {message}", answer.rest)
        if status in {408, 425, 429} or status >= 500:  # noqa: PLR2004 - HTTP
            raise RemoteBusy(f"The API of {host} answers {status}.", answer.rest)
        if 300 <= status < 400:  # noqa: PLR2004 - HTTP
            raise RemoteRefused(f"The API of {host} redirects, which is not followed. Set hostUrl to where it leads.")
        if status == 401:  # noqa: PLR2004 - HTTP
            raise RemoteRefused(f"The API of {host} answers 401: the token is not valid there. Set hostToken.")
        return answer

    async def require(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request, and return the JSON of its answer; RemoteRefused for any answer but success."""
        answer = await self.call(method, path, body)
        if not answer.is_success:
            raise self.refusal(answer)
        return answer.body

    def refusal(self, answer: HostAnswer) -> AnswerRefused:
        """Return the error of an answer that is no success."""
        message = self._quote(answer)
        reason = f": {message}" if message else ""
        hint = " Check the permissions of its token, and hostUrl." if answer.status in {403, 404} else ""
        text = f"The API of {self.base.host} answers {answer.status}{reason.rstrip('.')}.{hint}"
        return AnswerRefused(text, answer.status)

    def _quote(self, answer: HostAnswer) -> str:
        """Return the messages of an answer without the token, which hosts and proxies may repeat."""
        with hiding(*(value.split()[-1] for name, value in self.headers.items() if name.lower() in _SECRET_HEADERS)):
            return answer.message


class HostNetwork:
    """The connections to APIs of hosts; `seconds` limits everything from look-up to the end of the response."""

    def __init__(self, policy: AddressPolicy, seconds: float, resolve: Resolve | None = None) -> None:
        found = resolve or resolve_host
        # Over http:// the token can be read on the way, so only in networks that the operator names.
        policies = {Transport.HTTPS: policy, Transport.HTTP: policy.require_named()}
        self._backends = {each: CheckedBackend(allowed, found) for each, allowed in policies.items()}
        self._seconds = seconds

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def send(self, client: HostClient, method: str, path: str, body: Mapping[str, Any] | None) -> HostAnswer:
        """Send one request; raises RemoteAway, or RemoteRefused for an address that is not allowed."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._exchange(client, method, path, orjson.dumps(body) if body is not None else b"")
        except (RemoteAway, RemoteRefused):
            raise
        except Exception as ex:  # noqa: BLE001 - every failure of a host or the network is one of its kinds
            raise _explain(client.base.host, error_class(ex)) from None  # the cause may have the token

    async def _exchange(self, client: HostClient, method: str, path: str, body: bytes) -> HostAnswer:
        base = client.base
        scheme, target = base.transport.value, base.path.rstrip("/") + path
        url = httpcore.URL(scheme=scheme, host=base.host.rstrip("."), port=base.port, target=target)
        headers = {
            "Host": base.authority,
            "Content-Length": str(len(body)),
            "Connection": "close",
            "User-Agent": "waypost",
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if body else {}),
            **client.headers,
        }
        request = httpcore.Request(method, url, headers=list(headers.items()), content=body, extensions=self._limits())
        tls = await run_in_thread(lambda: self._tls) if base.transport is Transport.HTTPS else None
        connection = httpcore.AsyncHTTPConnection(url.origin, tls, network_backend=self._backends[base.transport])
        try:
            response = await connection.handle_async_request(request)
            try:
                return HostAnswer(response.status, _parse(await _read(response)), _read_rest(response.headers))
            finally:
                await response.aclose()
        finally:
            await connection.aclose()

    def _limits(self) -> dict[str, dict[str, float]]:
        connect = min(_CONNECT_SECONDS, self._seconds)
        return {"timeout": {"connect": connect, "read": self._seconds, "write": self._seconds}}


async def _read(response: httpcore.Response) -> bytes:
    parts, size = list[bytes](), 0
    async for part in response.aiter_stream():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise RemoteRefused("The API of the host answers with more than 4 MiB. Check hostUrl.")
    return b"".join(parts)


def _parse(data: bytes) -> Any:
    try:
        return orjson.loads(data) if data else None
    except orjson.JSONDecodeError:
        return None


def _texts(body: Any, depth: int = _MOST_DEPTH) -> list[str]:
    """Return the messages of an error as hosts write them: text, lists, or objects of them, not nested deeply."""
    if isinstance(body, str):
        return [body]
    if not depth:
        return []
    if isinstance(body, list):
        return [text for each in body[:5] for text in _texts(each, depth - 1)]
    if isinstance(body, Mapping):
        names = [name for name in ("message", "error", "errors") if name in body]
        return [text for name in names for text in _texts(body[name], depth - 1)]
    return []


def _read_rest(headers: Sequence[tuple[bytes, bytes]]) -> float:
    """Return the seconds for which a host wants no request, 0 for none: of `Retry-After` or of a spent rate limit.

    https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
    https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
    """
    found = {name.lower(): value.decode("ascii", "replace").strip() for name, value in headers}
    seconds = read_retry(found.get(b"retry-after", ""))
    for prefix in (b"x-ratelimit-", b"ratelimit-"):
        reset = found.get(prefix + b"reset", "")
        if not seconds and found.get(prefix + b"remaining") == "0" and re.fullmatch("[0-9]{1,12}", reset):
            seconds = max(int(reset) - time.time(), 0.0)
    return min(seconds, _LONGEST_REST)


_WORDS = {
    "timeout": "did not answer in time",
    "name_not_resolved": "cannot be resolved",
    "tls_failed": "has no valid certificate",
    "connection_failed": "accepts no connection",
    "malformed_answer": "does not answer as HTTP does",
}


def _explain(host: str, fault: str) -> RemoteAway | RemoteRefused:
    if fault == _REFUSED:
        return RemoteRefused(
            f"The API of {host} is at an address that is not allowed, or at http:// outside of the networks of the setting "
            "upstream_networks."
        )
    return RemoteAway(f"The API of {host} {_WORDS.get(fault, 'ended the connection')}.")
