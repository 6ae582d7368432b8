"""Bodies that may be compressed, as C git sends the longer ones: inflated in pieces, with a limit on the inflated bytes."""

import time
import zlib
from collections.abc import AsyncIterator, Iterator

from falcon.asgi import Request

from api.errors import ApiError, bad_request
from api.http.request.caller_access import check_again

_GZIP = 16 + zlib.MAX_WBITS
_CODINGS = frozenset({"gzip", "x-gzip"})
_PIECE = 1 << 18  # bytes that are inflated at once: a few bytes may inflate to megabytes


async def read_inflated(req: Request, limit: int) -> bytes:
    """Read the whole body, inflated. Errors as for `inflate`; a caller that loses its access meanwhile gets 401 or 404."""
    begun = time.monotonic()
    data = b"".join([piece async for piece in inflate(req, limit)])
    await check_again(req, begun)
    return data


async def inflate(req: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield the pieces of the body, inflated if it has Content-Encoding: gzip.

    413 as soon as they are more than `limit` bytes, 400 for a truncated or damaged body, 415 for another coding.
    """
    pieces = _inflated(req) if _is_compressed(req) else _plain(req)
    count = 0
    async for piece in pieces:
        count += len(piece)
        if count > limit:
            raise ApiError(413, "body_too_large", f"The body is larger than the limit of {limit:,} bytes.")
        yield piece


def _is_compressed(req: Request) -> bool:
    coding = (req.get_header("Content-Encoding") or "identity").strip().lower()
    if coding not in {*_CODINGS, "identity"}:
        message = "Send the body uncompressed, or with Content-Encoding: gzip."
        raise ApiError(415, "unsupported_media_type", message, headers={"Accept-Encoding": "gzip"})
    return coding in _CODINGS


async def _plain(req: Request) -> AsyncIterator[bytes]:
    count = 0
    async for piece in req.stream:
        count += len(piece)
        yield piece
    if req.content_length is not None and count < req.content_length:
        raise bad_request("The body is shorter than its Content-Length.", "truncated_body")


async def _inflated(req: Request) -> AsyncIterator[bytes]:
    inflater, is_empty = zlib.decompressobj(_GZIP), True
    async for piece in _plain(req):
        is_empty = is_empty and not piece
        for found in _inflate_piece(inflater, piece):
            yield found
    if not is_empty and not inflater.eof:
        raise bad_request("The compressed body is truncated.", "truncated_body")


def _inflate_piece(inflater: "zlib._Decompress", piece: bytes) -> Iterator[bytes]:
    left, found = piece, b""
    while left or len(found) == _PIECE:  # the last call may have left bytes to give out
        if inflater.eof:
            if left:
                raise bad_request("The compressed body has more bytes after its end.", "malformed_body")
            return
        try:
            found = inflater.decompress(left, _PIECE)
        except zlib.error as ex:
            raise bad_request("The body is damaged: it cannot be inflated.", "malformed_body") from ex
        yield found
        left = inflater.unconsumed_tail or inflater.unused_data
