"""Callers as Git knows them."""

from falcon.asgi import Request

from api.access import principal_of
from gitstore.repository import Author


def author_of(req: Request) -> Author:
    """The caller as the author of a commit."""
    principal = principal_of(req)
    return Author(principal.display_name, principal.email)
