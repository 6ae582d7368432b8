"""Everything that tells others, put together once."""

from dataclasses import dataclass
from datetime import timedelta

from api.identity.service import Services
from api.notice.addresses import Reach
from api.notice.courier import Courier, Outbox
from api.notice.herald import Herald
from api.notice.holders import Holders
from api.notice.sender import Sender
from api.notice.streams import Streams
from api.notice.teller import Teller
from api.notice.webhooks import Webhooks
from api.served import Served
from api.settings import Settings
from api.state.database import Database, default_url
from gitstore.store import Store

LOOK_PATIENCE = 1.0
"""Seconds that a look waits for a locked database; it comes again soon anyway."""


@dataclass(frozen=True, slots=True)
class Notice:
    """The parts; made in each worker after the fork."""

    teller: Teller
    herald: Herald
    streams: Streams
    courier: Courier
    webhooks: Webhooks


def open_notice(settings: Settings, store: Store, served: Served, services: Services) -> Notice:
    """The parts of one worker."""
    database, clock = services.state.database, services.clock
    reach = Reach(settings.webhook_networks)
    reader = Database(settings.database or default_url(settings.data), LOOK_PATIENCE)
    teller = Teller(store, database, reader, clock)
    # Longer than an attempt and its record can take: what another worker still works on is not taken from it.
    lease = timedelta(seconds=3 + 3 * settings.webhook_timeout)
    outbox = Outbox(database, reader, clock, settings.webhook_retries, lease)
    return Notice(
        teller,
        Herald(teller, served, services.fleet, settings.agent_silent, settings.event_lifetime),
        Streams(reader, database.told, services.directory),
        Courier(outbox, Sender(reach, settings.webhook_timeout), Holders(services.directory).judge),
        Webhooks(services.state, reach, clock, lambda namespace: _projects(store, namespace)),
    )


def _projects(store: Store, namespace: str) -> list[str]:
    """The projects that there are, whether or not they can be served."""
    return [name for name, entry in store.served(namespace).manifest.projects.items() if not entry.deleted]
