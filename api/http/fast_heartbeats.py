"""Heartbeats of agents, answered ahead of the framework: a hundred thousand agents send 3,333 a second.

`PATCH …/agents/{name}/hit` without a body, with an API token, is a few look-ups in memory and an entry among the pending
heartbeats. All others (an unknown project, a full one, a token without the grant, a name like a token) are left to the framework, which
answers the same; a test compares both.
"""

from collections.abc import Callable
from itertools import count
from os import urandom
from time import perf_counter

from api import logs
from api.auth.directory import AdmittedToken, IdentityCache
from api.auth.tokens.api_token import PREFIX
from api.data.served_data import ServedData
from api.http.compat import BASE
from api.http.fast_path import BEARER, CachedReply, Headers, PreparedResponse, head_of
from api.http.request.host import is_host
from api.http.response.replies import Reply
from api.metrics.counters import Counters
from content.records.names import is_agent_name
from gitstore.history.live import Live

_PATH = "/api/namespace/"
_COMPAT_PATH = BASE + _PATH
_ROUTE = "/api/namespace/{namespace}/project/{project}/agents/{name}/hit"
_ONCE = frozenset({b"authorization", b"host", b"content-length"})
_NOT_PLAIN = frozenset({b"x-request-id", b"expect", b"transfer-encoding"})
_SEGMENTS = 9
_WORDS = ["project", "agents", "hit"]
_MAX_CALLERS = 10_000
_GRANT = ("agent", "write")
_OK = 200


class FastHeartbeats:
    """The plain heartbeats of one worker; `note` records one, and tells whether it could."""

    def __init__(
        self,
        directory: IdentityCache,
        live: Live,
        note: Callable[[str, str, str], bool],
        counters: Counters,
        data: ServedData | None = None,
    ) -> None:
        self._directory = directory
        self._live = live
        self._note = note
        self._counters = counters
        self._data = data
        self._callers: dict[tuple[bytes, str, str], AdmittedToken] = {}
        reply = Reply(_OK, (("cache-control", "no-store"), ("content-type", "application/json")), ())
        self._answer = CachedReply(reply, head_of(reply), 0)
        self._prefix = urandom(4).hex().encode()
        self._count = count()

    def answer(self, path: str, raw_path: bytes, query: str, headers: Headers) -> PreparedResponse | None:
        """Record the heartbeat of a PATCH, and return its response; `path` is decoded, header names are in lower case."""
        begun = perf_counter()
        is_compat = path.startswith(_COMPAT_PATH)
        if query or b"%" in raw_path or logs.is_debug_enabled() or not (is_compat or path.startswith(_PATH)):
            return None
        if self._data is not None and self._data.fault is not None:
            return None
        authorization = _read_authorization(headers)
        found = path[len(BASE) if is_compat else 0 :].split("/")
        if authorization is None or len(found) != _SEGMENTS or found[4::2] != _WORDS:
            return None
        namespace, project, name = found[3], found[5], found[7]
        served = self._live.peek(namespace) if self._may_report(authorization, namespace, project) else None
        if served is None or project not in served.projects or not is_agent_name(name) or PREFIX in name:
            return None
        if not self._note(namespace, project, name):
            return None
        self._counters.add_request((BASE if is_compat else "") + _ROUTE, "PATCH", _OK, perf_counter() - begun)
        return PreparedResponse(self._answer, b"x-request-id: %b%08x\r\n" % (self._prefix, next(self._count)))

    def _may_report(self, authorization: bytes, namespace: str, project: str) -> bool:
        """Tell whether a live token has the grant; the hash and the grants of one are checked once for a project."""
        key = authorization, namespace, project
        known = self._callers.get(key)
        if known is not None and self._directory.is_admitted(known):
            return True
        caller = self._directory.admit(authorization[len(BEARER) :].decode("latin-1"))
        if caller is None or not caller.entry.principal.can(*_GRANT, namespace, project):
            return False
        if len(self._callers) >= _MAX_CALLERS:
            self._callers.clear()
        self._callers[key] = caller
        return True


def _read_authorization(headers: Headers) -> bytes | None:
    """Return the bearer of a plain request without a body; None for any other request."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _NOT_PLAIN or (name in _ONCE and name in found):
            return None
        if name in _ONCE:
            found[name] = value
    bearer, host = found.get(b"authorization"), found.get(b"host")
    if bearer is None or host is None or found.get(b"content-length", b"0") != b"0" or not bearer.startswith(BEARER):
        return None
    return bearer if is_host(host.decode("latin-1")) else None
