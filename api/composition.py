"""The service put together from the settings: the one place that knows every part."""

from api.app import Service, create_app
from api.collaborators import Collaborators, ReadyCheck
from api.compat_routes import compat_routes
from api.compression import Compressed
from api.content_routes import content_routes
from api.convergence import Convergence
from api.exposition import DELIVERING, HEARTBEATS, STREAMS, WAITING
from api.express import Express
from api.identity.service import open_services
from api.identity_routes import identity_routes
from api.notice.parts import open_notice
from api.notice_routes import notice_routes
from api.served import Served
from api.settings import Settings
from api.standby import Standby
from api.waiting import Waiting
from api.watcher import Watcher
from gitstore.store import store_at


def make_service(settings: Settings) -> Service:
    """The application of one worker; called after the fork."""
    store = store_at(settings.data.absolute())
    served = Served(store)
    waiting = Waiting(served)
    services = open_services(settings)
    convergence = Convergence(services.fleet)
    notice = open_notice(settings, store, served, services)
    collaborators = Collaborators(
        settings,
        services.directory,
        store,
        services,
        ready_checks=(services.ready_check(), ReadyCheck("content", lambda: "; ".join(store.failures()) or None)),
        companions=(
            services.upkeep(),
            Watcher(store, served),
            waiting,
            convergence,
            notice.herald,
            notice.streams,
            notice.courier,
            Standby(store),
        ),
    )
    compressed = Compressed()
    app = create_app(
        collaborators,
        [
            *content_routes(
                store, served, settings, compressed, waiting, convergence, services.reviews(), notice.teller.forget
            ),
            *identity_routes(services, served, store),
            *notice_routes(served, notice.streams, notice.webhooks),
            *compat_routes(store, served, services, compressed),
        ],
    )
    app.express = Express(services.directory, store.live, compressed, app.meter.tally)
    app.leaving = (waiting.release, convergence.release, notice.streams.release, notice.courier.release)
    app.meter.show(WAITING, lambda: waiting.count)
    app.meter.show(HEARTBEATS, lambda: services.fleet.heartbeats.pending)
    app.meter.show(STREAMS, lambda: notice.streams.count)
    app.meter.show(DELIVERING, lambda: notice.courier.under_way)
    notice.courier.count = app.meter.tally.add_webhook_attempt
    return app
