"""A repository behind HTTP: connections go to a checked address only, redirects are not followed.

https://git-scm.com/docs/gitprotocol-http
"""

import base64
import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote

from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.remote_addresses import resolve
from gitstore.wire.client.remote_errors import RemoteAway, RemoteBusy, RemoteGarbage, RemoteRefused, hiding
from gitstore.wire.client.remote_url import RemoteUrl, Transport

_CONNECT_SECONDS = 10.0
_PIECE = 1 << 16
_TOKEN_LENGTH = 20  # characters
_LONGEST_RETRY, _MOST_DIGITS = 3600.0, 10
_FAILURES = (OSError, http.client.HTTPException)


_REFUSALS: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "it does not know the user name and password. Set them again.",
    HTTPStatus.FORBIDDEN: "the user name and password do not allow this. Give them the right to it there.",
    HTTPStatus.NOT_FOUND: "it has no such repository, or the user name and password may not see it. Check the URL, and the right to read it.",
}


class Credentials(NamedTuple):
    """A user name and password (or token), sent as HTTP Basic; empty for none."""

    username: str = ""
    password: str = ""

    def headers(self) -> Mapping[str, str]:
        """Return the header that has them."""
        if not self.password and not self.username:
            return {}
        pair = f"{self.username}:{self.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that no message may have; a long user name may be a token."""
        header = self.headers().get("Authorization", "").removeprefix("Basic ")
        names = (self.username,) if len(self.username) >= _TOKEN_LENGTH else ()
        return self.password, quote(self.password, safe=""), header, *names

    def __repr__(self) -> str:
        return f"Credentials({self.username!r}, …)"


class Limits(NamedTuple):
    """The seconds for one request with its response, and the bytes of a response."""

    seconds: float = 30.0
    response_bytes: int = 1 << 30


class HttpRemote:
    """A repository by HTTP or HTTPS."""

    def __init__(self, url: RemoteUrl, credentials: Credentials, policy: AddressPolicy, limits: Limits) -> None:
        self._url = url
        self._credentials = credentials
        self._policy = policy
        self._limits = limits

    @contextmanager
    def refs(self, service: str) -> "Iterator[Response]":
        """Ask for the refs. Raises RemoteAway, RemoteRefused, RemoteGarbage."""
        path, media = f"/info/refs?service={service}", f"application/x-{service}-advertisement"
        with self._request("GET", path, {"Accept": media}, None, media) as response:
            yield response

    @contextmanager
    def call(self, service: str, body: BinaryIO) -> "Iterator[Response]":
        """Send the request of a service. Raises RemoteAway, RemoteRefused, RemoteGarbage."""
        size = body.seek(0, 2)
        body.seek(0)
        media = f"application/x-{service}-result"
        headers = {
            "Content-Type": f"application/x-{service}-request",
            "Accept": media,
            "Content-Length": str(size),
        }
        with self._request("POST", f"/{service}", headers, _pieces(body), media) as response:
            yield response

    @contextmanager
    def _request(
        self, method: str, path: str, headers: Mapping[str, str], body: Iterable[bytes] | None, media: str
    ) -> "Iterator[Response]":
        deadline = time.monotonic() + self._limits.seconds
        connection = _Connection(self._url, self._find_addresses(), deadline)
        try:
            sent = {**headers, **self._credentials.headers(), "Host": self._url.authority, "User-Agent": "git/waypost"}
            target = self._url.path.rstrip("/") + path
            connection.request(method, target, body=body, headers=sent)
            answer = connection.getresponse()
            self._require_success(answer, media)
            with hiding(*self._credentials.secrets()):
                yield Response(answer, deadline, self._limits.response_bytes)
        except _FAILURES as ex:
            raise self._away(ex) from ex
        finally:
            connection.close()

    def _find_addresses(self) -> list[tuple[int, str]]:
        """Resolve the host once; raises RemoteAway, RemoteRefused for an address that is not allowed."""
        addresses = resolve(self._url, self._policy)
        # Without TLS anybody on the way reads the password; so only in networks that the operator names.
        if self._url.transport is Transport.HTTP and any(
            not self._policy.is_named(ip_address(address)) for _, address in addresses
        ):
            raise RemoteRefused(
                "The upstream is at http:// outside of the networks of the setting upstream_networks. Use https://."
            )
        return addresses

    def _require_success(self, answer: http.client.HTTPResponse, media: str) -> None:
        status = answer.status
        if status in _REFUSALS:
            raise RemoteRefused(f"The upstream at {self._url.host} answers {status}: {_REFUSALS[status]}")
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            raise RemoteRefused(
                f"The upstream at {self._url.host} redirects, which is not followed. Give the URL that it leads to."
            )
        if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
            seconds = read_retry(answer.headers.get("Retry-After", ""))
            when = f", and asks to come again in {seconds:.0f} seconds" if seconds else ""
            raise RemoteBusy(f"The upstream at {self._url.host} answers {status}{when}.", seconds)
        if status != HTTPStatus.OK:
            raise RemoteAway(f"The upstream at {self._url.host} answers {status}.")
        if answer.headers.get_content_type() != media:
            raise RemoteGarbage(f"The answer of {self._url.host} is not of a Git repository. Check the URL.")

    def _away(self, ex: OSError | http.client.HTTPException) -> RemoteAway:
        if isinstance(ex, ssl.SSLCertVerificationError):
            return RemoteAway(f"The certificate of {self._url.host} is not valid: {ex.verify_message}.")
        if isinstance(ex, TimeoutError):
            return RemoteAway(
                f"The upstream at {self._url.host} did not answer in time (the setting upstream_timeout)."
            )
        return RemoteAway(f"The connection to {self._url.host} failed ({type(ex).__name__}).")


class _Connection(http.client.HTTPConnection):
    """A connection to one of some addresses, with the name of the host in TLS; all that it does ends at a deadline."""

    def __init__(self, url: RemoteUrl, addresses: list[tuple[int, str]], deadline: float) -> None:
        super().__init__(url.host, url.port)
        self._url = url
        self._addresses = addresses
        self._deadline = deadline

    def connect(self) -> None:
        """Connect to the first address that accepts."""
        failure: OSError = ConnectionError("no address")
        for family, address in self._addresses:
            left = min(_CONNECT_SECONDS, self._deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError
            plain = socket.socket(family, socket.SOCK_STREAM)
            try:
                plain.settimeout(left)
                plain.connect((address, self._url.port))
                plain.settimeout(_seconds_left(self._deadline))
                self.sock = _TimedSocket(self._secure(plain), self._deadline)
            except OSError as ex:
                plain.close()
                failure = ex
            else:
                return
        raise failure

    def _secure(self, plain: socket.socket) -> socket.socket:
        if self._url.transport is Transport.HTTP:
            return plain
        return ssl.create_default_context().wrap_socket(plain, server_hostname=self._url.host.rstrip("."))


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _TimedSocket:
    """The part of a socket that `http.client` uses; each read and write ends at one deadline, however little arrives."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        """Send all of the data, or raise TimeoutError."""
        self._socket.settimeout(_seconds_left(self._deadline))
        self._socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what the other side sends."""
        return io.BufferedReader(_TimedReader(self._socket, self._deadline))

    def close(self) -> None:
        """Close the connection, once its reader is closed too."""
        self._socket.close()


class _TimedReader(io.RawIOBase):
    """The bytes that arrive at a socket; a read after the deadline raises TimeoutError."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        super().__init__()
        self._socket = connected
        self._raw = connected.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has arrived, as soon as there is any."""
        self._socket.settimeout(_seconds_left(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Let go of the connection."""
        self._raw.close()
        super().close()


class Response:
    """The body of a response, read within its limits."""

    def __init__(self, answer: http.client.HTTPResponse, deadline: float, most: int) -> None:
        self._answer = answer
        self._deadline = deadline
        self._left = most

    def read(self, size: int) -> bytes:
        """Read exactly so many bytes, fewer only at the end. Raises RemoteAway, RemoteGarbage."""
        pieces = list[bytes]()
        while size > 0 and (piece := self._read_some(min(size, _PIECE))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _read_some(self, size: int) -> bytes:
        _seconds_left(self._deadline)
        piece = self._answer.read1(size)
        self._left -= len(piece)
        if self._left < 0:
            raise RemoteGarbage("The upstream sends more than is allowed (the setting push_limit).")
        return piece


def read_retry(text: str) -> float:
    """Return the seconds of a Retry-After, which may be a date too; 0 for none: RFC 9110, 10.2.3."""
    seconds = 0.0
    if text.isdecimal() and len(text) < _MOST_DIGITS:
        seconds = float(text)
    else:
        with suppress(ValueError, TypeError, OverflowError):
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
    return min(max(seconds, 0.0), _LONGEST_RETRY)


def _pieces(body: BinaryIO) -> Iterator[bytes]:
    while piece := body.read(_PIECE):
        yield piece
