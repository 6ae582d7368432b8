"""The express lane: what agents ask all day, answered in front of the framework.

`GET …/version`, `…/redirects` and `…/pages` with an API token are a `stat` or two, a few look-ups and a slice of a
memory map. Whatever is not plain (another parameter, no valid token, release moved, an error) is left to the framework,
which answers the same by the same `replies`, in its own time; a test holds both to that.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import count
from os import urandom
from time import perf_counter
from typing import NamedTuple

from api import logs
from api.compression import Compressed, accepts_gzip
from api.identity.directory import Directory, Pass
from api.parameters import DEFAULT_LIMIT, Window
from api.replies import STANDING, Asked, Reply, State, is_known, list_reply, needs_compression, version_reply
from api.tally import Tally
from content.vocabulary import Kind
from gitstore.live import Live, LiveNamespace, LiveProject

Headers = Sequence[tuple[bytes, bytes]]

_READS = (("redirect", "read"), ("page", "read"), ("agent", "read"), ("project", "read"))
_NEEDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "version": _READS,
    "redirects": (("redirect", "read"),),
    "pages": (("page", "read"),),
}
_PREFIX = "/api/namespace/"
_ROUTES = {what: f"/api/namespace/{{namespace}}/project/{{project}}/{what}" for what in _NEEDS}
_KINDS = {kind.value: kind for kind in Kind}
_NOT_PLAIN = frozenset({b"prefer", b"x-request-id", b"expect", b"content-length", b"transfer-encoding"})
_BEARER = b"Bearer "
_SEGMENTS = 7
_LONGEST_NUMBER = 9
_MOST_KEPT = 2_000
_MOST_CALLERS = 10_000
_NOT_MODIFIED = 304


class _Head(NamedTuple):
    """The headers of a plain request."""

    authorization: bytes
    known: str | None
    gzip: bool


class _Way(NamedTuple):
    """What a path leads to for a caller who may go there."""

    caller: Pass
    namespace: str
    project: str
    what: str


class Answer(NamedTuple):
    """An answer to be sent: `head` begins an HTTP/1.1 message and has all lines but those of one request alone."""

    reply: Reply
    head: bytes
    size: int


class Told(NamedTuple):
    """An answer, and the line of the one request that it is for."""

    answer: Answer
    line: bytes


class Express:
    """Answers plain reads of one worker; `answer` gives None for what the framework has to answer."""

    def __init__(self, directory: Directory, live: Live, compressed: Compressed, tally: Tally) -> None:
        self._directory = directory
        self._live = live
        self._compressed = compressed
        self._tally = tally
        self._ways: dict[tuple[bytes, str], _Way] = {}
        self._for: dict[str, LiveNamespace] = {}
        self._answers: dict[str, dict[tuple[str, str, bool, bool], Answer]] = {}
        self._prefix = urandom(4).hex().encode()
        self._count = count()

    def answer(self, path: str, raw_path: bytes, query: str, headers: Headers) -> Told | None:
        """The whole answer to a GET, from memory alone; `path` is decoded, the names of headers are in lower case."""
        begun = perf_counter()
        if not path.startswith(_PREFIX) or b"%" in raw_path or logs.tells_all():
            return None  # what is encoded may be a slash; no name needs it
        head = _read_head(headers)
        way = self._way(path, head.authorization) if head else None
        if head is None or way is None:
            return None
        served = self._live.peek(way.namespace)
        found = self._prepared(served, way, _Plain(path, query), head) if served else None
        if found is None:
            return None
        self._keep(way, path, head.authorization)
        self._tally.add_request(_ROUTES[way.what], "GET", found.reply.status, perf_counter() - begun)
        # Counting is four times as quick as drawing lots, and no other request has the id either.
        return Told(found, b"x-request-id: %b%08x\r\n" % (self._prefix, next(self._count)))

    def _way(self, path: str, authorization: bytes) -> _Way | None:
        """Where the path leads, if an API token is good for it; its grants are looked through once."""
        way = self._ways.get((authorization, path))
        return way if way and self._directory.admits(way.caller) else self._find_way(path, authorization)

    def _keep(self, way: _Way, path: str, authorization: bytes) -> None:
        """Remember a way that has led to something: nobody can make others up, to fill the memory."""
        key = (authorization, path)
        if self._ways.get(key) is not way:
            if len(self._ways) >= _MOST_CALLERS:
                self._ways.clear()
            self._ways[key] = way

    def _find_way(self, path: str, authorization: bytes) -> _Way | None:
        segments = path.split("/")
        if len(segments) != _SEGMENTS or segments[4] != "project" or segments[6] not in _NEEDS:
            return None
        _, _, _, namespace, _, project, what = segments
        caller = self._directory.admit(authorization[len(_BEARER) :].decode("latin-1"))
        if caller is None:
            return None
        may = caller.entry.principal.may
        if not any(may(resource, action, namespace, project) for resource, action in _NEEDS[what]):
            return None
        return _Way(caller, namespace, project, what)

    def _prepared(self, served: LiveNamespace, way: _Way, plain: "_Plain", head: _Head) -> Answer | None:
        """The answer, put together once for as long as the namespace is served as it is."""
        project = served.projects.get(way.project)
        if project is None:
            return None
        if self._for.get(way.namespace) is not served:
            self._for[way.namespace], self._answers[way.namespace] = served, {}
        answers = self._answers[way.namespace]
        key = (*plain, is_known(project.version, head.known), head.gzip)
        found = answers.get(key)
        if found is None:
            reply = self._reply(project, way.what, plain, head)
            if reply is None:
                return None
            found = Answer(reply, _head_of(reply), reply.size)
            # What is compressed is kept by `Compressed` alone, which counts its bytes.
            if len(answers) < _MOST_KEPT and not any(name == "content-encoding" for name, _ in reply.headers):
                answers[key] = found
        return found

    def _reply(self, found: LiveProject, what: str, plain: "_Plain", head: _Head) -> Reply | None:
        state, asked = State(found.version, found.number, found.release), Asked(plain.path, head.known, head.gzip)
        if what == "version":
            return version_reply(state, asked) if not plain.query else None
        window, kind = _read_window(plain.query), _KINDS[what]
        if window is None or (asked.gzip and needs_compression(state, kind, window, self._compressed)):
            return None
        return list_reply(state, kind, window, asked, self._compressed)


class _Plain(NamedTuple):
    """What a plain request asks for."""

    path: str
    query: str


def _head_of(reply: Reply) -> bytes:
    size = () if reply.status == _NOT_MODIFIED else (("content-length", str(reply.size)),)
    headers = (*reply.headers, *STANDING, *size)
    lines = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def _read_head(headers: Headers) -> _Head | None:
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
    return _Head(bearer, known.decode("latin-1") if known is not None else None, accepts_gzip(encodings))


def _read_window(query: str) -> Window | None:
    """The window of a plain query: nothing but `limit` and `offset`, once each, in plain digits."""
    found = {"limit": DEFAULT_LIMIT, "offset": 0}
    missing = set(found)
    for part in query.split("&") if query else ():
        name, _, number = part.partition("=")
        if name not in missing or not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_NUMBER:
            return None
        missing.remove(name)
        found[name] = int(number)
    return Window(**found)
