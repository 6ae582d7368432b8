"""The HTTP client of the hosts' APIs: JSON to a checked address, bounded in time and size, without redirects.

The token goes in a header alone; no error has it, nor more than a short line of what the host answers.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import httpcore
import orjson

from api.runtime.checked_client import CheckedClient, OutgoingRequest, TooLongResponse, read_whole
from api.runtime.checked_network import Resolve, error_class
from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.http_remote import read_retry
from gitstore.wire.client.remote_errors import RemoteAway, RemoteBusy, RemoteRefused, hiding, quote_remote
from gitstore.wire.client.remote_url import RemoteUrl

_MOST_BYTES = 4 << 20
_MOST_DEPTH = 5  # of lists and objects in an error
_LONGEST_REST = 86_400.0
_MOST_TEXT = 10_000  # of an answer, looked at for an error
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
        # Over http:// the token can be read on the way, so only in networks that the operator names.
        self._client = CheckedClient(policy, seconds, resolve, policy.require_named())

    async def send(self, client: HostClient, method: str, path: str, body: Mapping[str, Any] | None) -> HostAnswer:
        """Send one request; raises RemoteAway, or RemoteRefused for an address that is not allowed."""
        try:
            return await self._client.send(_request(client, method, path, body), _read_answer)
        except TooLongResponse:
            raise RemoteRefused("The API of the host answers with more than 4 MiB. Check hostUrl.") from None
        except Exception as ex:  # noqa: BLE001 - every failure of a host or the network is one of its kinds
            raise _explain(client.base.host, error_class(ex)) from None  # the cause may have the token


def _request(client: HostClient, method: str, path: str, body: Mapping[str, Any] | None) -> OutgoingRequest:
    base, data = client.base, orjson.dumps(body) if body is not None else b""
    content_type = {"Content-Type": "application/json"} if data else {}
    headers = {"User-Agent": "waypost", "Accept": "application/json", **content_type, **client.headers}
    target = base.path.rstrip("/") + path
    return OutgoingRequest(method, base.transport.value, base.host, base.port, base.authority, target, headers, data)


async def _read_answer(response: httpcore.Response) -> HostAnswer:
    body = _parse(await read_whole(response, _MOST_BYTES))
    return HostAnswer(response.status, body, _read_rest(response.headers))


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
