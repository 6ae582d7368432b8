"""The express lane: what agents ask all day, answered in front of the framework.

`GET …/version`, `…/redirects` and `…/pages` with an API token are a `stat` or two, a few look-ups and a slice of a
memory map. Whatever is not plain (another parameter, no valid token, release moved, an error) is left to the framework,
which answers the same by the same `replies`, in its own time; a test holds both to that.
"""

from collections.abc import Mapping
from itertools import count
from os import urandom
from time import perf_counter
from typing import Any, NamedTuple

from api import logs
from api.compression import Compressed, accepts_gzip
from api.identity.directory import Directory
from api.identity.principal import Principal
from api.parameters import DEFAULT_LIMIT, Window
from api.replies import Asked, Reply, State, is_known, list_reply, needs_compression, version_reply
from api.tally import Tally
from content.vocabulary import Kind
from gitstore.live import Live, LiveNamespace, LiveProject

_READS = (("redirect", "read"), ("page", "read"), ("agent", "read"), ("project", "read"))
_NEEDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "version": _READS,
    "redirects": (("redirect", "read"),),
    "pages": (("page", "read"),),
}
_ROUTES = {what: f"/api/namespace/{{namespace}}/project/{{project}}/{what}" for what in _NEEDS}
_KINDS = {kind.value: kind for kind in Kind}
_NOT_PLAIN = frozenset({b"prefer", b"x-request-id", b"expect", b"content-length", b"transfer-encoding"})
_BEARER = b"Bearer "
_SEGMENTS = 7
_LONGEST_NUMBER = 9
_MOST_KEPT = 2_000
_NOT_MODIFIED = 304
_ONE_PIECE = 512 * 1024


class _Head(NamedTuple):
    """The headers of a plain request."""

    bearer: str
    known: str | None
    gzip: bool


class _Plain(NamedTuple):
    """What a plain request asks for."""

    path: str
    namespace: str
    project: str
    what: str
    query: bytes


class Answer(NamedTuple):
    """An answer to be sent; its headers as the server wants them, those of the reply among them."""

    reply: Reply
    headers: list[tuple[bytes, bytes]]


class Express:
    """Answers plain reads of one worker; `answer` gives None for what the framework has to answer."""

    def __init__(self, directory: Directory, live: Live, compressed: Compressed, tally: Tally) -> None:
        self._directory = directory
        self._live = live
        self._compressed = compressed
        self._tally = tally
        self._allowed: dict[tuple[str, str, str, str], Principal] = {}
        self._for: dict[str, LiveNamespace] = {}
        self._answers: dict[str, dict[tuple[str, bytes, bool, bool], Answer]] = {}
        self._prefix = urandom(4).hex().encode()
        self._count = count()

    def answer(self, scope: Mapping[str, Any]) -> Answer | None:
        """The whole answer to a request, from memory alone."""
        begun = perf_counter()
        path: str = scope["path"]
        segments = path.split("/")
        if len(segments) != _SEGMENTS or segments[6] not in _NEEDS or logs.tells_all():
            return None
        _, api, scope_word, namespace, project_word, project, what = segments
        if api != "api" or scope_word != "namespace" or project_word != "project" or b"%" in scope["raw_path"]:
            return None  # what is encoded may be a slash; no name needs it
        head = _read_head(scope["headers"])
        if head is None or not self._may(head.bearer, namespace, project, what):
            return None
        served = self._live.peek(namespace)
        if served is None:
            return None
        found = self._prepared(served, _Plain(path, namespace, project, what, scope["query_string"]), head)
        if found is None:
            return None
        self._tally.add_request(_ROUTES[what], "GET", found.reply.status, perf_counter() - begun)
        return Answer(found.reply, [*found.headers, (b"x-request-id", self._next_id())])

    def _next_id(self) -> bytes:
        """An id that no other request has: counting is four times as quick as drawing lots."""
        return b"%b%08x" % (self._prefix, next(self._count))

    def _prepared(self, served: LiveNamespace, asked: _Plain, head: _Head) -> Answer | None:
        """The answer, put together once for as long as the namespace is served as it is."""
        project = served.projects.get(asked.project)
        if project is None:
            return None
        if self._for.get(asked.namespace) is not served:
            self._for[asked.namespace], self._answers[asked.namespace] = served, {}
        answers = self._answers[asked.namespace]
        key = (asked.path, asked.query, is_known(project.version, head.known), head.gzip)
        found = answers.get(key)
        if found is None:
            found = self._prepare(project, asked, head)
            # What is compressed is kept by `Compressed` alone, which counts its bytes.
            if found and not head.gzip and len(answers) < _MOST_KEPT:
                answers[key] = found
        return found

    def _prepare(self, project: LiveProject, asked: _Plain, head: _Head) -> Answer | None:
        reply = self._reply(project, asked, Asked(asked.path, head.known, head.gzip))
        if reply is None:
            return None
        own = (("x-content-type-options", "nosniff"), ("content-length", str(reply.size)))
        headers = (*reply.headers, *(own if reply.status != _NOT_MODIFIED else own[:1]))
        return Answer(reply, [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers])

    def _reply(self, found: LiveProject, plain: _Plain, asked: Asked) -> Reply | None:
        state = State(found.version, found.number, found.release)
        if plain.what == "version":
            return version_reply(state, asked) if not plain.query else None
        window, kind = _read_window(plain.query), _KINDS[plain.what]
        if window is None or (asked.gzip and needs_compression(state, kind, window, self._compressed)):
            return None
        return list_reply(state, kind, window, asked, self._compressed)

    def _may(self, bearer: str, namespace: str, project: str, what: str) -> bool:
        """Tell whether an API token is good for this; the grants are looked through once a principal."""
        principal = self._directory.admit(bearer)
        if principal is None:
            return False
        key = (bearer, namespace, project, what)
        if self._allowed.get(key) is principal:
            return True
        if not any(principal.may(resource, action, namespace, project) for resource, action in _NEEDS[what]):
            return False
        if len(self._allowed) >= _MOST_KEPT:
            self._allowed.clear()
        self._allowed[key] = principal
        return True


def _read_head(headers: list[tuple[bytes, bytes]]) -> _Head | None:
    bearer, known, encodings = None, None, None
    for name, value in headers:
        if name == b"authorization":
            if bearer is not None:
                return None
            bearer = value
        elif name == b"if-none-match":
            if known is not None:
                return None
            known = value
        elif name == b"accept-encoding":
            if encodings is not None:
                return None
            encodings = value.decode("latin-1")
        elif name in _NOT_PLAIN:
            return None
    if bearer is None or not bearer.startswith(_BEARER):
        return None
    token = bearer[len(_BEARER) :].decode("latin-1")
    return _Head(token, known.decode("latin-1") if known is not None else None, accepts_gzip(encodings))


def _read_window(query: bytes) -> Window | None:
    """The window of a plain query: nothing but `limit` and `offset`, once each, in plain digits."""
    if not query:
        return Window(DEFAULT_LIMIT, 0)
    found: dict[bytes, int] = {}
    for part in query.split(b"&"):
        name, _, number = part.partition(b"=")
        if name not in {b"limit", b"offset"} or name in found or not number.isdigit() or len(number) > _LONGEST_NUMBER:
            return None
        found[name] = int(number)
    return Window(found.get(b"limit", DEFAULT_LIMIT), found.get(b"offset", 0))


async def send_answer(answer: Answer, send: Any) -> None:
    """Send an answer as ASGI events."""
    reply = answer.reply
    await send({"type": "http.response.start", "status": reply.status, "headers": answer.headers})
    if reply.size <= _ONE_PIECE:
        await send({"type": "http.response.body", "body": b"".join(reply.body)})
        return
    for piece in reply.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
