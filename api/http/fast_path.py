"""The fast path: the reads that agents repeat all day, answered ahead of the framework.

`GET …/version`, `…/redirects` and `…/pages` with an API token, also below the base URL of agents of an older service, are
one or two `stat` calls, a few look-ups and a slice of a memory map. All other requests (another parameter, no valid token, a moved release, an error) are left to the
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
from api.http.compat import BASE, without_etag
from api.http.request.host import is_host
from api.http.request.parameters import DEFAULT_LIMIT, Window
from api.http.response.compression import CompressionCache, accepts_gzip
from api.http.response.replies import (
    COMMON_HEADERS,
    ConditionalGet,
    Reply,
    ServedVersion,
    etag_matches,
    join_splices,
    list_reply,
    needs_compression,
    number_reply,
    version_reply,
)
from api.http.walks import Walks
from api.metrics.counters import Counters
from content.records.vocabulary import Kind
from gitstore.compiled.releases.canonical_list import Splice
from gitstore.history.live import Live, LiveNamespace, LiveProject

Headers = Sequence[tuple[bytes, bytes]]

_READS = (("redirect", "read"), ("page", "read"), ("agent", "read"), ("project", "read"))
_REQUIRED_GRANTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "version": _READS,
    "redirects": (("redirect", "read"),),
    "pages": (("page", "read"),),
}
_PREFIX = "/api/namespace/"
_COMPAT_PREFIX = BASE + _PREFIX
_ROUTES = {endpoint: f"/api/namespace/{{namespace}}/project/{{project}}/{endpoint}" for endpoint in _REQUIRED_GRANTS}
_KINDS = {kind.value: kind for kind in Kind}
_PLAIN = frozenset({b"authorization", b"host", b"if-none-match", b"accept-encoding"})
_NOT_PLAIN = frozenset({b"prefer", b"x-request-id", b"expect", b"content-length", b"transfer-encoding"})
BEARER = b"Bearer "
_SEGMENTS = 7
_MAX_DIGITS = 9
_MAX_BYTES = 32 * 1024 * 1024
_REPLY_BYTES = 2048
"""Bytes of a kept response besides its head: its key, its headers and its envelope."""
_MAX_MATCHES = 10_000
_NOT_MODIFIED = 304
# Bytes of a body that are sent at once.
ONE_PIECE = 512 * 1024


class _Head(NamedTuple):
    """The headers of a plain request."""

    authorization: bytes
    if_none_match: str | None
    gzip: bool


class _RouteMatch(NamedTuple):
    """The target of a path, for a caller with a sufficient grant; `route` is the template, for the counters."""

    caller: AdmittedToken
    namespace: str
    project: str
    endpoint: str
    is_compat: bool
    route: str


class CachedReply(NamedTuple):
    """A response to be sent: `head` begins an HTTP/1.1 message, without the lines of a single request.

    `parts` are the body, unless it is longer than `ONE_PIECE`.
    """

    reply: Reply
    head: bytes
    size: int
    parts: tuple[bytes | memoryview, ...] = ()


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
        self._reply_bytes = 0
        self._prefix = urandom(4).hex().encode()
        self._count = count()

    def answer(
        self, path: str, raw_path: bytes, query: str, headers: Headers, walks: Walks | None = None
    ) -> PreparedResponse | None:
        """Return the whole response to a GET, from memory alone; `path` is decoded, header names are in lower case.

        `walks` are those of the connection.
        """
        begun = perf_counter()
        if not path.startswith(_PREFIX) and not path.startswith(_COMPAT_PREFIX):
            return None
        if b"%" in raw_path or logs.is_debug_enabled():
            return None  # an encoded character may be a slash; no name needs one
        if self._data is not None and self._data.fault is not None:
            return None
        head = _read_head(headers)
        match = self._match(path, head.authorization) if head else None
        if head is None or match is None:
            return None
        served = self._live.peek(match.namespace) or self._live.peek_unchanged(match.namespace, match.project)
        found = self._find_reply(served, match, _Plain(path, query), head, walks) if served else None
        if found is None:
            return None
        self._remember(match, path, head.authorization)
        self._counters.add_request(match.route, "GET", found.reply.status, perf_counter() - begun)
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
        is_compat = path.startswith(BASE)
        segments = path.removeprefix(BASE).split("/")
        if len(segments) != _SEGMENTS or segments[4] != "project" or segments[6] not in _REQUIRED_GRANTS:
            return None
        _, _, _, namespace, _, project, endpoint = segments
        caller = self._directory.admit(authorization[len(BEARER) :].decode("latin-1"))
        if caller is None:
            return None
        can = caller.entry.principal.can
        if not any(can(resource, action, namespace, project) for resource, action in _REQUIRED_GRANTS[endpoint]):
            return None
        route = (BASE if is_compat else "") + _ROUTES[endpoint]
        return _RouteMatch(caller, namespace, project, endpoint, is_compat, route)

    def _find_reply(
        self, served: LiveNamespace, match: _RouteMatch, plain: "_Plain", head: _Head, walks: Walks | None
    ) -> CachedReply | None:
        project = served.projects.get(match.project)
        if project is None:
            return None
        if not match.is_compat:
            return self._find_cached(served, project, match, plain, head)
        found = self._find_compat_reply(served, project, match, plain, head._replace(if_none_match=None), walks)
        # Joined parts are copies, so they are not cached.
        return found._replace(parts=_join(found.reply)) if found and not found.parts else found

    def _find_compat_reply(
        self,
        served: LiveNamespace,
        current: LiveProject,
        match: _RouteMatch,
        plain: "_Plain",
        head: _Head,
        walks: Walks | None,
    ) -> CachedReply | None:
        """Return the response in the version of the connection's walk; that of an older version is not cached."""
        if walks is not None and match.endpoint != "version":
            window = _read_window(plain.query)
            if window is None:
                return None
            project = walks.follow((head.authorization, plain.path), window.offset, current)
            if project.version != current.version:
                return self._build(project, match, plain, head)
        return self._find_cached(served, current, match, plain, head)

    def _find_cached(
        self, served: LiveNamespace, project: LiveProject, match: _RouteMatch, plain: "_Plain", head: _Head
    ) -> CachedReply | None:
        """Return the response, built once for as long as the same state of the namespace is served."""
        if self._served.get(match.namespace) is not served:
            self._served[match.namespace] = served
            dropped = self._replies.pop(match.namespace, {})
            self._reply_bytes -= sum(_REPLY_BYTES + len(each.head) for each in dropped.values())
            self._replies[match.namespace] = {}
        answers = self._replies[match.namespace]
        key = (*plain, etag_matches(project.version, head.if_none_match), head.gzip)
        found = answers.get(key)
        if found is None:
            found = self._build(project, match, plain, head)
            # Compressed bodies are held by `CompressionCache` alone, which counts their bytes.
            if found and not _is_compressed(found.reply):
                self._keep(match.namespace, key, found)
        return found

    def _keep(self, namespace: str, key: tuple[str, str, bool, bool], found: CachedReply) -> None:
        """Keep a response; if they take too many bytes, drop all: callers choose the windows, and so the number of them.

        The list in a response is a view of the memory map, and takes nothing.
        """
        self._reply_bytes += _REPLY_BYTES + len(found.head)
        if self._reply_bytes > _MAX_BYTES:
            self._replies, self._served = {namespace: {}}, {namespace: self._served[namespace]}
            self._reply_bytes = _REPLY_BYTES + len(found.head)
        self._replies[namespace][key] = found

    def _build(self, project: LiveProject, match: _RouteMatch, plain: "_Plain", head: _Head) -> CachedReply | None:
        reply = self._reply(project, match, plain, head)
        if reply is None:
            return None
        reply = without_etag(reply) if match.is_compat else reply
        parts = tuple(part for part in reply.body if not isinstance(part, Splice))
        return CachedReply(reply, head_of(reply), reply.size, parts if len(parts) == len(reply.body) else ())

    def _reply(self, found: LiveProject, match: _RouteMatch, plain: "_Plain", head: _Head) -> Reply | None:
        served_version, conditional_get = (
            ServedVersion(found.version, found.number, found.release, is_canonical=match.is_compat),
            ConditionalGet(plain.path, head.if_none_match, head.gzip),
        )
        if match.endpoint == "version":
            if plain.query:
                return None
            return number_reply(served_version) if match.is_compat else version_reply(served_version, conditional_get)
        window, kind = _read_window(plain.query), _KINDS[match.endpoint]
        if window is None or (
            conditional_get.gzip and needs_compression(served_version, kind, window, self._compressed)
        ):
            return None
        return list_reply(served_version, kind, window, conditional_get, self._compressed)


class _Plain(NamedTuple):
    """The path and query of a plain request."""

    path: str
    query: str


def _join(reply: Reply) -> tuple[bytes | memoryview, ...]:
    return tuple(join_splices(reply.body)) if reply.size <= ONE_PIECE else ()


def _is_compressed(reply: Reply) -> bool:
    return any(name == "content-encoding" for name, _ in reply.headers)


def head_of(reply: Reply) -> bytes:
    """Return the beginning of a response, without the lines of a single request."""
    size = () if reply.status == _NOT_MODIFIED else (("content-length", str(reply.size)),)
    headers = (*reply.headers, *COMMON_HEADERS, *size)
    lines = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def _read_head(headers: Headers) -> _Head | None:
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _PLAIN:
            if name in found:
                return None
            found[name] = value
        elif name in _NOT_PLAIN:
            return None
    bearer, host, etag = found.get(b"authorization"), found.get(b"host"), found.get(b"if-none-match")
    if bearer is None or host is None or not bearer.startswith(BEARER) or not is_host(host.decode("latin-1")):
        return None
    gzip = accepts_gzip(found.get(b"accept-encoding", b"").decode("latin-1"))
    return _Head(bearer, None if etag is None else etag.decode("latin-1"), gzip)


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
