"""The ASGI application: routes, middleware and error handling, composed from the dependencies."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import falcon
import falcon.asgi
import orjson
from falcon.media import Handlers, JSONHandler

from api.app.routes import routes
from api.http.audit_notes import AuditMiddleware, AuditNotes
from api.http.data_check import DataCheck
from api.http.error_handlers import add_handlers
from api.http.fast_heartbeats import FastHeartbeats
from api.http.fast_path import FastPath
from api.http.guard.guard import Guard
from api.http.guard.preview_guard import PreviewGuard
from api.http.guard.rate_limits import RateLimits
from api.http.request.proxy_headers import ProxyHeaders
from api.http.request.request_body import CLOSE, AsgiEvent, RequestBody, Send
from api.http.request_context import RequestContext
from api.http.routing import AccessRouter, Route
from api.http.source_check import SourceCheck
from api.interfaces import Dependencies
from api.metrics.collector import MetricsCollector
from api.metrics.metrics_store import DIRECTORY, MetricsStore
from api.runtime.lifespan import Lifespan
from api.runtime.rate_counters import RateCounters

_BODILESS = frozenset({"GET", "HEAD"})
_JSON_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC


class Application(falcon.asgi.App[Any, Any]):
    """The Falcon application; reads every body through `RequestBody`, within `body_timeout` seconds.

    A connection asks `fast_path` and `fast_heartbeats` before it builds the request for `__call__`. `shutdown_hooks` are
    called as soon as the worker has to stop, while its last requests still run.
    """

    body_timeout: float
    proxy_headers: ProxyHeaders
    collector: MetricsCollector
    fast_path: FastPath | None = None
    fast_heartbeats: FastHeartbeats | None = None
    shutdown_hooks: tuple[Callable[[], None], ...] = ()

    async def __call__(  # type: ignore[override]  # as in Falcon itself: an ASGI call differs from a WSGI call
        self, scope: dict[str, Any], receive: Any, send: Any
    ) -> None:
        """Serve one ASGI connection scope."""
        if not scope.get("path", "/").startswith("/"):
            _strip_origin(scope)
        if self.proxy_headers and scope["type"] == "http":
            self.proxy_headers.apply(scope)
        if scope["type"] != "http" or scope["method"] in _BODILESS:
            await super().__call__(scope, receive, send)
            return
        request_body = RequestBody(receive, self.body_timeout, _body_size(scope))
        await super().__call__(scope, request_body, partial(_send_announced, send, request_body))
        await request_body.drain()


def _body_size(scope: AsgiEvent) -> int | None:
    """Return the bytes of a request's body, None for one in chunks."""
    fields = dict(scope["headers"])
    return None if b"transfer-encoding" in fields else int(fields.get(b"content-length", 0))


async def _send_announced(send: Send, body: RequestBody, event: AsgiEvent) -> None:
    """Send an event of a response; announce the end of the connection where the body may stay unread.

    Otherwise a proxy that has sent all of it puts the next request, of anyone, into the closing connection
    (https://www.rfc-editor.org/rfc/rfc9112#section-9.6).
    """
    if event["type"] == "http.response.start" and body.may_outlast_drain:
        event = {**event, "headers": [*event.get("headers", ()), CLOSE]}
    await send(event)


def _strip_origin(scope: dict[str, Any]) -> None:
    """Reduce a request target in absolute form to its path; servers must accept that form (RFC 9112 3.2.2)."""
    scheme, slashes, rest = scope["path"].partition("://")
    if slashes and scheme.lower() in {"http", "https"}:
        scope["path"] = "/" + rest.partition("/")[2]


def create_app(
    dependencies: Dependencies,
    extra_routes: Iterable[Route] = (),
    rate_counters: RateCounters | None = None,
    audit: AuditNotes | None = None,
) -> Application:
    """Create the application with all routes and `extra_routes`; raises UndeclaredAccess.

    Rate limits count by themselves, unless the application gets the counters that it shares with other processes.
    """
    settings, router = dependencies.settings, AccessRouter()
    collector = MetricsCollector(MetricsStore(settings.data / DIRECTORY))
    middleware: list[Any] = [
        RequestContext(settings.json_limit, collector.counters, settings.public_url, dependencies.leaks),
        *([AuditMiddleware(audit)] if audit else []),
        *([PreviewGuard(dependencies.preview)] if dependencies.preview else []),
        *([DataCheck(dependencies.data)] if dependencies.data else []),
        Guard(
            router.declared,
            dependencies.directory,
            RateLimits(settings, rate_counters or RateCounters()),
            dependencies.passwords,
            dependencies.csrf,
            needs_credential=dependencies.preview is None,
        ),
        *([SourceCheck(dependencies.require_applied)] if dependencies.require_applied else []),
        Lifespan([collector, *dependencies.background_services]),
    ]
    app = Application(middleware=middleware, router=router)
    app.collector = collector
    app.body_timeout, app.proxy_headers = settings.body_timeout, ProxyHeaders(settings.trusted_proxies)
    _use_orjson(app)
    add_handlers(app)
    for template, resource, suffix in [*routes(dependencies, collector), *extra_routes]:
        app.add_route(template, resource, suffix=suffix)
    return app


def _use_orjson(app: Application) -> None:
    """Make orjson the only JSON codec."""
    # The json module, Falcon's default, reads and writes NaN and Infinity, which are not JSON; orjson is strict.
    # https://docs.python.org/3/library/json.html#infinite-and-nan-number-values
    handler = JSONHandler(dumps=partial(orjson.dumps, option=_JSON_OPTIONS), loads=orjson.loads)
    handlers = Handlers({falcon.MEDIA_JSON: handler})
    app.resp_options.media_handlers = handlers
    app.req_options.media_handlers = handlers
