"""The outbox on real SQLite: deliveries are claimed once, return after a crash, and follow the table of waits."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from api.db.events import deliveries, events, webhooks
from api.db.events.deliveries import ClaimedDelivery, DeliveryAttempt, DeliveryStatus
from api.db.events.events import Event, EventType, record_event
from api.db.events.webhooks import Webhook
from api.db.state_store import StateStore, open_state_store
from api.events.signature import mint_secret, sign, signed_headers
from api.events.webhook_dispatcher import JITTER, Outbox, decide_outcome
from api.settings import Settings
from tests.api.world import START, ManualClock

LEASE = timedelta(seconds=10)


def opened(
    folder: Path, count: int = 1, wanted: tuple[str, ...] = (), projects: tuple[str, ...] = ()
) -> tuple[StateStore, ManualClock, list[int]]:
    """Return a state with so many webhooks of acme, and their ids."""
    state, secret = open_state_store(folder), mint_secret()
    with state.database.writing() as connection:
        made = [
            webhooks.add_webhook(
                connection,
                Webhook("acme", f"http://h{n}.example/", wanted, projects, "", True, secret, START, "x"),  # noqa: FBT003 - active
            )
            for n in range(count)
        ]
    return state, ManualClock(), made


def outbox(state: StateStore, clock: ManualClock, retries: tuple[int, ...] = (5, 60)) -> Outbox:
    return Outbox(state.database, state.database, clock, retries, LEASE)


def tell(state: StateStore, project: str = "shop", kind: EventType = EventType.PUBLISHED, number: int = 1) -> None:
    with state.database.writing() as connection:
        body = {"publishNumber": number}
        record_event(connection, Event(START, "acme", project, kind, body, f"{project}{kind}{number}"))


def came(status: int | None, clock: ManualClock) -> DeliveryAttempt:
    return DeliveryAttempt(clock(), status, None if status else "timeout", 1, "")


def test_an_event_that_is_undone_leaves_no_delivery(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path)
    rung: list[int] = []
    state.database.notifier.listen(lambda: rung.append(1))
    with suppress(ZeroDivisionError), state.database.writing() as connection:
        record_event(connection, Event(START, "acme", "shop", EventType.PUBLISHED, {}, "a"))
        raise ZeroDivisionError
    assert (outbox(state, clock).take(10, []), rung) == ([], [])
    tell(state)
    assert rung == [1]
    assert len(outbox(state, clock).take(10, [])) == 1


def test_a_webhook_is_sent_what_it_wants_of_the_projects_that_it_wants(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path, wanted=("published",), projects=("shop",))
    tell(state)
    tell(state, "other")
    tell(state, kind=EventType.ROLLED_BACK, number=2)
    with state.database.writing() as connection:
        record_event(connection, Event(START, "elsewhere", "shop", EventType.PUBLISHED, {}, "b"))
    (claimed,) = outbox(state, clock).take(10, [])
    assert '"project":"shop"' in claimed.delivery.body
    assert claimed.delivery.type == "published"


def test_of_many_who_claim_at_once_each_delivery_goes_to_one(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path, count=20)
    tell(state)
    states = [open_state_store(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda n: outbox(states[n % 4], clock).take(3, []), range(16)))
    found = [claimed.delivery.id for each in taken for claimed in each]
    assert sorted(found) == sorted(set(found))
    assert len(found) == 20


def test_an_expired_claim_is_claimed_again_and_its_late_answer_is_ignored(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path)
    tell(state)
    box = outbox(state, clock)
    (first,) = box.take(1, [])
    assert box.take(1, []) == []
    clock.advance(seconds=11)
    (second,) = box.take(1, [])
    assert second.delivery.message == first.delivery.message
    box.record(second, came(200, clock))
    box.record(first, came(500, clock))
    with state.database.reading() as connection:
        found = deliveries.find_delivery(connection, first.webhook.id, first.delivery.id)
        attempts = deliveries.list_attempts(connection, found.id)
    assert (found.status, found.attempts, [each.status for each in attempts]) == (DeliveryStatus.DELIVERED, 1, [200])


def test_a_slow_webhook_leaves_room_for_others(tmp_path: Path) -> None:
    state, clock, (slow, quick) = opened(tmp_path, count=2)
    for number in range(10):
        tell(state, number=number)
    taken = outbox(state, clock).take(16, [])
    assert [claimed.webhook.id for claimed in taken].count(slow) == deliveries.MAX_CONCURRENT_PER_WEBHOOK
    assert {claimed.webhook.id for claimed in outbox(state, clock).take(16, [slow])} == {quick}


def test_waits_follow_the_table_with_some_jitter_and_then_it_is_over(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path)
    tell(state)
    box = outbox(state, clock, (5, 60))
    for wait in (5, 60):
        (claimed,) = box.take(1, [])
        due = box.record(claimed, came(503, clock)).due_at
        assert due is not None
        assert wait <= (due - clock()).total_seconds() <= wait * (1 + JITTER)
        clock.advance(seconds=wait - 1)
        assert box.take(1, []) == []
        clock.advance(seconds=2 + wait * JITTER)
    (claimed,) = box.take(1, [])
    assert box.record(claimed, came(None, clock)).status is DeliveryStatus.FAILED
    clock.advance(days=2)
    assert box.take(1, []) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, "delivered"), (204, "delivered"), (301, "pending"), (404, "pending"), (410, "failed"), (500, "pending")],
)
def test_what_an_answer_means(tmp_path: Path, status: int, expected: str) -> None:
    state, clock, _ = opened(tmp_path)
    tell(state)
    (claimed,) = outbox(state, clock).take(1, [])
    assert decide_outcome(claimed, came(status, clock), (5,)).status == expected


def test_a_webhook_that_is_off_is_sent_nothing_until_it_is_on(tmp_path: Path) -> None:
    state, clock, (number,) = opened(tmp_path)
    tell(state)
    box = outbox(state, clock)
    (claimed,) = box.take(1, [])
    box.record(ClaimedDelivery(claimed.delivery, claimed.webhook, claimed.claim), came(410, clock))
    tell(state, number=2)
    assert box.take(9, []) == []
    with state.database.writing() as connection:
        found = webhooks.find_webhook(connection, "acme", number)
        webhooks.change_webhook(connection, number, {"active": True})
    assert (found.active, found.stopped_because) == (False, "gone")
    tell(state, number=3)
    assert [claimed.delivery.event_id for claimed in box.take(9, [])] == [3]


def test_the_secret_is_not_in_what_is_printed(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path)
    tell(state)
    (claimed,) = outbox(state, clock).take(1, [])
    assert claimed.webhook.secret not in repr(claimed)


def test_old_deliveries_are_removed_with_their_attempts(tmp_path: Path) -> None:
    state, clock, _ = opened(tmp_path)
    tell(state)
    (claimed,) = outbox(state, clock).take(1, [])
    outbox(state, clock).record(claimed, came(200, clock))
    with state.database.writing() as connection:
        assert not events.has_event_before(connection, START)
        assert events.has_event_before(connection, START + LEASE)
        assert deliveries.remove_deliveries_before(connection, START) == 0
        assert deliveries.remove_deliveries_before(connection, START + LEASE) == 1
        assert events.remove_events_before(connection, START + LEASE) == 1
        assert deliveries.list_attempts(connection, claimed.delivery.id) == []


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The expected values are the example of the convention's own libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    found = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', secret)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    two = signed_headers("msg_1", 1, b"{}", (secret, mint_secret()))
    assert len(two["webhook-signature"].split(" ")) == 2
    with pytest.raises(ValueError, match="whsec_"):
        sign("msg_1", 1, b"{}", "whsec_not base64")


def test_the_waits_of_the_default_last_about_a_day() -> None:
    assert 23 < sum(Settings().webhook_retries) / 3600 < 25
