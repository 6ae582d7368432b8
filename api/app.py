"""The application: routes, middleware and error handling put together from the collaborators."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import falcon
import falcon.asgi
import orjson
from falcon.media import Handlers, JSONHandler

from api.collaborators import Collaborators
from api.companions import Companions
from api.edge import Edge
from api.express import Express
from api.forwarding import Forwarding
from api.guard import Guard
from api.handlers import add_handlers
from api.intake import Intake
from api.ledger import DIRECTORY, Ledger
from api.meter import Meter
from api.routes import routes
from api.routing import DeclaringRouter, Route

_BODILESS = frozenset({"GET", "HEAD"})
_JSON_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC


class Service(falcon.asgi.App[Any, Any]):
    """Falcon's application, with every body taken in through `Intake`, within `body_timeout` seconds."""

    body_timeout: float
    forwarding: Forwarding
    meter: Meter
    express: Express | None = None
    """What each connection asks first, before there is a request for `__call__`."""
    leaving: tuple[Callable[[], None], ...] = ()
    """Told as soon as the worker shall end, while its last requests still go on."""

    async def __call__(  # type: ignore[override]  # as Falcon's own: ASGI calls differ from WSGI's
        self, scope: dict[str, Any], receive: Any, send: Any
    ) -> None:
        """Serve one ASGI connection scope."""
        if not scope.get("path", "/").startswith("/"):
            _shorten_target(scope)
        if self.forwarding and scope["type"] == "http":
            self.forwarding.apply(scope)
        if scope["type"] != "http" or scope["method"] in _BODILESS:
            await super().__call__(scope, receive, send)
            return
        intake = Intake(receive, self.body_timeout)
        await super().__call__(scope, intake, send)
        await intake.drain()


def _shorten_target(scope: dict[str, Any]) -> None:
    """Leave the path alone of a target in absolute form, which every server has to take (RFC 9112 3.2.2)."""
    scheme, slashes, rest = scope["path"].partition("://")
    if slashes and scheme.lower() in {"http", "https"}:
        scope["path"] = "/" + rest.partition("/")[2]


def create_app(collaborators: Collaborators, further: Iterable[Route] = ()) -> Service:
    """The application with all routes, and `further` ones; raises Undeclared if a responder declares no access."""
    settings, router = collaborators.settings, DeclaringRouter()
    meter = Meter(Ledger(settings.data / DIRECTORY))
    middleware: list[Any] = [
        Edge(settings.json_limit, meter.tally),
        Guard(router.declared, collaborators.directory),
        Companions([meter, *collaborators.companions]),
    ]
    app = Service(middleware=middleware, router=router)
    app.meter = meter
    app.body_timeout, app.forwarding = settings.body_timeout, Forwarding(settings.trusted_proxies)
    _speak_json(app)
    add_handlers(app)
    for template, resource, suffix in [*routes(collaborators, meter), *further]:
        app.add_route(template, resource, suffix=suffix)
    return app


def _speak_json(app: Service) -> None:
    """JSON by orjson only: it writes no NaN and reads nothing that is not JSON."""
    handler = JSONHandler(dumps=partial(orjson.dumps, option=_JSON_OPTIONS), loads=orjson.loads)
    handlers = Handlers({falcon.MEDIA_JSON: handler})
    app.resp_options.media_handlers = handlers
    app.req_options.media_handlers = handlers
