"""The owners of webhooks, and the check that they may still read the events that are sent."""

from dataclasses import dataclass
from enum import Enum

from api.auth.directory import IdentityCache
from api.db.events.deliveries import ClaimedDelivery
from api.events.event_visibility import can_see_body, find_missing_grant


class DeliveryDecision(Enum):
    """The decision on a delivery that is due."""

    SEND = "send"
    REFUSE = "refuse"  # only this delivery: it is from a time when the webhook had another owner
    STOP = "stop"  # deactivate the webhook


@dataclass(frozen=True, slots=True)
class WebhookOwners:
    """The owners of webhooks in one worker's identity cache."""

    directory: IdentityCache

    def decide(self, claimed: ClaimedDelivery) -> DeliveryDecision:
        """Decide whether the owner of the webhook may read all of its events, and this message.

        A webhook without an owner, from an earlier version, receives everything. Blocks while the identity cache
        reloads; raises the store error if it was never loaded.
        """
        webhook = claimed.webhook
        if webhook.owner is None:
            return DeliveryDecision.SEND
        if not self.directory.is_fresh():
            self.directory.reload()
        principal = self.directory.principal(webhook.owner.kind, webhook.owner.id)
        if principal is None or find_missing_grant(principal, webhook):
            return DeliveryDecision.STOP
        return (
            DeliveryDecision.SEND
            if can_see_body(principal, webhook.namespace, claimed.delivery)
            else DeliveryDecision.REFUSE
        )
