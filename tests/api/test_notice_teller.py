"""Publishes become events: real repositories, real SQLite, and several tellers as several workers have them."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.notice.teller import AT_ONCE, Teller
from api.state.events import Event, list_events
from api.state.moment import Clock
from api.state.state import open_state
from gitstore.project_file import ProjectFile
from gitstore.repository import Author
from gitstore.store import Store
from tests.api.world import START, SetClock

ADA = Author("Ada Lovelace", "ada@example.com")
FAR = datetime(2100, 1, 1, tzinfo=UTC)
"""After everything that is committed here."""


def teller(folder: Path, clock: Clock | None = None) -> Teller:
    """What one worker tells with; its store and connections are its own."""
    database = open_state(folder).database
    return Teller(Store(folder), database, database, clock or SetClock())


def made(found: Teller, namespace: str = "acme", project: str = "shop", publishes: int = 1) -> None:
    """A project with so many publishes, in a new namespace."""
    found.store.create_namespace(namespace, "", ADA)
    found.store.create_project(namespace, project, ProjectFile(title="0"), ADA)
    publish(found, range(2, publishes + 1), namespace, project)


def publish(found: Teller, numbers: Sequence[int], namespace: str = "acme", project: str = "shop") -> None:
    for number in numbers:
        found.store.change_project(namespace, project, {"title": str(number)}, ADA)


def told(found: Teller) -> list[Event]:
    with found.database.reading() as connection:
        return list_events(connection, 0, 10_000)


def numbers(found: Teller) -> list[object]:
    return [event.body["publishNumber"] for event in told(found)]


def test_what_is_there_at_the_first_start_is_no_news(tmp_path: Path) -> None:
    found = teller(tmp_path)
    made(found, publishes=3)
    found.begin({"acme": found.store.manifest("acme")})
    found.begin({})
    found.tell("acme")
    assert told(found) == []
    publish(found, [4])
    found.tell("acme")
    found.tell("acme")
    assert numbers(found) == [4]


def test_before_it_has_begun_nothing_is_told(tmp_path: Path) -> None:
    found = teller(tmp_path)
    made(found)
    found.tell("acme")
    assert told(found) == []


def test_a_namespace_that_is_made_afterwards_is_told_from_its_first_publish_on(tmp_path: Path) -> None:
    found = teller(tmp_path)
    found.begin({})
    made(found, publishes=3)
    found.tell("acme")
    assert numbers(found) == [1, 2, 3]


def test_a_namespace_that_appears_with_an_older_history_is_told_from_then_on(tmp_path: Path) -> None:
    found = teller(tmp_path, SetClock(FAR))
    found.begin({})
    made(found, publishes=3)
    found.tell("acme")
    assert told(found) == []
    found.store.create_project("acme", "new", ProjectFile(title="0"), ADA)
    publish(found, [4])
    found.tell("acme")
    assert [(event.project, event.body["publishNumber"]) for event in told(found)] == [("new", 1), ("shop", 4)]


@pytest.mark.parametrize("workers", [4])
def test_of_several_workers_one_tells_of_each_publish(tmp_path: Path, workers: int) -> None:
    found = [teller(tmp_path) for _ in range(workers)]
    found[0].begin({})
    made(found[0])
    with ThreadPoolExecutor(workers + 1) as pool:
        writing = pool.submit(publish, found[0], range(2, 16))
        while not writing.done():
            list(pool.map(lambda each: each.tell("acme"), found))
    writing.result()
    for each in found:
        each.tell("acme")
    assert numbers(found[0]) == list(range(1, 16))


def test_more_than_one_transaction_takes_are_all_told(tmp_path: Path) -> None:
    found = teller(tmp_path)
    found.begin({})
    made(found, publishes=AT_ONCE + 5)
    found.tell("acme")
    assert numbers(found) == list(range(1, AT_ONCE + 6))


def test_a_removal_is_told_as_that_and_numbers_go_on_afterwards(tmp_path: Path) -> None:
    found = teller(tmp_path)
    found.begin({})
    made(found)
    found.store.delete_project("acme", "shop", ADA)
    found.tell("acme")
    found.store.create_project("acme", "shop", ProjectFile(title="again"), ADA)
    found.tell("acme")
    assert [(event.body["publishNumber"], event.body["removed"]) for event in told(found)] == [
        (1, False),
        (2, True),
        (3, False),
    ]


def test_after_a_repository_was_put_back_what_is_published_from_then_on_is_told(tmp_path: Path) -> None:
    found = teller(tmp_path / "data")
    found.begin({})
    made(found, publishes=2)
    repository, saved = found.store.directory.namespace("acme").repository, tmp_path / "saved"
    shutil.copytree(repository, saved)
    publish(found, [3, 4])
    found.tell("acme")
    shutil.rmtree(repository)
    saved.rename(repository)
    found.tell("acme")
    assert numbers(found) == [1, 2, 3, 4]
    found.store.change_project("acme", "shop", {"title": "another"}, ADA)
    found.tell("acme")
    assert numbers(found) == [1, 2, 3, 4, 3]


def test_a_namespace_is_forgotten_when_it_was_deleted_and_not_when_it_was_lost(tmp_path: Path) -> None:
    found = teller(tmp_path / "data")
    found.begin({})
    made(found)
    found.tell("acme")
    repository = found.store.directory.namespace("acme").repository
    repository.rename(tmp_path / "lost")
    found.forget_gone([])
    assert numbers(found) == [1]
    (tmp_path / "lost").rename(repository)
    found.store.delete_namespace("acme")
    found.forget_gone([])
    assert told(found) == []
    made(found, publishes=2)
    found.tell("acme")
    assert numbers(found) == [1, 2]


def test_a_teller_that_fails_tells_everything_the_next_time(tmp_path: Path) -> None:
    """Killed between the move of the ref and the database, or in the middle of the transaction: it is the same."""
    found, clock = teller(tmp_path), SetClock()
    found.begin({})
    made(found, publishes=2)

    def broken() -> datetime:
        raise OSError("the machine fails")

    failing = Teller(found.store, found.database, found.reader, broken)
    with pytest.raises(OSError, match="fails"):
        failing.tell("acme")
    assert told(found) == []
    clock.advance(minutes=1)
    found.tell("acme")
    assert numbers(found) == [1, 2]
    assert told(found)[0].at == START
