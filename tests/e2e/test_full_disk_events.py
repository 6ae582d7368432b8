"""Events and webhooks while the disk of the database is full: nothing is lost, and with free space all of it arrives.

The repositories are on another disk, so that plain Git can still push. For the mounts see `test_full_disk`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.git import Clone, rules
from tests.e2e.hooks import PATIENCE, SETTINGS, create_webhook, deliveries, wait_for_deliveries, wait_until_relayed
from tests.e2e.receiver import always, receiving
from tests.e2e.stream import following
from tests.e2e.test_full_disk import check_refused, filled, small_disk
from tests.e2e.world import World, open_world
from tests.service import WAYPOST, running, wait_until

WORKERS = 2
TRIES = ",".join(["1"] * 20)


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[World]:
    """Run a service whose data are on one small disk, and its repositories on another."""
    with small_disk(tmp_path / "disk") as data, small_disk(data / "repos"):
        settings = {**SETTINGS, "WAYPOST_WEBHOOK_RETRIES": TRIES}
        with running(WAYPOST, data, settings) as service, open_world(service) as world:
            yield world


def count_unrelayed(world: World) -> int:
    """Return the number of times that a worker failed to relay publishes."""
    return world.service.log.read_text("utf-8").count('"events_not_recorded"')


def test_events_while_the_disk_is_full_are_sent_once_when_there_is_space_again(cramped: World, tmp_path: Path) -> None:
    """Publishes are refused, streams continue, retries stay queued, and a push is served, with its event later."""
    place = wait_until_relayed(cramped.place())
    with receiving() as receiver, following(place) as follower:
        receiver.reply = always(500)
        made = create_webhook(place, receiver.url)
        place.published("/a")
        follower.wait(1)
        receiver.wait(1)
        clone = Clone.of(place.repository, tmp_path / "clone")
        with filled(cramped.service.data):
            receiver.reply = always(200)
            check_refused(place.root.send("POST", f"{place.path}/rollback", json={"version": 1}))
            check_refused(place.root.send("POST", f"{place.space}/webhooks", json={"url": receiver.url}))
            clone.publish(f"{place.project}/redirects.yaml", rules("/pushed"))
            wait_until(lambda: place.sources() == ["/pushed"], PATIENCE, "the push to be served")
            wait_until(
                lambda: count_unrelayed(cramped) >= WORKERS, PATIENCE, "both workers to have tried to tell of it"
            )
            assert len(deliveries(place, made)) == 1
            assert (follower.ends, follower.connections, follower.refused) == (0, 1, 0)
            assert cramped.root.send("GET", "/health/ping").status_code == 204
        follower.wait(2)
        wait_for_deliveries(place, made, "delivered", 2)
        place.published("/b")
        wait_for_deliveries(place, made, "delivered", 3)
        follower.wait(3)
        assert follower.numbers() == [2, 3, 4]
        assert follower.ends == 0
        told_of = [message.body["data"]["publishNumber"] for message in receiver.messages]
        assert sorted(set(told_of)) == [2, 3, 4]
        assert (told_of.count(3), told_of.count(4)) == (1, 1), (
            "a delivery that was accepted at its first try came again"
        )
        assert len({message.id for message in receiver.messages}) == 3
