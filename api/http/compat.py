"""Requests of agents that were written for an older service: their base URL and their replies."""

from api.http.response.replies import Reply

BASE = "/compat/flecto"


def without_etag(reply: Reply) -> Reply:
    """Return the reply without an ETag, since these endpoints ignore If-None-Match."""
    return reply._replace(headers=tuple(header for header in reply.headers if header[0] != "etag"))
