"""The reads of agents: the version of a project and its published lists, straight from the memory map."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from falcon.asgi import Request, Response

from api.http.guard.access import grants_item, reads_project
from api.http.request.caller_access import waiting
from api.http.request.parameters import Window, read_text, read_window
from api.http.response.compression import CompressionCache, accepts_gzip
from api.http.response.replies import (
    IMMUTABLE,
    REVALIDATE,
    ConditionalGet,
    Reply,
    ServedVersion,
    etag_matches,
    join_splices,
    list_reply,
    needs_compression,
    version_reply,
    window_body,
)
from api.runtime.jobs.background import run_in_thread
from api.runtime.serving.long_poll import LongPolls, read_wait
from api.runtime.serving.release_loader import ReleaseLoader
from content.changes.diff import item_kind
from content.records.vocabulary import Kind
from gitstore.history.live import LiveProject
from gitstore.store.store import Store


class VersionResource:
    """The version of a project."""

    def __init__(self, releases: ReleaseLoader, long_polls: LongPolls) -> None:
        self._releases = releases
        self._long_polls = long_polls

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the version as a JSON string, or 304; `Prefer: wait=<s>` delays a 304 until a publish or that long."""
        conditional_get, seconds = read_conditional_get(req), read_wait(req.get_header("Prefer"))
        found = await self._releases.project(namespace, project)
        if seconds and etag_matches(found.version, conditional_get.if_none_match):
            async with waiting(req) as ended:
                waited = await self._long_polls.wait(namespace, project, found.version, seconds, ended)
            req.context.seconds_waited = waited
            found = await self._releases.project(namespace, project)
        if seconds:
            resp.set_header("Preference-Applied", f"wait={seconds}")
        write_reply(resp, version_reply(ServedVersion(found.version, found.number, found.release), conditional_get))


class _ListResource:
    """The base of the lists of one kind: writes a window of a version, gzipped if the client accepts that."""

    def __init__(self, releases: ReleaseLoader, store: Store, kind: Kind, compressed: CompressionCache) -> None:
        self._releases = releases
        self._store = store
        self._kind = kind
        self._compressed = compressed
        self.resource_name = item_kind(kind)

    async def _version(self, namespace: str, project: str, word: str, cache_control: str = REVALIDATE) -> ServedVersion:
        version, release = await run_in_thread(self._store.releases.read, namespace, project, word)
        return ServedVersion(version.commit, version.number, release, cache_control)

    def _read_conditional_get(self, req: Request) -> ConditionalGet:
        return read_conditional_get(req)

    async def _write(self, req: Request, resp: Response, served_version: ServedVersion, window: Window) -> None:
        conditional_get = self._read_conditional_get(req)
        if conditional_get.gzip and needs_compression(served_version, self._kind, window, self._compressed):
            listing = served_version.listing(self._kind)
            body = join_splices(window_body(listing, window))
            await run_in_thread(self._compressed.add, listing, window, body)
        write_reply(resp, list_reply(served_version, self._kind, window, conditional_get, self._compressed))


class PublishedList(_ListResource):
    """A published list of a project: of the served version, or of `?version=`."""

    @grants_item("read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the list, or 304."""
        window, wanted = read_window(req), read_text(req, "version")
        if wanted is None:
            found = self._choose(req, window, await self._releases.project(namespace, project))
            served_version = ServedVersion(found.version, found.number, found.release)
        else:
            served_version = await self._version(namespace, project, wanted)
        await self._write(req, resp, served_version, window)

    def _choose(self, _req: Request, _window: Window, current: LiveProject) -> LiveProject:
        return current


class VersionedList(_ListResource):
    """A list of a fixed version; immutable."""

    @grants_item("read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """Show a window of the list, or 304."""
        window = read_window(req)
        await self._write(req, resp, await self._version(namespace, project, version, cache_control=IMMUTABLE), window)


def write_reply(resp: Response, reply: Reply) -> None:
    """Write a reply to the framework's response."""
    resp.status = reply.status
    for name, value in reply.headers:
        resp.set_header(name, value)
    if reply.status == HTTPStatus.OK:  # the only status with a body
        resp.content_length = reply.size
        resp.stream = _stream(reply)


async def _stream(reply: Reply) -> AsyncIterator[bytes]:
    for piece in reply.pieces():
        yield bytes(piece)


def read_conditional_get(req: Request) -> ConditionalGet:
    """Read the parts of a request that a reply depends on."""
    return ConditionalGet(req.path, req.get_header("If-None-Match"), accepts_gzip(req.get_header("Accept-Encoding")))
