"""Those who answer for webhooks: whether they may still read what these are sent."""

from dataclasses import dataclass
from enum import Enum

from api.identity.directory import Directory
from api.notice.sight import may_see_body, unheard
from api.state.deliveries import Claimed


class Verdict(Enum):
    """What becomes of a delivery that is about to be made."""

    SEND = "send"
    REFUSE = "refuse"
    """The webhook goes on, but not with this: it waited, or is repeated, from when the webhook was another one's."""
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Holders:
    """The holders of webhooks, as one worker's directory knows them."""

    directory: Directory

    def judge(self, claimed: Claimed) -> Verdict:
        """Tell whether the holder of the webhook may read all that it is sent, and this message.

        A webhook from before there were holders is sent everything. Blocks while the directory is read anew; raises the
        store error where that was never possible.
        """
        webhook = claimed.webhook
        if webhook.holder is None:
            return Verdict.SEND
        if not self.directory.fresh():
            self.directory.reload()
        principal = self.directory.principal(webhook.holder.kind, webhook.holder.id)
        if principal is None or unheard(principal, webhook):
            return Verdict.STOP
        return Verdict.SEND if may_see_body(principal, webhook.namespace, claimed.delivery) else Verdict.REFUSE
