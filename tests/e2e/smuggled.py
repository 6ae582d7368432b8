"""Requests with another request hidden in them, which only one of two servers would see as such."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.e2e.front import NAME

HOST = b"Host: " + NAME.encode()
_END = b"\r\n\r\n"
_TERMINATED = b"0" + _END
_LARGEST = 2**64

Body = Callable[[bytes], bytes]


class Names(NamedTuple):
    """The paths of a vector, which are its own, and also the ids of its requests."""

    outer: str
    inner: str
    last: str

    @classmethod
    def of(cls, vector: str) -> "Names":
        """Return the names of a vector."""
        return cls(f"nowhere-{vector}", f"nowhere-{vector}-inner", f"nowhere-{vector}-last")


class Vector(NamedTuple):
    """A request that has a hidden one in its body, which `body` makes; `line` and `fields` are its head.

    `@` is its own path and `!` that of the hidden request, both without a slash; `<size>` is the length of the body, and
    `<overflow>` the same beyond 64 bits.
    """

    fields: tuple[bytes, ...]
    body: Body = bytes
    line: bytes = b"POST /@ HTTP/1.1"
    is_open: bool = False
    """True if the body, as nginx should understand it, never ends: the client closes after the first response."""

    def sent(self, names: Names) -> bytes:
        """Return the bytes that a client sends: the request, and another, which ends the connection."""
        hidden = request(names.inner)
        body = self.body(hidden)
        head = b"\r\n".join((self.line, HOST, b"X-Request-Id: @", *self.fields)) + _END
        values = {b"@": names.outer, b"!": names.inner, b"<size>": len(body), b"<overflow>": _LARGEST + len(body)}
        for mark, value in values.items():
            head = head.replace(mark, str(value).encode())
        return head + body + request(names.last, b"Connection: close")


def request(name: str, *fields: bytes) -> bytes:
    """Return a plain request for a path that does not exist."""
    path = name.encode()
    return b"\r\n".join((b"GET /" + path + b" HTTP/1.1", HOST, b"X-Request-Id: " + path, *fields)) + _END


def chunk(data: bytes) -> bytes:
    """Return a chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunks(hidden: bytes) -> bytes:
    """Return a chunked body that is the hidden request."""
    return chunk(hidden) + _TERMINATED


def _after_end(hidden: bytes) -> bytes:
    """Return a body that ends before the hidden request for a server that takes it as chunked."""
    return _TERMINATED + hidden


SIZE, CHUNKED = b"Content-Length: <size>", b"Transfer-Encoding: chunked"


def _coded(*fields: bytes) -> Vector:
    """Return a vector whose length holds the hidden request, and whose transfer coding ends before it."""
    return Vector((SIZE, *fields), _after_end)


def _sized(*fields: bytes) -> Vector:
    """Return a vector whose fields name lengths, of which one holds the hidden request."""
    return Vector(fields, lambda hidden: b"hello" + hidden)


def _in_chunks(body: Body, *, is_open: bool = False) -> Vector:
    return Vector((CHUNKED,), body, is_open=is_open)


VECTORS: Mapping[str, Vector] = {
    # Both framings, and transfer codings that only one of two servers takes for chunked.
    "length-then-chunked": _coded(CHUNKED),
    "chunked-then-length": Vector((CHUNKED, b"Content-Length: 4"), chunks),
    "unknown-coding": _coded(b"Transfer-Encoding: xchunked"),
    "coding-space-before-colon": _coded(b"Transfer-Encoding : chunked"),
    "coding-tab-before-colon": _coded(b"Transfer-Encoding\t: chunked"),
    "coding-tab-before-value": _coded(b"Transfer-Encoding:\tchunked"),
    "coding-vertical-tab": _coded(b"Transfer-Encoding:\x0bchunked"),
    "coding-mixed-case": _coded(b"tRANSFER-eNCODING: cHUNKED"),
    "coding-quoted": _coded(b'Transfer-Encoding: "chunked"'),
    "coding-parameter": _coded(b"Transfer-Encoding: chunked;q=1"),
    "coding-underscore": _coded(b"Transfer_Encoding: chunked"),
    "coding-nul": _coded(b"Transfer-Encoding: chunked\x00"),
    "coding-twice": _coded(CHUNKED, CHUNKED),
    "coding-then-identity": _coded(CHUNKED, b"Transfer-Encoding: identity"),
    "coding-chunked-identity": _coded(b"Transfer-Encoding: chunked, identity"),
    "coding-identity-chunked": _coded(b"Transfer-Encoding: identity, chunked"),
    "coding-gzip-chunked": _coded(b"Transfer-Encoding: gzip, chunked"),
    "coding-alone-unknown": Vector((b"Transfer-Encoding: xchunked",), chunks),
    "coding-alone-twice": Vector((CHUNKED, CHUNKED), chunks),
    "coding-alone-identity": Vector((b"Transfer-Encoding: chunked, identity",), chunks),
    "coding-dropped-by-connection": Vector((CHUNKED, b"Connection: Transfer-Encoding"), chunks),
    "coding-on-a-folded-line": _coded(b"Transfer-Encoding:\r\n chunked"),
    "coding-in-a-folded-line": _coded(b"X-Long: a\r\n Transfer-Encoding: chunked"),
    "coding-behind-bare-lf": _coded(b"X-Long: a\nTransfer-Encoding: chunked"),
    "coding-behind-bare-cr": _coded(b"X-Long: a\rTransfer-Encoding: chunked"),
    "coding-of-http-1-0": Vector((CHUNKED,), _after_end, b"POST /@ HTTP/1.0"),
    # Lengths.
    "length-twice-the-same": _sized(SIZE, SIZE),
    "length-twice-shorter": _sized(SIZE, b"Content-Length: 5"),
    "length-twice-longer": _sized(b"Content-Length: 5", SIZE),
    "length-list": _sized(b"Content-Length: <size>, <size>"),
    "length-list-shorter": _sized(b"Content-Length: 5,<size>"),
    "length-plus": _sized(b"Content-Length: +<size>"),
    "length-minus": _sized(b"Content-Length: -<size>"),
    "length-hexadecimal": _sized(b"Content-Length: 0x<size>"),
    "length-two-words": _sized(b"Content-Length: 5 <size>"),
    "length-overflow": _sized(b"Content-Length: <overflow>"),
    "length-underscore": _sized(SIZE, b"Content_Length: 5"),
    "length-space-before-colon": _sized(SIZE, b"Content-Length : 5"),
    "length-nul": _sized(SIZE, b"X-Long: a\x00Content-Length: 5"),
    "length-dropped-by-connection": _sized(SIZE, b"Connection: Content-Length"),
    "length-behind-bare-lf": _sized(SIZE, b"X-Long: a\nContent-Length: 5"),
    # Chunks.
    "chunk-extension": _in_chunks(lambda hidden: b"5;name=value\r\nhello\r\n" + chunks(hidden)),
    "chunk-extension-with-a-request": _in_chunks(lambda hidden: b"5;" + hidden + b"hello\r\n" + _TERMINATED),
    "chunk-extension-bare-lf": _in_chunks(lambda hidden: b"5;\nhello\r\n" + chunks(hidden)),
    "chunk-size-with-prefix": _in_chunks(lambda hidden: b"0x5\r\nhello\r\n" + chunks(hidden)),
    "chunk-size-negative": _in_chunks(lambda hidden: b"-5\r\nhello\r\n" + chunks(hidden)),
    "chunk-size-plus": _in_chunks(lambda hidden: b"+5\r\nhello\r\n" + chunks(hidden)),
    "chunk-size-overflow": _in_chunks(lambda hidden: b"10000000000000005\r\nhello\r\n" + chunks(hidden)),
    "chunk-size-garbage": _in_chunks(lambda hidden: b"5 x\r\nhello\r\n" + chunks(hidden)),
    "chunk-longer-than-its-size": _in_chunks(lambda hidden: b"5\r\nhello, you\r\n" + chunks(hidden)),
    "chunk-shorter-than-its-size": _in_chunks(lambda hidden: b"fffff\r\n" + chunks(hidden), is_open=True),
    "chunk-without-line-end": _in_chunks(lambda hidden: b"5\r\nhello" + chunks(hidden)),
    "chunk-lines-bare-lf": _in_chunks(lambda hidden: b"%x\n%b\n0\n\n" % (len(hidden), hidden)),
    "chunk-trailers": _in_chunks(
        lambda hidden: chunk(hidden) + b"0\r\nContent-Length: 5\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
    ),
    "chunk-request-as-trailer": _in_chunks(lambda hidden: b"5\r\nhello\r\n0\r\n" + hidden),
    # Bodies that are a request in whole, of requests that need none, or that ask for more than an answer.
    "body-of-a-post": Vector((SIZE,)),
    "body-of-a-get": Vector((SIZE,), line=b"GET /@ HTTP/1.1"),
    "body-of-a-get-in-chunks": Vector((CHUNKED,), chunks, b"GET /@ HTTP/1.1"),
    "body-of-a-head": Vector((SIZE,), line=b"HEAD /@ HTTP/1.1"),
    "body-of-a-delete": Vector((SIZE,), line=b"DELETE /@ HTTP/1.1"),
    "body-of-an-unknown-method": Vector((SIZE,), line=b"PURGE /@ HTTP/1.1"),
    "body-of-http-1-0": Vector((SIZE, b"Connection: keep-alive"), line=b"POST /@ HTTP/1.0"),
    "body-cut-off": Vector((b"Content-Length: 100000",), is_open=True),
    "body-expected": Vector((SIZE, b"Expect: 100-continue")),
    "body-expected-otherwise": Vector((SIZE, b"Expect: 200-ok")),
    "body-of-an-upgrade-to-h2c": Vector(
        (SIZE, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"),
        lambda hidden: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden,
    ),
    "body-of-a-websocket": Vector(
        (
            *(SIZE, b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13"),
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        ),
        line=b"GET /@ HTTP/1.1",
    ),
    # Targets and lines.
    "target-absolute": Vector((SIZE,), line=b"POST http://evil.example/@ HTTP/1.1"),
    "target-with-encoded-lines": Vector(
        (SIZE,), line=b"POST /@%20HTTP/1.1%0d%0aHost:%20x%0d%0a%0d%0aGET%20/! HTTP/1.1"
    ),
    "target-with-spaces": Vector((SIZE,), line=b"POST /@ HTTP/1.1 GET /! HTTP/1.1"),
    "target-with-bare-cr": Vector((SIZE,), line=b"POST /@\rGET /! HTTP/1.1"),
    "target-with-encoded-nul": Vector((SIZE,), line=b"POST /@%00/! HTTP/1.1"),
    "target-of-connect": Vector((SIZE,), line=b"CONNECT /@ HTTP/1.1"),
    "target-longest": Vector((SIZE,), line=b"POST /@?" + b"x" * 8050 + b" HTTP/1.1"),
    "line-after-empty-ones": Vector((SIZE,), line=b"\r\n\r\nPOST /@ HTTP/1.1"),
    "host-twice": Vector((SIZE, b"Host: evil.example")),
    "field-longest": Vector((SIZE, b"X-Long: " + b"x" * 8170)),
    "fields-too-many": Vector((SIZE, *(b"X-Short: x",) * 150)),
    "field-with-encoded-lines": Vector((SIZE, b"X-Long: a%0d%0a%0d%0aGET /! HTTP/1.1")),
}
