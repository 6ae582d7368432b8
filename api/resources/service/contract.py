"""The contract over HTTP: the OpenAPI document and the JSON Schemas."""

from functools import lru_cache
from hashlib import sha256

from falcon.asgi import Request, Response

import schemas
from api.errors import not_found
from api.http.guard.access import public

_SUFFIX = ".schema.json"
_CACHE = "public, max-age=300"
_MAX_ETAGS = 256  # more than there are documents


class Contract:
    """The OpenAPI document."""

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show the document as JSON, or 304."""
        serve_document(req, resp, schemas.openapi_bytes(), "application/json")


class Schemas:
    """The JSON Schemas, for editors and for clients that validate before they send."""

    @public
    async def on_get(self, req: Request, resp: Response, name: str) -> None:
        """Show a schema by its name, with or without `.schema.json`; or 304."""
        known = name.removesuffix(_SUFFIX)
        if known not in schemas.names():
            raise not_found(f"There is no such schema; the schemas are: {', '.join(schemas.names())}.")
        serve_document(req, resp, schemas.schema_bytes(known), "application/schema+json")


def serve_document(req: Request, resp: Response, body: bytes, media_type: str) -> None:
    """Respond with a document, or with 304 if the client has it."""
    etag = _etag(body)
    resp.set_header("ETag", etag)
    resp.set_header("Cache-Control", _CACHE)
    if matches(req, etag):
        resp.status = 304
        return
    resp.content_type = media_type
    resp.data = body


def matches(req: Request, etag: str) -> bool:
    """Tell whether If-None-Match names this entity tag (or `*`); compared weakly (RFC 9110 13.1.2)."""
    header = req.get_header("If-None-Match")
    if not header:
        return False
    given = {part.strip().removeprefix("W/") for part in header.split(",")}
    return "*" in given or etag.removeprefix("W/") in given


@lru_cache(_MAX_ETAGS)
def _etag(body: bytes) -> str:
    return f'"{sha256(body).hexdigest()[:32]}"'
