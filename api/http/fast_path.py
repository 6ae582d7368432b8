"""The fast path: the reads that agents repeat all day, answered ahead of the framework.

`GET …/version`, `…/redirects` and `…/pages` with an API token are one or two `stat` calls, a few look-ups and a slice of
a memory map. All other requests (another parameter, no valid token, a moved release, an error) are left to the
framework, which builds the same responses with the same `replies`; a test compares both. ADR 0017 says why the
connection asks this module before there is an ASGI call.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import count
from os import urandom
from time import perf_counter
from typing import NamedTuple

from api import logs
from api.auth.directory import AdmittedToken, IdentityCache
from api.data.served_data import ServedData
from api.http.request.parameters import DEFAULT_LIMIT, Window
from api.http.response.compression import CompressionCache, accepts_gzip
from api.http.response.replies import (
    COMMON_HEADERS,
    ConditionalGet,
    Reply,
    ServedVersion,
    etag_matches,
    list_reply,
    needs_compression,
    version_reply,
)
from api.metrics.counters import Counters
from content.records.vocabulary import Kind
from gitstore.history.live import Live, LiveNamespace, LiveProject

Headers = Sequence[tuple[bytes, bytes]]

_READS = (("redirect", "read"), ("page", "read"), ("agent", "read"), ("project", "read"))
_REQUIRED_GRANTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "version": _READS,
    "redirects": (("redirect", "read"),),
    "pages": (("page", "read"),),
}
_PREFIX = "/api/namespace/"
_ROUTES = {endpoint: f"/api/namespace/{{namespace}}/project/{{project}}/{endpoint}" for endpoint in _REQUIRED_GRANTS}
_KINDS = {kind.value: kind for kind in Kind}
_NOT_PLAIN = frozenset({b"prefer", b"x-request-id", b"expect", b"content-length", b"transfer-encoding"})
_BEARER = b"Bearer "
_SEGMENTS = 7
_MAX_DIGITS = 9
_MAX_REPLIES = 2_000
_MAX_MATCHES = 10_000
_NOT_MODIFIED = 304


class _Head(NamedTuple):
    """The headers of a plain request."""

    authorization: bytes
    if_none_match: str | None
    gzip: bool


class _RouteMatch(NamedTuple):
    """The target of a path, for a caller with a sufficient grant."""

    caller: AdmittedToken
    namespace: str
    project: str
    endpoint: str


class CachedReply(NamedTuple):
    """A response to be sent: `head` begins an HTTP/1.1 message, without the lines of a single request."""

    reply: Reply
    head: bytes
    size: int


class PreparedResponse(NamedTuple):
    """A response, and the header line for its request."""

    answer: CachedReply
    line: bytes


class FastPath:
    """The plain reads of one worker; `answer` returns None for requests that the framework has to answer."""

    def __init__(
        self,
        directory: IdentityCache,
        live: Live,
        compressed: CompressionCache,
        counters: Counters,
        data: ServedData | None = None,
    ) -> None:
        self._directory = directory
        self._data = data
        self._live = live
        self._compressed = compressed
        self._counters = counters
        self._matches: dict[tuple[bytes, str], _RouteMatch] = {}
        self._served: dict[str, LiveNamespace] = {}
        self._replies: dict[str, dict[tuple[str, str, bool, bool], CachedReply]] = {}
        self._prefix = urandom(4).hex().encode()
        self._count = count()

    def answer(self, path: str, raw_path: bytes, query: str, headers: Headers) -> PreparedResponse | None:
        """Return the whole response to a GET, from memory alone; `path` is decoded, header names are in lower case."""
        begun = perf_counter()
        if not path.startswith(_PREFIX) or b"%" in raw_path or logs.is_debug_enabled():
            return None  # an encoded character may be a slash; no name needs one
        if self._data is not None and self._data.fault is not None:
            return None
        head = _read_head(headers)
        match = self._match(path, head.authorization) if head else None
        if head is None or match is None:
            return None
        served = self._live.peek(match.namespace)
        found = self._find_reply(served, match, _Plain(path, query), head) if served else None
        if found is None:
            return None
        self._remember(match, path, head.authorization)
        self._counters.add_request(_ROUTES[match.endpoint], "GET", found.reply.status, perf_counter() - begun)
        # A counter is four times as fast as random bytes, and as unique.
        return PreparedResponse(found, b"x-request-id: %b%08x\r\n" % (self._prefix, next(self._count)))

    def _match(self, path: str, authorization: bytes) -> _RouteMatch | None:
        """Return the target of the path, if an API token suffices for it; its grants are checked once."""
        match = self._matches.get((authorization, path))
        return match if match and self._directory.is_admitted(match.caller) else self._find_match(path, authorization)

    def _remember(self, match: _RouteMatch, path: str, authorization: bytes) -> None:
        """Remember a target that exists; invented paths cannot fill the memory."""
        key = (authorization, path)
        if self._matches.get(key) is not match:
            if len(self._matches) >= _MAX_MATCHES:
                self._matches.clear()
            self._matches[key] = match

    def _find_match(self, path: str, authorization: bytes) -> _RouteMatch | None:
        segments = path.split("/")
        if len(segments) != _SEGMENTS or segments[4] != "project" or segments[6] not in _REQUIRED_GRANTS:
            return None
        _, _, _, namespace, _, project, endpoint = segments
        caller = self._directory.admit(authorization[len(_BEARER) :].decode("latin-1"))
        if caller is None:
            return None
        can = caller.entry.principal.can
        if not any(can(resource, action, namespace, project) for resource, action in _REQUIRED_GRANTS[endpoint]):
            return None
        return _RouteMatch(caller, namespace, project, endpoint)

    def _find_reply(
        self, served: LiveNamespace, match: _RouteMatch, plain: "_Plain", head: _Head
    ) -> CachedReply | None:
        """Return the response, built once for as long as the same state of the namespace is served."""
        project = served.projects.get(match.project)
        if project is None:
            return None
        if self._served.get(match.namespace) is not served:
            self._served[match.namespace], self._replies[match.namespace] = served, {}
        answers = self._replies[match.namespace]
        key = (*plain, etag_matches(project.version, head.if_none_match), head.gzip)
        found = answers.get(key)
        if found is None:
            reply = self._reply(project, match.endpoint, plain, head)
            if reply is None:
                return None
            found = CachedReply(reply, _head_of(reply), reply.size)
            # Compressed bodies are held by `CompressionCache` alone, which counts their bytes.
            if len(answers) < _MAX_REPLIES and not any(name == "content-encoding" for name, _ in reply.headers):
                answers[key] = found
        return found

    def _reply(self, found: LiveProject, endpoint: str, plain: "_Plain", head: _Head) -> Reply | None:
        served_version, conditional_get = (
            ServedVersion(found.version, found.number, found.release),
            ConditionalGet(plain.path, head.if_none_match, head.gzip),
        )
        if endpoint == "version":
            return version_reply(served_version, conditional_get) if not plain.query else None
        window, kind = _read_window(plain.query), _KINDS[endpoint]
        if window is None or (
            conditional_get.gzip and needs_compression(served_version, kind, window, self._compressed)
        ):
            return None
        return list_reply(served_version, kind, window, conditional_get, self._compressed)


class _Plain(NamedTuple):
    """The path and query of a plain request."""

    path: str
    query: str


def _head_of(reply: Reply) -> bytes:
    size = () if reply.status == _NOT_MODIFIED else (("content-length", str(reply.size)),)
    headers = (*reply.headers, *COMMON_HEADERS, *size)
    lines = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def _read_head(headers: Headers) -> _Head | None:
    bearer, if_none_match, encodings = None, None, None
    for name, value in headers:
        if name == b"authorization":
            if bearer is not None:
                return None
            bearer = value
        elif name == b"if-none-match":
            if if_none_match is not None:
                return None
            if_none_match = value
        elif name == b"accept-encoding":
            if encodings is not None:
                return None
            encodings = value.decode("latin-1")
        elif name in _NOT_PLAIN:
            return None
    if bearer is None or not bearer.startswith(_BEARER):
        return None
    return _Head(
        bearer, if_none_match.decode("latin-1") if if_none_match is not None else None, accepts_gzip(encodings)
    )


def _read_window(query: str) -> Window | None:
    """Return the window of a plain query: only `limit` and `offset`, once each, in plain digits; else None."""
    found = {"limit": DEFAULT_LIMIT, "offset": 0}
    missing = set(found)
    for part in query.split("&") if query else ():
        name, _, number = part.partition("=")
        if name not in missing or not (number.isascii() and number.isdigit()) or len(number) > _MAX_DIGITS:
            return None
        missing.remove(name)
        found[name] = int(number)
    return Window(**found)
