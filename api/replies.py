"""The answers that agents read: the version of a project and windows of its lists, as headers and slices.

One place for the framework's responders and for the express lane in front of it, so that both answer the same.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from api import wire
from api.compression import MIN_SIZE, Compressed
from api.parameters import Window
from content.vocabulary import Kind
from gitstore.release import Release

Headers = tuple[tuple[str, str], ...]

STANDING: Headers = (("x-content-type-options", "nosniff"), ("server", "waypost"))
"""What every answer bears."""
REVALIDATE = "private, no-cache"
IMMUTABLE = "private, max-age=31536000, immutable"
_JSON = "application/json"
_VARY = "Authorization, Accept-Encoding"
_GZIP = "gzip"
_CHUNK = 512 * 1024
"""Bytes that are handed over at a time; the server copies what it is handed, and smaller copies stay in the cache."""


class State(NamedTuple):
    """A version of a project whose lists are asked for; `cache` is the Cache-Control of what is said of it."""

    version: str
    number: int
    release: Release
    cache: str = REVALIDATE


class Asked(NamedTuple):
    """What of a request matters here: the path, If-None-Match (None: not sent), and whether gzip is welcome."""

    path: str
    known: str | None = None
    gzip: bool = False


class Reply(NamedTuple):
    """A whole answer; the body is in pieces, to be sent one after another."""

    status: int
    headers: Headers
    body: tuple[bytes | memoryview, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return sum(map(len, self.body))

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The body in pieces of a bounded size."""
        for part in self.body:
            for at in range(0, len(part), _CHUNK):
                yield part[at : at + _CHUNK]


def version_reply(state: State, asked: Asked) -> Reply:
    """The version as a JSON string, or 304."""
    headers = _headers(state, f'"{state.version}"')
    if is_known(state.version, asked.known):
        return Reply(304, headers)
    return Reply(200, (*headers, ("content-type", _JSON)), (b'"%b"' % state.version.encode(),))


def number_reply(state: State) -> Reply:
    """The publish number as a bare JSON integer, whatever the caller has."""
    return Reply(200, (*_headers(state, f'"{state.version}"'), ("content-type", _JSON)), (b"%d" % state.number,))


def manifest_reply(state: State, time: float, asked: Asked) -> Reply:
    """What the version holds, with its digests, or 304; `time` is when it was published, in seconds since 1970."""
    headers = _headers(state, f'"{state.version}"')
    if is_known(state.version, asked.known):
        return Reply(304, headers)
    body = {"version": state.version, "publishNumber": state.number, "publishedAt": wire.moment(time)}
    digests = {kind.value: _digest(state.release, kind) for kind in Kind}
    return Reply(200, (*headers, ("content-type", _JSON)), (orjson.dumps({**body, **digests}),))


def list_reply(state: State, kind: Kind, window: Window, asked: Asked, compressed: Compressed) -> Reply:
    """A window of a list in the envelope, or 304; gzip only where it is compressed already."""
    parts = window_body(state.release, kind, window)
    squeezed = compressed.get(state.release, kind, window) if asked.gzip and _size(parts) >= MIN_SIZE else None
    etag = f'"{state.version}-gzip"' if squeezed else f'"{state.version}"'
    headers = (*_headers(state, etag), *_next_link(state, kind, window, asked.path))
    if is_known(state.version, asked.known):
        return Reply(304, headers)
    if squeezed:
        return Reply(200, (*headers, ("content-type", _JSON), ("content-encoding", _GZIP)), (squeezed,))
    return Reply(200, (*headers, ("content-type", _JSON)), parts)


def window_body(release: Release, kind: Kind, window: Window) -> tuple[bytes | memoryview, ...]:
    """The envelope round a slice of the memory map; its numbers come first, so that only two short pieces are made."""
    listing = release.listings[kind]
    items, _ = listing.window(window.offset, window.limit)
    head = b'{"total":%d,"limit":%d,"offset":%d,"items":[' % (listing.total, window.limit, window.offset)
    return head, items, b"]}"


def needs_compression(state: State, kind: Kind, window: Window, compressed: Compressed) -> bool:
    """Tell whether the window is worth compressing, and nobody has done it yet."""
    if compressed.get(state.release, kind, window) is not None:
        return False
    return _size(window_body(state.release, kind, window)) >= MIN_SIZE


def is_known(version: str, known: str | None) -> bool:
    """Tell whether If-None-Match names this version, in whichever encoding; compared weakly (RFC 9110 13.1.2)."""
    if not known:
        return False
    if known == f'"{version}"':
        return True
    given = {part.strip().removeprefix("W/").strip('"').removesuffix("-gzip") for part in known.split(",")}
    return version in given or "*" in given


def _digest(release: Release, kind: Kind) -> dict[str, Any]:
    listing = release.listings[kind]
    return {"total": listing.total, "sha256": listing.sha256}


def _size(parts: Sequence[bytes | memoryview]) -> int:
    return sum(map(len, parts))


def _headers(state: State, etag: str) -> Headers:
    return (
        ("etag", etag),
        ("cache-control", state.cache),
        ("vary", _VARY),
        ("x-project-version", state.version),
        ("x-publish-number", str(state.number)),
    )


def _next_link(state: State, kind: Kind, window: Window, path: str) -> Headers:
    """Where more items exist, say where, pinned to this version: a walk never mixes two."""
    following = window.offset + window.limit
    if not window.limit or following >= state.release.listings[kind].total:
        return ()
    pinned = "" if state.cache is IMMUTABLE else f"&version={state.version}"
    return (("link", f'<{path}?limit={window.limit}&offset={following}{pinned}>; rel="next"'),)
