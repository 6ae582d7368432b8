"""Events of publishes: real repositories, real SQLite, and several relays as in several workers."""

import cProfile
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.db.events.events import Event, list_events
from api.db.namespaces.namespace_records import StoredRecords
from api.db.state_store import open_state_store
from api.db.timestamps import Clock
from api.events.publish_event_relay import BATCH_SIZE, PublishEventRelay
from gitstore.git.repository import Author
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.api.world import START, ManualClock

ADA = Author("Ada Lovelace", "ada@example.com")
# A time after every commit of these tests.
FAR = datetime(2100, 1, 1, tzinfo=UTC)


def event_relay(folder: Path, clock: Clock | None = None) -> PublishEventRelay:
    """Return the relay of one worker, with its own store and connections."""
    state, clock = open_state_store(folder), clock or ManualClock()
    return PublishEventRelay(create_store(folder), state.database, state.database, clock, StoredRecords(state, clock))


def made(found: PublishEventRelay, namespace: str = "acme", project: str = "shop", publishes: int = 1) -> None:
    """Create a project with so many publishes, in a new namespace."""
    found.store.namespaces.create(namespace, "", ADA)
    found.store.projects.create(namespace, project, ProjectFile(title="0"), ADA)
    publish(found, range(2, publishes + 1), namespace, project)


def publish(found: PublishEventRelay, numbers: Sequence[int], namespace: str = "acme", project: str = "shop") -> None:
    for number in numbers:
        found.store.projects.change(namespace, project, {"title": str(number)}, ADA)


def relayed(found: PublishEventRelay) -> list[Event]:
    with found.database.reading() as connection:
        return list_events(connection, 0, 10_000)


def numbers(found: PublishEventRelay) -> list[object]:
    return [event.body["publishNumber"] for event in relayed(found)]


def test_what_is_there_at_the_first_start_is_no_news(tmp_path: Path) -> None:
    found = event_relay(tmp_path)
    made(found, publishes=3)
    found.begin({"acme": found.store.releases.manifest("acme")})
    found.begin({})
    found.relay("acme")
    assert relayed(found) == []
    publish(found, [4])
    found.relay("acme")
    found.relay("acme")
    assert numbers(found) == [4]


def test_before_its_start_nothing_is_relayed(tmp_path: Path) -> None:
    found = event_relay(tmp_path)
    made(found)
    found.relay("acme")
    assert relayed(found) == []


def test_a_namespace_created_later_is_relayed_from_its_first_publish_on(tmp_path: Path) -> None:
    found = event_relay(tmp_path)
    found.begin({})
    made(found, publishes=3)
    found.relay("acme")
    assert numbers(found) == [1, 2, 3]


def test_a_namespace_with_an_older_history_is_relayed_from_its_appearance_on(tmp_path: Path) -> None:
    found = event_relay(tmp_path, ManualClock(FAR))
    found.begin({})
    made(found, publishes=3)
    found.relay("acme")
    assert relayed(found) == []
    found.store.projects.create("acme", "new", ProjectFile(title="0"), ADA)
    publish(found, [4])
    found.relay("acme")
    assert [(event.project, event.body["publishNumber"]) for event in relayed(found)] == [("new", 1), ("shop", 4)]


@pytest.mark.parametrize("workers", [4])
def test_of_several_workers_one_relays_each_publish(tmp_path: Path, workers: int) -> None:
    found = [event_relay(tmp_path) for _ in range(workers)]
    found[0].begin({})
    made(found[0])
    with ThreadPoolExecutor(workers + 1) as pool:
        writing = pool.submit(publish, found[0], range(2, 16))
        while not writing.done():
            list(pool.map(lambda each: each.relay("acme"), found))
    writing.result()
    for each in found:
        each.relay("acme")
    assert numbers(found[0]) == list(range(1, 16))


def test_publishes_beyond_one_transaction_are_all_relayed(tmp_path: Path) -> None:
    found = event_relay(tmp_path)
    found.begin({})
    made(found, publishes=BATCH_SIZE + 5)
    found.relay("acme")
    assert numbers(found) == list(range(1, BATCH_SIZE + 6))


def test_a_removal_is_relayed_as_a_removal_and_numbers_go_on_afterwards(tmp_path: Path) -> None:
    found = event_relay(tmp_path)
    found.begin({})
    made(found)
    found.store.projects.delete("acme", "shop", ADA)
    found.relay("acme")
    found.store.projects.create("acme", "shop", ProjectFile(title="again"), ADA)
    found.relay("acme")
    assert [(event.body["publishNumber"], event.body["removed"]) for event in relayed(found)] == [
        (1, False),
        (2, True),
        (3, False),
    ]


def test_after_a_repository_was_restored_later_publishes_are_relayed(tmp_path: Path) -> None:
    found = event_relay(tmp_path / "data")
    found.begin({})
    made(found, publishes=2)
    repository, saved = found.store.directory.namespace("acme").repository, tmp_path / "saved"
    shutil.copytree(repository, saved)
    publish(found, [3, 4])
    found.relay("acme")
    shutil.rmtree(repository)
    saved.rename(repository)
    found.relay("acme")
    assert numbers(found) == [1, 2, 3, 4]
    found.store.namespaces.accept_rewind("acme", ADA)
    found.store.projects.change("acme", "shop", {"title": "another"}, ADA)
    found.relay("acme")
    assert numbers(found) == [1, 2, 3, 4, 5]


def test_a_namespace_is_forgotten_when_it_was_deleted_and_not_when_it_was_lost(tmp_path: Path) -> None:
    found = event_relay(tmp_path / "data")
    found.begin({})
    made(found)
    found.relay("acme")
    repository = found.store.directory.namespace("acme").repository
    repository.rename(tmp_path / "lost")
    found.forget_deleted([])
    assert numbers(found) == [1]
    (tmp_path / "lost").rename(repository)
    found.store.namespaces.delete("acme")
    found.forget_deleted([])
    assert relayed(found) == []
    made(found, publishes=2)
    found.relay("acme")
    assert numbers(found) == [2, 3], "they continue after those of the archived namespace"


def test_a_relay_that_fails_relays_everything_the_next_time(tmp_path: Path) -> None:
    """The result is the same for a kill before the database is written and for one within the transaction."""
    found, clock = event_relay(tmp_path), ManualClock()
    found.begin({})
    made(found, publishes=2)

    def broken() -> datetime:
        raise OSError("the machine fails")

    failing = PublishEventRelay(found.store, found.database, found.reader, broken, found.records)
    with pytest.raises(OSError, match="fails"):
        failing.relay("acme")
    assert relayed(found) == []
    clock.advance(minutes=1)
    found.relay("acme")
    assert numbers(found) == [1, 2]
    assert relayed(found)[0].at == START


def test_a_publish_among_many_projects_looks_up_its_own_cursor_only(tmp_path: Path) -> None:
    calls = {}
    for count in (3, 30):
        found = event_relay(tmp_path / str(count))
        found.begin({})
        made(found)
        for number in range(count):
            found.store.projects.create("acme", f"other{number}", ProjectFile(), ADA)
        for number in (2, 3, 4):  # the first ones import, and fill what a process keeps
            publish(found, [number])
            found.relay("acme")
        found.relay("acme")
        publish(found, [5])
        found.store.releases.manifest("acme")
        profile = cProfile.Profile()
        profile.runcall(found.relay, "acme")
        calls[count] = sum(entry.callcount for entry in profile.getstats())
        assert len(relayed(found)) == count + 5, "each publish has its event"
        assert numbers(found)[-1] == 5
    assert calls[30] <= 1.25 * calls[3]
    assert event_relay(tmp_path / "30").relay("acme") == found.store.releases.manifest("acme").commit
