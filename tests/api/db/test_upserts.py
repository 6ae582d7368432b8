"""Two writers of one row at once: on SQLite and on PostgreSQL, none fails by the key, and a count misses none of them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import pytest
from sqlalchemy import func, select

from api.db.database import Connection
from api.db.namespaces.commit_statuses import StoredStatus, note_status
from api.db.namespaces.pull_requests import StoredPull, find_pull, put_pull
from api.db.namespaces.upstreams import StoredUpstream, note_webhooks, put_upstream, require_upstream
from api.db.state_store import StateStore, open_state_store
from api.db.tables import commit_statuses
from tests.postgres import running_postgres

WRITERS, ROUNDS = 4, 12
T = TypeVar("T")
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
PULL = StoredPull("acme", "shop", "main", "waypost/shop/main", "2" * 40, 7, "https://host.example/7", "open", NOW)
STATUS = StoredStatus("acme", "1" * 40, "waypost/acme/served", "failure", "1 problem", "")


@pytest.fixture(params=("sqlite", "postgres"))
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    """Open the state of each kind of database."""
    if request.param == "sqlite":
        yield open_state_store(tmp_path)
        return
    request.getfixturevalue("postgres_programs")
    with running_postgres() as server:
        found = open_state_store(tmp_path, server.database())
        yield found
        found.close()


def race(state: StateStore, write: Callable[[Connection, int], T]) -> list[T]:
    """Have some writers begin a transaction each, and write at once as far as the database lets them."""
    barrier = Barrier(WRITERS)

    def run(number: int) -> T:
        barrier.wait()
        with state.database.writing() as connection:
            return write(connection, number)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(run, range(WRITERS)))


def test_writers_of_one_row_never_fail(state: StateStore) -> None:
    for number in range(ROUNDS):
        name = f"space-{number}"
        upstream = StoredUpstream(name, "https://host.example/acme.git", "source", "release", requests=1)
        race(state, lambda connection, _, found=upstream: put_upstream(connection, found))  # type: ignore[misc]  # its default is of the round
        pull = replace(PULL, namespace=name)
        race(state, lambda connection, at, found=pull: put_pull(connection, replace(found, number=at)))  # type: ignore[misc]  # as above
        with state.database.reading() as connection:
            placed = require_upstream(connection, name)
            assert placed == replace(upstream, requests=WRITERS, revision=placed.revision)
            stored = find_pull(connection, name, "shop", "main")
            assert stored is not None
            assert stored.number in range(WRITERS)


def test_a_webhook_and_a_status_count_once_for_all_writers(state: StateStore) -> None:
    for number in range(ROUNDS):
        name = f"space-{number}"
        hooks = race(state, lambda connection, _, found=name: note_webhooks(connection, found, [b"digest"], NOW)[0])  # type: ignore[misc]  # as above
        assert sorted(hooks) == [False] * (WRITERS - 1) + [True]
        status = replace(STATUS, namespace=name)
        noted = race(state, lambda connection, _, found=status: note_status(connection, found, NOW))  # type: ignore[misc]  # as above
        assert sorted(noted) == [False] * (WRITERS - 1) + [True]
    with state.database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(commit_statuses)).scalar_one() == ROUNDS


def test_another_text_of_a_status_is_sent_again(state: StateStore) -> None:
    with state.database.writing() as connection:
        assert note_status(connection, STATUS, NOW)
        assert note_status(connection, replace(STATUS, text="Served"), NOW)
        assert not note_status(connection, replace(STATUS, text="Served"), NOW)
