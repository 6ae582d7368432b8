"""What agents read: the version of a project and its published lists, straight from the memory map."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from falcon.asgi import Request, Response

from api.access import grants_item, reads_project
from api.background import in_thread
from api.compression import Compressed, accepts_gzip
from api.parameters import Window, read_text, read_window
from api.replies import (
    IMMUTABLE,
    Asked,
    Reply,
    State,
    is_known,
    list_reply,
    needs_compression,
    version_reply,
    window_body,
)
from api.served import Served
from api.waiting import Waiting, read_wait
from content.diff import item_kind
from content.vocabulary import Kind
from gitstore.store import Store


class VersionResource:
    """The version of a project."""

    def __init__(self, served: Served, waiting: Waiting) -> None:
        self._served = served
        self._waiting = waiting

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """The version as a JSON string, or 304; with `Prefer: wait=<s>`, 304 only after so many seconds."""
        asked, seconds = read_asked(req), read_wait(req.get_header("Prefer"))
        found = await self._served.project(namespace, project)
        if seconds and is_known(found.version, asked.known):
            req.context.waited = await self._waiting.wait(namespace, project, found.version, seconds)
            found = await self._served.project(namespace, project)
        if seconds:
            resp.set_header("Preference-Applied", f"wait={seconds}")
        write_reply(resp, version_reply(State(found.version, found.number, found.release), asked))


class _List:
    """What lists of a kind share: writing a window of a state, compressed for those who ask."""

    def __init__(self, served: Served, store: Store, kind: Kind, compressed: Compressed) -> None:
        self._served = served
        self._store = store
        self._kind = kind
        self._compressed = compressed
        self.resource_name = item_kind(kind)

    async def _version(self, namespace: str, project: str, word: str, **more: str) -> State:
        version, release = await in_thread(self._store.release, namespace, project, word)
        return State(version.commit, version.number, release, **more)

    def _asked(self, req: Request) -> Asked:
        return read_asked(req)

    async def _write(self, req: Request, resp: Response, state: State, window: Window) -> None:
        asked = self._asked(req)
        if asked.gzip and needs_compression(state, self._kind, window, self._compressed):
            body = window_body(state.release, self._kind, window)
            await in_thread(self._compressed.add, state.release, self._kind, window, body)
        write_reply(resp, list_reply(state, self._kind, window, asked, self._compressed))


class PublishedList(_List):
    """One published list of a project: what is served now, or `?version=`."""

    @grants_item("read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """A window of the list, or 304."""
        window, wanted = read_window(req), read_text(req, "version")
        if wanted is None:
            found = await self._served.project(namespace, project)
            state = State(found.version, found.number, found.release)
        else:
            state = await self._version(namespace, project, wanted)
        await self._write(req, resp, state, window)


class VersionedList(_List):
    """One list of one version, which never changes."""

    @grants_item("read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """A window of the list, or 304."""
        window = read_window(req)
        await self._write(req, resp, await self._version(namespace, project, version, cache=IMMUTABLE), window)


def write_reply(resp: Response, reply: Reply) -> None:
    """Hand a reply to the framework."""
    resp.status = reply.status
    for name, value in reply.headers:
        resp.set_header(name, value)
    if reply.status == HTTPStatus.OK:  # the one status with a body
        resp.content_length = reply.size
        resp.stream = _stream(reply)


async def _stream(reply: Reply) -> AsyncIterator[bytes]:
    for piece in reply.pieces():
        yield bytes(piece)


def read_asked(req: Request) -> Asked:
    """What of a request matters to a reply."""
    return Asked(req.path, req.get_header("If-None-Match"), accepts_gzip(req.get_header("Accept-Encoding")))
