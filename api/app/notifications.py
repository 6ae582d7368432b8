"""The composition of events and webhooks."""

from dataclasses import dataclass
from datetime import timedelta

from api.app.services import Services
from api.data.restored_copy import RestoredCopy
from api.data.served_data import ServedData
from api.db.database import Database, default_url
from api.db.namespaces.namespace_records import StoredRecords
from api.events.branch_feeds import BranchFeeds
from api.events.event_scheduler import EventScheduler
from api.events.publish_event_relay import PublishEventRelay
from api.events.release_events import ReleaseEvents
from api.events.streams import Streams
from api.events.webhook_client import WebhookClient
from api.events.webhook_dispatcher import Outbox, WebhookDispatcher
from api.events.webhook_owners import WebhookOwners
from api.events.webhooks import Webhooks
from api.runtime.serving.release_loader import ReleaseLoader
from api.settings import Settings
from gitstore.store.store import Store
from gitstore.wire.addresses import AddressPolicy

# seconds that a poll waits for a locked database; short, since the next poll is soon
POLL_LOCK_TIMEOUT = 1.0


@dataclass(frozen=True, slots=True)
class Notifications:
    """The components of events and webhooks; created in each worker after the fork."""

    event_relay: PublishEventRelay
    event_scheduler: EventScheduler
    streams: Streams
    webhook_dispatcher: WebhookDispatcher
    webhooks: Webhooks


def open_notifications(
    settings: Settings, store: Store, served: ReleaseLoader, services: Services, data: ServedData | None = None
) -> Notifications:
    """Create the components of one worker."""
    database, clock = services.state.database, services.clock
    address_policy = AddressPolicy(settings.webhook_networks)
    reader = Database(settings.database or default_url(settings.data), POLL_LOCK_TIMEOUT)
    event_relay = PublishEventRelay(store, database, reader, clock, StoredRecords(services.state, clock))
    # Longer than an attempt and its record can take, so that no worker takes a delivery that another still works on.
    lease = timedelta(seconds=3 + 3 * settings.webhook_timeout)
    copy = RestoredCopy(settings.data)
    outbox = Outbox(database, reader, clock, settings.webhook_retries, lease)
    scheduler = EventScheduler(
        event_relay,
        ReleaseEvents(store, database, reader, clock),
        served,
        services.fleet,
        settings.agent_silent,
        settings.event_lifetime,
        data,
    )
    scheduler.is_paused = copy.is_paused
    return Notifications(
        event_relay,
        scheduler,
        Streams(reader, database.notifier, services.directory, BranchFeeds(store.directory.repositories)),
        WebhookDispatcher(
            outbox,
            WebhookClient(address_policy, settings.webhook_timeout),
            WebhookOwners(services.directory).decide,
            copy.is_paused,
        ),
        Webhooks(services.state, address_policy, clock, lambda namespace: _projects(store, namespace)),
    )


def _projects(store: Store, namespace: str) -> list[str]:
    """List the projects of a namespace, also those that cannot be served."""
    return [name for name, entry in store.releases.namespace(namespace).manifest.projects.items() if not entry.deleted]
