"""Prepared replies for agents: the version of a project and windows of its lists, as headers and slices.

The responders and the fast path in front of the framework share this module, so that both give the same response.
"""

from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import orjson

from api.http.request.parameters import Window
from api.http.response import json_views
from api.http.response.compression import MIN_SIZE, CompressionCache
from content.records.vocabulary import Kind
from gitstore.compiled.releases.canonical_list import Splice
from gitstore.compiled.releases.release import Listing, Release

Headers = tuple[tuple[str, str], ...]
Body = tuple[bytes | memoryview | Splice, ...]

# The headers of every response.
COMMON_HEADERS: Headers = (("x-content-type-options", "nosniff"), ("server", "waypost"))
REVALIDATE = "private, no-cache"
IMMUTABLE = "private, max-age=31536000, immutable"
_JSON = "application/json"
_VARY = "Authorization, Accept-Encoding"
_GZIP = "gzip"
_CHUNK = 512 * 1024  # bytes per write; the server copies each piece, and copies of this size fit the CPU cache

_JOINED = 64 * 1024  # a copy of so many bytes is cheaper than another write


class ServedVersion(NamedTuple):
    """A version of a project to respond with, and the Cache-Control of the response; lists as written or canonical."""

    version: str
    number: int
    release: Release
    cache_control: str = REVALIDATE
    is_canonical: bool = False

    def listing(self, kind: Kind) -> Listing:
        """Return one of the lists to respond with."""
        return (self.release.canonical_listings if self.is_canonical else self.release.listings)[kind]


class NamedVersion(Protocol):
    """The version that the headers of a reply name."""

    @property
    def version(self) -> str:
        """The SHA."""

    @property
    def number(self) -> int:
        """The publish number."""

    @property
    def cache_control(self) -> str:
        """The Cache-Control of the reply."""


class ConditionalGet(NamedTuple):
    """The parts of a request that a reply depends on; `if_none_match` is None if it was not sent."""

    path: str
    if_none_match: str | None = None
    gzip: bool = False


class Reply(NamedTuple):
    """A complete response; the body is a sequence of pieces, of which a splice has yet to be joined."""

    status: int
    headers: Headers
    body: Body = ()

    @property
    def size(self) -> int:
        """The size of the body in bytes."""
        return sum(map(len, self.body))

    def pieces(self) -> Iterator[bytes | memoryview]:
        """Yield the body in pieces of at most 512 KiB; small parts that follow each other are joined."""
        held, size = list[bytes | memoryview](), 0
        for part in join_splices(self.body):
            if held and size + len(part) > _JOINED:
                yield b"".join(held)
                held, size = [], 0
            if len(part) > _JOINED:
                yield from (part[at : at + _CHUNK] for at in range(0, len(part), _CHUNK))
            else:
                held, size = [*held, part], size + len(part)
        if held:
            yield b"".join(held)


def join_splices(body: Body) -> Iterator[bytes | memoryview]:
    """Yield the parts of a body, with splices joined in pieces of about 256 KiB."""
    for part in body:
        if isinstance(part, Splice):
            yield from part.pieces(_CHUNK // 2)  # one piece more is cheaper than a copy to divide one
        else:
            yield part


def version_reply(served_version: ServedVersion, conditional_get: ConditionalGet) -> Reply:
    """Return the version as a JSON string, or 304."""
    headers = version_headers(served_version, f'"{served_version.version}"')
    if etag_matches(served_version.version, conditional_get.if_none_match):
        return Reply(304, headers)
    return Reply(200, (*headers, ("content-type", _JSON)), (b'"%b"' % served_version.version.encode(),))


def number_reply(served_version: ServedVersion) -> Reply:
    """Return the publish number as a bare JSON integer; never 304."""
    return Reply(
        200,
        (*version_headers(served_version, f'"{served_version.version}"'), ("content-type", _JSON)),
        (b"%d" % served_version.number,),
    )


class Digests(StrEnum):
    """The digests of a manifest: of each list as a whole, or of its runs, or both."""

    ALL = "all"
    LIST = "list"
    RUNS = "runs"

    @property
    def tag(self) -> str:
        """The end of the entity tag."""
        return "" if self is Digests.ALL else f"-{self}"

    @property
    def names(self) -> tuple[str, ...]:
        """The properties of a list that have them."""
        return {Digests.ALL: ("sha256", "runs_sha256"), Digests.LIST: ("sha256",), Digests.RUNS: ("runs_sha256",)}[self]


def manifest_reply(
    served_version: ServedVersion,
    time: float,
    conditional_get: ConditionalGet,
    shown: Digests,
    place: tuple[str, str],
) -> Reply:
    """Return the version's totals and digests, or 304; `time` is that of the publish, in seconds since 1970.

    `place` is the namespace and the project, so that the manifest of one cannot pass for that of another.
    """
    tag = f"{served_version.version}{shown.tag}"
    headers = version_headers(served_version, f'"{tag}"')
    if etag_matches(tag, conditional_get.if_none_match):
        return Reply(304, headers)
    body = {
        "namespace": place[0],
        "project": place[1],
        "version": served_version.version,
        "publishNumber": served_version.number,
        "publishedAt": json_views.dump_timestamp(time),
    }
    digests = {kind.value: _digest(served_version.release, kind, shown) for kind in Kind}
    return Reply(200, (*headers, ("content-type", _JSON)), (orjson.dumps({**body, **digests}),))


def list_reply(
    served_version: ServedVersion,
    kind: Kind,
    window: Window,
    conditional_get: ConditionalGet,
    compressed: CompressionCache,
) -> Reply:
    """Return a window of a list in its envelope, or 304; gzipped only if the compressed window is cached."""
    listing = served_version.listing(kind)
    parts = window_body(listing, window)
    compressed_body = compressed.get(listing, window) if conditional_get.gzip and _size(parts) >= MIN_SIZE else None
    etag = f'"{served_version.version}-gzip"' if compressed_body else f'"{served_version.version}"'
    headers = (*version_headers(served_version, etag), *_next_link(served_version, kind, window, conditional_get.path))
    if etag_matches(served_version.version, conditional_get.if_none_match):
        return Reply(304, headers)
    if compressed_body:
        return Reply(200, (*headers, ("content-type", _JSON), ("content-encoding", _GZIP)), (compressed_body,))
    return Reply(200, (*headers, ("content-type", _JSON)), parts)


def window_body(listing: Listing, window: Window) -> Body:
    """Return the envelope around slices of the memory maps; numbers come first, so only two short pieces are built."""
    parts, _ = listing.window(window.offset, window.limit)
    head = b'{"total":%d,"limit":%d,"offset":%d,"items":[' % (listing.total, window.limit, window.offset)
    return (head, *parts, b"]}")


def needs_compression(served_version: ServedVersion, kind: Kind, window: Window, compressed: CompressionCache) -> bool:
    """Tell whether the window is worth compressing and not cached yet."""
    listing = served_version.listing(kind)
    if compressed.get(listing, window) is not None:
        return False
    return _size(window_body(listing, window)) >= MIN_SIZE


def etag_matches(version: str, if_none_match: str | None) -> bool:
    """Tell whether If-None-Match names this version, in any encoding; compared weakly (RFC 9110 13.1.2)."""
    if not if_none_match:
        return False
    if if_none_match == f'"{version}"':
        return True
    given = {part.strip().removeprefix("W/").strip('"').removesuffix("-gzip") for part in if_none_match.split(",")}
    return version in given or "*" in given


def _digest(release: Release, kind: Kind, shown: Digests) -> dict[str, Any]:
    listing = release.listings[kind]
    of_list = {"sha256": listing.sha256} if shown is not Digests.RUNS else {}
    runs = [asdict(run) for run in listing.runs] if shown is not Digests.LIST else []
    of_runs = {"runs": runs, "runsSha256": listing.runs_sha256} if shown is not Digests.LIST else {}
    return {"total": listing.total, **of_list, **of_runs}


def _size(parts: Body) -> int:
    return sum(map(len, parts))


def version_headers(served_version: NamedVersion, etag: str) -> Headers:
    """Return the headers of a reply that has the content of a version."""
    return (
        ("etag", etag),
        ("cache-control", served_version.cache_control),
        ("vary", _VARY),
        ("x-project-version", served_version.version),
        ("x-publish-number", str(served_version.number)),
    )


def _next_link(served_version: ServedVersion, kind: Kind, window: Window, path: str) -> Headers:
    """Return the Link header to the next window, pinned to this version so that a paged read never mixes two."""
    following = window.offset + window.limit
    if not window.limit or following >= served_version.release.listings[kind].total:
        return ()
    pinned = "" if served_version.cache_control is IMMUTABLE else f"&version={served_version.version}"
    return (("link", f'<{path}?limit={window.limit}&offset={following}{pinned}>; rel="next"'),)
