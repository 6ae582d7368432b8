"""Many webhooks at once: those of a namespace share transactions, and a replay among them counts once."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event

from api.db.namespaces.upstreams import StoredUpstream, put_upstream, require_upstream
from api.db.state_store import StateStore, open_state_store
from api.errors import ApiError
from api.upstreams.host_webhooks import HookAction, HostWebhook, HostWebhooks
from tests.api.upstreams.host_bodies import SECRET, Sent, github

MANY = 200
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateStore]:
    """Open a state with an upstream."""
    found = open_state_store(tmp_path)
    with found.database.writing() as connection:
        put_upstream(connection, StoredUpstream("acme", "/r.git", "source", "release", hook_secret=SECRET))
    yield found
    found.close()


def to_webhook(sent: Sent) -> HostWebhook:
    """Return a webhook as the service gets it."""
    headers = {name.lower(): value for name, value in sent.headers.items()}
    return HostWebhook(lambda name: headers.get(name, ""), sent.body)


def test_a_burst_of_webhooks_is_a_few_transactions(state: StateStore) -> None:
    commits = list[str]()

    async def send() -> list[object]:
        webhooks = HostWebhooks(state, lambda: NOW)
        sent = [to_webhook(github("refs/heads/release", nonce=str(number))) for number in range(MANY)]
        return await asyncio.gather(
            *(webhooks.receive("acme", each) for each in [*sent, sent[0]]), return_exceptions=True
        )

    event.listen(state.database._engine, "commit", lambda _: commits.append("commit"))
    found = asyncio.run(send())
    assert found.count(HookAction.SYNC) == MANY
    [replay] = [each for each in found if each is not HookAction.SYNC]
    assert isinstance(replay, ApiError)
    assert replay.status == 409
    assert len(commits) < MANY / 4
    with state.database.reading() as connection:
        assert require_upstream(connection, "acme").requests in {len(commits), len(commits) - 1}, (
            "a batch of the replay alone"
        )
