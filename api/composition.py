"""The service put together from the settings: the one place that knows every part."""

from api.app import Service, create_app
from api.collaborators import Collaborators, ReadyCheck
from api.compat_routes import compat_routes
from api.compression import Compressed
from api.content_routes import content_routes
from api.convergence import Convergence
from api.exposition import HEARTBEATS, WAITING
from api.express import Express
from api.identity.service import open_services
from api.identity_routes import identity_routes
from api.served import Served
from api.settings import Settings
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
    collaborators = Collaborators(
        settings,
        services.directory,
        store,
        services,
        ready_checks=(services.ready_check(), ReadyCheck("content", lambda: "; ".join(store.failures()) or None)),
        companions=(services.upkeep(), Watcher(store, served), waiting, convergence),
    )
    compressed = Compressed()
    app = create_app(
        collaborators,
        [
            *content_routes(store, served, settings, compressed, waiting, convergence, services.reviews()),
            *identity_routes(services, served, store),
            *compat_routes(store, served, services, compressed),
        ],
    )
    app.express = Express(services.directory, store.live, compressed, app.meter.tally)
    app.leaving = (waiting.release, convergence.release)
    app.meter.show(WAITING, lambda: waiting.count)
    app.meter.show(HEARTBEATS, lambda: services.fleet.heartbeats.pending)
    return app
