"""Delivers what is in the outbox: a few at a time, each by one worker, again and again until it is taken.

A delivery counts as made once its outcome is in the database. A worker that dies between the two leaves a claim that
runs out, and the same message is sent again, under the same id: at least once, never silently not at all.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from api import logs
from api.background import in_thread
from api.notice.holders import Verdict
from api.notice.sender import Answer, Sender
from api.notice.signature import signed_headers
from api.routine import Routine
from api.state import deliveries
from api.state.database import Database
from api.state.deliveries import Attempt, Claimed, Outcome, Status
from api.state.moment import Clock
from api.state.webhooks import GONE, GRANT_LOST, change_webhook, find_webhook
from gitstore.errors import StoreError

AT_ONCE = 16
"""Attempts that one worker makes at a time."""
JITTER = 0.1
"""The share by which a wait may be longer than its setting says, so that receivers do not meet a crowd."""
NOT_PERMITTED = "not_permitted"
"""The class of error of a message that was not sent, since whoever answers for the webhook may not read it."""
_LOOK_INTERVAL = 1.0
_PARTING_SECONDS = 3.0
_RECORD_TRIES = 3
_GONE_STATUS = 410

_log = logs.logger("courier")


@dataclass(frozen=True, slots=True)
class Outbox:
    """The deliveries of the database as one worker works on them; all of it blocks.

    `reader` is the same database, with less patience: looking must not hold threads while it is locked.
    """

    database: Database
    reader: Database
    clock: Clock
    retries: Sequence[int]
    lease: timedelta

    def take(self, most: int, busy: Sequence[int]) -> list[Claimed]:
        """Claim what is due; without a write where nothing is."""
        now = self.clock()
        with self.reader.reading() as connection:
            if not deliveries.is_any_due(connection, now, busy):
                return []
        with self.database.writing() as connection:
            return deliveries.claim(connection, now, now + self.lease, most, busy)

    def stop(self, claimed: Claimed) -> None:
        """Switch off a webhook whose holder may not read any more what it is sent; what waits is kept.

        Nothing but the claim changes where somebody else answers for it meanwhile.
        """
        judged = claimed.webhook
        with self.database.writing() as connection:
            deliveries.release(connection, claimed)
            if find_webhook(connection, judged.namespace, judged.id).holder == judged.holder:
                change_webhook(connection, judged.id, {"active": False, "stopped_because": GRANT_LOST})

    def record(self, claimed: Claimed, attempt: Attempt) -> Outcome:
        """Write down what came of an attempt, and when the next one is due; a 410 switches the webhook off."""
        outcome = follow(claimed, attempt, self.retries)
        with self.database.writing() as connection:
            if deliveries.record_outcome(connection, claimed, outcome) and attempt.status == _GONE_STATUS:
                change_webhook(connection, claimed.webhook.id, {"active": False, "stopped_because": GONE})
        return outcome


class Courier:
    """A companion of the service."""

    def __init__(self, outbox: Outbox, sender: Sender, judge: Callable[[Claimed], Verdict]) -> None:
        """Deliver; `judge` tells whether whoever answers for a webhook may read what it is sent, and may block."""
        self._outbox = outbox
        self._sender = sender
        self._judge = judge
        self._under_way: dict[asyncio.Task[None], int] = {}
        self._wake = asyncio.Event()
        self._routine = Routine(self._run)
        self._ending = False
        self.count: Callable[[str], None] = lambda _outcome: None
        """Told how each attempt ended: `delivered`, `again` or `failed`."""

    async def start(self) -> None:
        """Begin to deliver."""
        loop = asyncio.get_running_loop()
        self._outbox.database.told.listen(lambda: loop.call_soon_threadsafe(self._wake.set))
        self._routine.begin()

    def release(self) -> None:
        """Claim nothing any more: the worker shall end."""
        self._ending = True

    async def stop(self) -> None:
        """End; what is under way has a moment to come to its end, and is else sent again by another worker."""
        self.release()
        await self._routine.end()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_PARTING_SECONDS)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    @property
    def under_way(self) -> int:
        """How many attempts go on."""
        return len(self._under_way)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            await self._look()
            try:
                async with asyncio.timeout(_LOOK_INTERVAL):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _look(self) -> None:
        free = AT_ONCE - len(self._under_way)
        if free <= 0 or self._ending:
            return
        try:
            taken = await in_thread(self._outbox.take, free, self._busy())
        except (StoreError, OSError) as ex:
            _log.warning("deliveries_not_claimed", error=str(ex))
            return
        except Exception:  # noqa: BLE001 - nothing would be delivered any more, and nobody would notice
            _log.exception("deliveries_not_claimed")
            return
        for claimed in taken:
            task = asyncio.create_task(self._deliver(claimed))
            self._under_way[task] = claimed.webhook.id
            task.add_done_callback(self._end)

    def _busy(self) -> list[int]:
        counts = Counter(self._under_way.values())
        return [webhook for webhook, count in counts.items() if count >= deliveries.MOST_AT_ONCE]

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._wake.set()

    async def _deliver(self, claimed: Claimed) -> None:
        """Make one attempt, if it may be made; where that cannot be told the claim runs out, and it is tried again."""
        try:
            verdict = await in_thread(self._judge, claimed)
            if verdict is Verdict.STOP:
                await in_thread(self._outbox.stop, claimed)
                _log.warning("webhook_stopped", webhook=claimed.webhook.id, reason=GRANT_LOST)
        except (StoreError, OSError) as ex:
            _log.warning("delivery_not_begun", delivery=claimed.delivery.id, error=str(ex))
            return
        if verdict is Verdict.SEND:
            await self._send(claimed)
        elif verdict is Verdict.REFUSE:
            answer = Answer(None, NOT_PERMITTED, "")
            await self._record(claimed, Attempt(self._outbox.clock(), None, NOT_PERMITTED, 0, ""), answer)

    async def _send(self, claimed: Claimed) -> None:
        delivery, at, begun = claimed.delivery, self._outbox.clock(), time.perf_counter()
        body = delivery.body.encode()
        headers = {
            **_HEADERS,
            **signed_headers(delivery.message, int(at.timestamp()), body, claimed.webhook.secrets(at)),
        }
        answer = await self._sender.send(claimed.webhook.url, headers, body)
        milliseconds = round((time.perf_counter() - begun) * 1000)
        await self._record(claimed, Attempt(at, answer.status, answer.error, milliseconds, answer.text), answer)

    async def _record(self, claimed: Claimed, attempt: Attempt, answer: Answer) -> None:
        for _ in range(_RECORD_TRIES):
            try:
                outcome = await in_thread(self._outbox.record, claimed, attempt)
            except (StoreError, OSError) as ex:
                _log.warning("delivery_not_recorded", delivery=claimed.delivery.id, error=str(ex))
            else:
                self._tell(claimed, outcome, answer)
                return

    def _tell(self, claimed: Claimed, outcome: Outcome, answer: Answer) -> None:
        ended = _ENDS[outcome.status]
        self.count(ended)
        write = _log.debug if outcome.status is Status.DELIVERED else _log.warning
        names = {"webhook": claimed.webhook.id, "delivery": claimed.delivery.id, "type": claimed.delivery.type}
        write("delivery_attempted", outcome=ended, status=answer.status, error=answer.error, **names)


def follow(claimed: Claimed, attempt: Attempt, retries: Sequence[int]) -> Outcome:
    """What follows from an attempt: 2xx is delivered, 410 final, and so is what must not be sent.

    Anything else is tried again while tries are left.
    """
    if attempt.error is None and attempt.status is not None and Answer(attempt.status, None, "").is_success:
        return Outcome(attempt, Status.DELIVERED, None)
    made = claimed.delivery.attempts
    if attempt.status == _GONE_STATUS or attempt.error == NOT_PERMITTED or made >= len(retries):
        return Outcome(attempt, Status.FAILED, None)
    return Outcome(attempt, Status.PENDING, attempt.at + _wait(retries[made]))


def _wait(seconds: int) -> timedelta:
    return timedelta(seconds=seconds * random.uniform(1, 1 + JITTER))  # noqa: S311 - spreads load, guards nothing


_ENDS = {Status.DELIVERED: "delivered", Status.PENDING: "again", Status.FAILED: "failed"}
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Waypost-Webhook", "Accept": "*/*"}
