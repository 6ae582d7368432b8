"""The contract as it is served: the OpenAPI document and the JSON Schemas."""

from functools import cache
from hashlib import sha256

from falcon.asgi import Request, Response

import schemas
from api.access import public
from api.errors import not_found

_SUFFIX = ".schema.json"
_CACHE = "public, max-age=300"


class Contract:
    """The OpenAPI document."""

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """The document as JSON, or 304."""
        serve_document(req, resp, schemas.openapi_bytes(), "application/json")


class Schemas:
    """The JSON Schemas, for editors and for those who check before they send."""

    @public
    async def on_get(self, req: Request, resp: Response, name: str) -> None:
        """A schema by its name, with or without `.schema.json`; or 304."""
        known = name.removesuffix(_SUFFIX)
        if known not in schemas.names():
            raise not_found(f"There is no such schema; there are: {', '.join(schemas.names())}.")
        serve_document(req, resp, schemas.schema_bytes(known), "application/schema+json")


def serve_document(req: Request, resp: Response, body: bytes, media_type: str) -> None:
    """Answer with a document, or with 304 to one who has it."""
    etag = _etag(body)
    resp.set_header("ETag", etag)
    resp.set_header("Cache-Control", _CACHE)
    if matches(req, etag):
        resp.status = 304
        return
    resp.content_type = media_type
    resp.data = body


def matches(req: Request, etag: str) -> bool:
    """Tell whether If-None-Match names this entity tag (or `*`); compared weakly, as RFC 9110 13.1.2 asks."""
    header = req.get_header("If-None-Match")
    if not header:
        return False
    given = {part.strip().removeprefix("W/") for part in header.split(",")}
    return "*" in given or etag.removeprefix("W/") in given


@cache
def _etag(body: bytes) -> str:
    return f'"{sha256(body).hexdigest()[:32]}"'
