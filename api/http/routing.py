"""The router: Falcon's, extended by the access declarations of the responders."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from falcon.routing import CompiledRouter

from api.http.guard.access import Access, declared


class UndeclaredAccess(Exception):
    """A responder without an access declaration; the service does not start."""


class Route(NamedTuple):
    """A row of the route table: path template, resource, and the suffix of its responders."""

    template: str
    resource: object
    suffix: str | None = None


class AccessRouter(CompiledRouter):
    """A router that records the access declarations of each route, and serves HEAD wherever GET is served."""

    def __init__(self) -> None:
        super().__init__()
        self._declared: dict[str, dict[str, Access]] = {}

    @property
    def declared(self) -> Mapping[str, Mapping[str, Access]]:
        """The access declarations, by path template and method."""
        return self._declared

    def add_route(self, uri_template: str, resource: object, **kwargs: Any) -> None:
        """Add a route; raises UndeclaredAccess if one of its responders has no declaration."""
        responders = self.map_http_methods(resource, **kwargs)
        self._declared[uri_template] = {
            method: _declaration(responder, uri_template, method) for method, responder in responders.items()
        }
        super().add_route(uri_template, resource, **kwargs)

    def map_http_methods(self, resource: object, **kwargs: Any) -> dict[str, Any]:
        """Return the responders of a resource by method, with GET's for HEAD."""
        found: dict[str, Any] = dict(super().map_http_methods(resource, **kwargs))
        # Falcon 4.4 answers HEAD with 405 unless the resource has on_head, but leaves out the body of every HEAD
        # response by itself: https://github.com/falconry/falcon/blob/master/falcon/asgi/app.py
        if "GET" in found:
            found.setdefault("HEAD", found["GET"])
        return found


def _declaration(responder: Any, template: str, method: str) -> Access:
    access = declared(responder)
    if access is None:
        raise UndeclaredAccess(
            f"{method} {template} ({responder.__qualname__}) declares no access. Add a decorator of access.py."
        )
    return access
