"""The documents of the provider: what one worker fetched, the others have without a fetch."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from api.db.state_store import StateStore, open_state_store
from api.db.timestamps import utc_now
from api.openid.documents import Documents
from api.openid.provider_client import ProviderAnswer, ProviderClient

URL = "https://id.example/.well-known/openid-configuration"


class CountingClient:
    """A fake client that answers every request with the same document, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    async def get(self, url: str) -> ProviderAnswer:
        """Answer with a document that names its address."""
        self.count += 1
        return ProviderAnswer(200, {"url": url})


@pytest.fixture
def state(tmp_path: Path) -> StateStore:
    return open_state_store(tmp_path)


def worker(state: StateStore, client: CountingClient) -> Documents:
    return Documents(state, cast(ProviderClient, client), utc_now)


def body(found: Any) -> Any:
    return found and dict(found.body)


def test_a_worker_that_never_asked_recalls_what_another_fetched(state: StateStore) -> None:
    """Else a logout by another worker than the login's would not name the provider's address."""
    client = CountingClient()
    first, second = worker(state, client), worker(state, client)
    assert second.recall(URL, bool) is None
    asyncio.run(first.find(URL, bool))
    assert body(first.recall(URL, bool)) == body(second.recall(URL, bool)) == {"url": URL}
    assert client.count == 1
