"""The header If-Match: the etag that a resource must still have for a change to be made."""

import re

from falcon.asgi import Request

from api.errors import ApiError

_TAG = re.compile('"([^"]+)"')


def read_if_match(req: Request) -> str:
    """Read the etag of If-Match; empty if there is none, or for `*`, which matches any."""
    header = req.get_header("If-Match", default="*").strip()
    if header == "*":
        return ""
    tag = _TAG.fullmatch(header)
    if tag:
        return tag.group(1)
    raise ApiError(400, "bad_header", 'If-Match must be one etag in quotes, such as "0123456789abcdef".')
