"""The pushers of commits, as rows in a real SQLite file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path

import pytest
from sqlalchemy import func, select

from api.db.database import Connection
from api.db.namespaces.pushed_commits import (
    add_pushed,
    archive_pushed,
    find_pushers,
    keep_pushed,
    list_namespaces,
    list_pushed,
    remove_pushed_of,
    restore_pushed,
)
from api.db.state_store import open_state_store
from api.db.tables import pushed_commits
from gitstore.layout import CommitId

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANN, BEN = "user-1@waypost.invalid", "user-2@waypost.invalid"
COMMITS = [CommitId(sha1(b"%d" % number, usedforsecurity=False).hexdigest()) for number in range(10_000)]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    state = open_state_store(tmp_path)
    with state.database.writing() as found:
        yield found
    state.close()


def test_a_push_of_any_size_adds_few_rows(connection: Connection) -> None:
    """Each of its commits is found, and no other: not one whose id begins inside the ids of two others."""
    add_pushed(connection, "acme", ANN, COMMITS[:-1], NOW)
    add_pushed(connection, "acme", BEN, [COMMITS[0]], NOW)
    assert connection.execute(select(func.count()).select_from(pushed_commits)).scalar_one() == 256 + 1
    assert all(find_pushers(connection, "acme", [each]) == {ANN} for each in COMMITS[1:-1:250])
    assert find_pushers(connection, "acme", COMMITS) == find_pushers(connection, "acme", COMMITS[:1]) == {ANN, BEN}
    one, other = CommitId("0000" + "aa" * 18), CommitId("00" + "bb" * 19)
    add_pushed(connection, "near", ANN, [other, one], NOW)
    assert find_pushers(connection, "near", [CommitId(one[2:] + other[:2])]) == set()
    assert find_pushers(connection, "acme", [COMMITS[-1]]) == find_pushers(connection, "acme", []) == set()
    assert find_pushers(connection, "other", COMMITS) == set()


def test_what_is_not_needed_is_forgotten(connection: Connection) -> None:
    one, two, *_ = (each for each in COMMITS if each.startswith("00"))
    add_pushed(connection, "acme", ANN, [one, two], NOW)
    [row] = list_pushed(connection, "acme")
    assert (row.at, row.commits, list_namespaces(connection)) == (NOW, tuple(sorted([one, two])), {"acme": row.id})
    keep_pushed(connection, row.id, [two])
    assert find_pushers(connection, "acme", [one]) == set()
    assert find_pushers(connection, "acme", [two]) == {ANN}
    keep_pushed(connection, row.id, [])
    assert (list_pushed(connection, "acme"), list_namespaces(connection)) == ([], {})


def test_the_pushers_of_an_archived_namespace_come_back_with_it_alone(connection: Connection) -> None:
    add_pushed(connection, "acme", ANN, COMMITS[:1], NOW)
    [row] = list_pushed(connection, "acme")
    archive_pushed(connection, "acme", "acme-1")
    add_pushed(connection, "acme", BEN, COMMITS[:1], NOW)
    keep_pushed(connection, row.id, [])
    assert find_pushers(connection, "acme", COMMITS[:1]) == {BEN}
    remove_pushed_of(connection, "acme")
    assert find_pushers(connection, "acme", COMMITS[:1]) == set()
    restore_pushed(connection, "acme", "acme-2")
    assert find_pushers(connection, "acme", COMMITS[:1]) == set()
    restore_pushed(connection, "acme", "acme-1")
    assert find_pushers(connection, "acme", COMMITS[:1]) == {ANN}
