"""The headers If-Match and If-None-Match: the state that a resource must still have for a change to be made."""

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


def read_creates_only(req: Request) -> bool:
    """Tell whether If-None-Match is `*`: the resource must not exist yet. For a change it can be nothing else."""
    header = req.get_header("If-None-Match", default="").strip()
    if header not in {"", "*"}:
        raise ApiError(400, "bad_header", "If-None-Match of a change can only be *, which is: create, replace nothing.")
    return header == "*"
