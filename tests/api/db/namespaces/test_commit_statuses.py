"""Commit statuses in the database: each is sent once, by one node, again after a failure; and pull requests of drafts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.db.namespaces import upstreams
from api.db.namespaces.commit_statuses import (
    StoredStatus,
    claim_statuses,
    find_failure,
    is_noted,
    list_due,
    note_status,
    record_attempt,
    retry_statuses,
)
from api.db.namespaces.pull_requests import StoredPull, find_pull, list_unfinished, put_pull, remove_pull, set_state
from api.db.state_store import StateStore, open_state_store

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=60)
STATUS = StoredStatus("acme", "1" * 40, "waypost/acme/served", "failure", "1 problem", "https://waypost.example/")
PULL = StoredPull("acme", "shop", "main", "waypost/shop/main", "2" * 40, 7, "https://host.example/7", "open", NOW)


@pytest.fixture
def state(tmp_path: Path) -> StateStore:
    return open_state_store(tmp_path)


def claim(state: StateStore, at: datetime = NOW, *namespaces: str) -> list[StoredStatus]:
    """Claim what is due for a minute."""
    with state.database.writing() as connection:
        return claim_statuses(connection, namespaces or ("acme",), at, at + timedelta(seconds=60), 10)


def note(state: StateStore, status: StoredStatus = STATUS) -> bool:
    """Note a status."""
    with state.database.writing() as connection:
        return note_status(connection, status, NOW)


def record(state: StateStore, status: StoredStatus, error: str, due_at: datetime | None) -> None:
    """Record an attempt."""
    with state.database.writing() as connection:
        record_attempt(connection, status, error, due_at)


def test_the_same_status_is_noted_and_sent_once(state: StateStore) -> None:
    assert (note(state), note(state)) == (True, False)
    assert claim(state, NOW, "other") == []
    assert (claim(state), claim(state)) == ([STATUS], [])
    record(state, STATUS, "", None)
    assert note(state) is False
    assert claim(state, NOW + timedelta(days=1)) == []
    with state.database.reading() as connection:
        assert (is_noted(connection, STATUS), list_due(connection, LATER)) == (True, frozenset())


def test_another_state_of_the_commit_is_sent_also_after_the_first(state: StateStore) -> None:
    note(state)
    record(state, STATUS, "", None)
    changed = replace(STATUS, state="success", text="Served")
    assert note(state, changed) is True
    assert claim(state) == [changed]
    record(state, STATUS, "late", LATER)
    assert claim(state, LATER + timedelta(seconds=1)) == [changed]


def test_a_claim_that_is_never_answered_expires(state: StateStore) -> None:
    note(state)
    assert claim(state) == claim(state, LATER) == [STATUS]


def test_a_failure_is_due_again_later_and_at_once_after_a_change(state: StateStore) -> None:
    note(state)
    [found] = claim(state)
    record(state, found, "refused", LATER)
    assert claim(state) == []
    assert [each.attempts for each in claim(state, LATER)] == [1]
    record(state, replace(found, attempts=9), "refused", None)
    assert claim(state, NOW + timedelta(days=9)) == []
    with state.database.writing() as connection:
        assert find_failure(connection, "acme") == "refused"
        retry_statuses(connection, "acme", NOW)
    assert [each.attempts for each in claim(state)] == [0]
    record(state, found, "", None)
    with state.database.reading() as connection:
        assert find_failure(connection, "acme") == ""


def test_a_draft_has_one_pull_request_and_an_older_one_changes_nothing(state: StateStore) -> None:
    newer = replace(PULL, commit="3" * 40)
    with state.database.writing() as connection:
        put_pull(connection, PULL)
        put_pull(connection, newer)
        assert find_pull(connection, "acme", "shop", "main") == newer
        assert set_state(connection, PULL, "merged") is False
        remove_pull(connection, PULL)
        assert list_unfinished(connection, ("open",)) == {"acme": [newer]}
        assert set_state(connection, newer, "closed") is True
        assert list_unfinished(connection, ("open", "merged")) == {}
        remove_pull(connection, newer)
        assert find_pull(connection, "acme", "shop", "main") is None


def test_statuses_and_pull_requests_go_with_the_upstream(state: StateStore) -> None:
    note(state)
    with state.database.writing() as connection:
        put_pull(connection, PULL)
        upstreams.archive_upstream(connection, "acme", "an-archive")
        assert find_pull(connection, "acme", "shop", "main") is None
        assert list_due(connection, LATER) == frozenset()
