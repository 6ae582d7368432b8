"""The router: Falcon's own, which also knows what every responder asks of its caller."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from falcon.routing import CompiledRouter

from api.access import Access, declared


class Undeclared(Exception):
    """A responder does not say who may call it; the service does not start."""


class Route(NamedTuple):
    """A row of the route table: path template, resource, and the suffix of the responders that serve it."""

    template: str
    resource: object
    suffix: str | None = None


class DeclaringRouter(CompiledRouter):
    """Keeps each route's declarations, and answers HEAD wherever there is GET."""

    def __init__(self) -> None:
        super().__init__()
        self._declared: dict[str, dict[str, Access]] = {}

    @property
    def declared(self) -> Mapping[str, Mapping[str, Access]]:
        """By path template and method, what the responder asks of its caller."""
        return self._declared

    def add_route(self, uri_template: str, resource: object, **kwargs: Any) -> None:
        """Add a route; raises Undeclared if one of its responders declares nothing."""
        responders = self.map_http_methods(resource, **kwargs)
        self._declared[uri_template] = {
            method: _declaration(responder, uri_template, method) for method, responder in responders.items()
        }
        super().add_route(uri_template, resource, **kwargs)

    def map_http_methods(self, resource: object, **kwargs: Any) -> dict[str, Any]:
        """The responders of a resource by method; HEAD is served by GET's, whose body Falcon leaves out."""
        found: dict[str, Any] = dict(super().map_http_methods(resource, **kwargs))
        if "GET" in found:
            found.setdefault("HEAD", found["GET"])
        return found


def _declaration(responder: Any, template: str, method: str) -> Access:
    access = declared(responder)
    if access is None:
        raise Undeclared(f"{method} {template} ({responder.__qualname__}) does not declare who may call it.")
    return access
