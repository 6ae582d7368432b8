"""The webhook dispatcher: delivers the messages of the outbox, a few at a time, with retries.

A delivery is complete when its outcome is in the database. If a worker dies before that, its claim expires and the same
message is sent again with the same id: at-least-once delivery.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from api import logs
from api.db.database import Database
from api.db.events import deliveries
from api.db.events.deliveries import ClaimedDelivery, DeliveryAttempt, DeliveryStatus, Outcome
from api.db.events.webhooks import GONE, GRANT_LOST, change_webhook, find_webhook
from api.db.timestamps import Clock
from api.events.signature import signed_headers
from api.events.webhook_client import WebhookClient, WebhookResponse
from api.events.webhook_owners import DeliveryDecision
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError

MAX_CONCURRENT = 16  # attempts of one worker
# The largest share by which a delay is longer than its setting, so that retries do not reach a receiver all at once.
JITTER = 0.1
# The class of error of a message that was not sent, since the owner of the webhook may not read it.
NOT_PERMITTED = "not_permitted"
_POLL_INTERVAL = 1.0
_SHUTDOWN_SECONDS = 3.0
_RECORD_TRIES = 3
_GONE_STATUS = 410

_log = logs.logger("webhook_dispatcher")


@dataclass(frozen=True, slots=True)
class Outbox:
    """The operations of one worker on deliveries; all of them block.

    `reader` is the same database with a shorter lock timeout, so that polling does not hold threads while it is locked.
    """

    database: Database
    reader: Database
    clock: Clock
    retries: Sequence[int]
    lease: timedelta

    def take(self, most: int, busy: Sequence[int]) -> list[ClaimedDelivery]:
        """Claim due deliveries; without a write if there are none."""
        now = self.clock()
        with self.reader.reading() as connection:
            if not deliveries.is_any_due(connection, now, busy):
                return []
        with self.database.writing() as connection:
            return deliveries.claim(connection, now, now + self.lease, most, busy)

    def stop(self, claimed: ClaimedDelivery) -> None:
        """Deactivate a webhook whose owner may no longer read its events; its pending deliveries stay.

        If it has another owner by now, only the claim is released.
        """
        webhook = claimed.webhook
        with self.database.writing() as connection:
            deliveries.release(connection, claimed)
            if find_webhook(connection, webhook.namespace, webhook.id).owner == webhook.owner:
                change_webhook(connection, webhook.id, {"active": False, "stopped_because": GRANT_LOST})

    def record(self, claimed: ClaimedDelivery, attempt: DeliveryAttempt) -> Outcome:
        """Record the outcome of an attempt, and the time of the next one; a 410 deactivates the webhook."""
        outcome = decide_outcome(claimed, attempt, self.retries)
        with self.database.writing() as connection:
            if deliveries.record_outcome(connection, claimed, outcome) and attempt.status == _GONE_STATUS:
                change_webhook(connection, claimed.webhook.id, {"active": False, "stopped_because": GONE})
        return outcome


class WebhookDispatcher(TaskService):
    """A background service that delivers the messages of the outbox."""

    def __init__(
        self,
        outbox: Outbox,
        webhook_client: WebhookClient,
        decide: Callable[[ClaimedDelivery], DeliveryDecision],
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create the service; `decide` checks whether the owner of a webhook may read a delivery, and may block.

        While `is_paused`, nothing is sent, and deliveries wait.
        """
        super().__init__()
        self._outbox = outbox
        self._webhook_client = webhook_client
        self._decide = decide
        self._is_paused = is_paused
        self._under_way: dict[asyncio.Task[None], int] = {}
        self._wake = asyncio.Event()
        self._ending = False
        # Called with the outcome of each attempt: `delivered`, `again` or `failed`.
        self.count: Callable[[str], None] = lambda _outcome: None

    async def start(self) -> None:
        """Start delivering."""
        loop = asyncio.get_running_loop()
        self._outbox.database.notifier.listen(lambda: loop.call_soon_threadsafe(self._wake.set))
        await super().start()

    def release(self) -> None:
        """Stop claiming deliveries, since the worker is stopping."""
        self._ending = True

    async def stop(self) -> None:
        """Stop; running attempts have a few seconds to finish, else another worker sends their messages again."""
        self.release()
        await super().stop()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_SHUTDOWN_SECONDS)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    @property
    def under_way(self) -> int:
        """The number of running attempts."""
        return len(self._under_way)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            await self._claim_due()
            try:
                async with asyncio.timeout(_POLL_INTERVAL):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _claim_due(self) -> None:
        free = MAX_CONCURRENT - len(self._under_way)
        if free <= 0 or self._ending:
            return
        try:
            taken = await run_in_thread(self._take, free, self._list_busy())
        except (StoreError, OSError) as ex:
            _log.warning("deliveries_not_claimed", error=str(ex))
            return
        except Exception:  # noqa: BLE001 - otherwise the task ends, and nothing is delivered any more
            _log.exception("deliveries_not_claimed")
            return
        for claimed in taken:
            task = asyncio.create_task(self._deliver(claimed))
            self._under_way[task] = claimed.webhook.id
            task.add_done_callback(self._end)

    def _take(self, free: int, busy: list[int]) -> list[ClaimedDelivery]:
        return [] if self._is_paused() else self._outbox.take(free, busy)

    def _list_busy(self) -> list[int]:
        counts = Counter(self._under_way.values())
        return [webhook for webhook, count in counts.items() if count >= deliveries.MAX_CONCURRENT_PER_WEBHOOK]

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._wake.set()

    async def _deliver(self, claimed: ClaimedDelivery) -> None:
        """Make one attempt if it is permitted; if that cannot be decided, the claim expires and it is tried again."""
        try:
            decision = await run_in_thread(self._decide, claimed)
            if decision is DeliveryDecision.STOP:
                await run_in_thread(self._outbox.stop, claimed)
                _log.warning("webhook_stopped", webhook=claimed.webhook.id, reason=GRANT_LOST)
        except (StoreError, OSError) as ex:
            _log.warning("delivery_not_started", delivery=claimed.delivery.id, error=str(ex))
            return
        if decision is DeliveryDecision.SEND:
            await self._send(claimed)
        elif decision is DeliveryDecision.REFUSE:
            answer = WebhookResponse(None, NOT_PERMITTED, "")
            await self._record(claimed, DeliveryAttempt(self._outbox.clock(), None, NOT_PERMITTED, 0, ""), answer)

    async def _send(self, claimed: ClaimedDelivery) -> None:
        delivery, at, begun = claimed.delivery, self._outbox.clock(), time.perf_counter()
        body = delivery.body.encode()
        headers = {
            **_HEADERS,
            **signed_headers(delivery.message, int(at.timestamp()), body, claimed.webhook.secrets(at)),
        }
        answer = await self._webhook_client.send(claimed.webhook.url, headers, body)
        milliseconds = round((time.perf_counter() - begun) * 1000)
        await self._record(claimed, DeliveryAttempt(at, answer.status, answer.error, milliseconds, answer.text), answer)

    async def _record(self, claimed: ClaimedDelivery, attempt: DeliveryAttempt, answer: WebhookResponse) -> None:
        for _ in range(_RECORD_TRIES):
            try:
                outcome = await run_in_thread(self._outbox.record, claimed, attempt)
            except (StoreError, OSError) as ex:
                _log.warning("delivery_not_recorded", delivery=claimed.delivery.id, error=str(ex))
            else:
                self._report(claimed, outcome, answer)
                return

    def _report(self, claimed: ClaimedDelivery, outcome: Outcome, answer: WebhookResponse) -> None:
        ended = _OUTCOMES[outcome.status]
        self.count(ended)
        write = _log.debug if outcome.status is DeliveryStatus.DELIVERED else _log.warning
        names = {"webhook": claimed.webhook.id, "delivery": claimed.delivery.id, "type": claimed.delivery.type}
        write("delivery_attempted", outcome=ended, status=answer.status, error=answer.error, **names)


def decide_outcome(claimed: ClaimedDelivery, attempt: DeliveryAttempt, retries: Sequence[int]) -> Outcome:
    """Decide the outcome of an attempt: 2xx is delivered; 410 and a message that is not permitted are final.

    Anything else is retried while retries are left.
    """
    if attempt.error is None and attempt.status is not None and WebhookResponse(attempt.status, None, "").is_success:
        return Outcome(attempt, DeliveryStatus.DELIVERED, None)
    earlier = claimed.delivery.attempts
    if attempt.status == _GONE_STATUS or attempt.error == NOT_PERMITTED or earlier >= len(retries):
        return Outcome(attempt, DeliveryStatus.FAILED, None)
    return Outcome(attempt, DeliveryStatus.PENDING, attempt.at + _wait(retries[earlier]))


def _wait(seconds: int) -> timedelta:
    return timedelta(seconds=seconds * random.uniform(1, 1 + JITTER))  # noqa: S311 - spreads load, not for security


_OUTCOMES = {DeliveryStatus.DELIVERED: "delivered", DeliveryStatus.PENDING: "again", DeliveryStatus.FAILED: "failed"}
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Waypost-Webhook", "Accept": "*/*"}
