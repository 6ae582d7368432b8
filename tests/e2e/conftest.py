"""Fixtures of the end-to-end tests: one shared service, and a project for each test."""

from collections.abc import Iterator

import pytest

from tests.e2e.hooks import SETTINGS
from tests.e2e.receiver import Receiver, receiving
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, Service, running


@pytest.fixture(scope="session")
def world(waypost: Service) -> Iterator[World]:
    """Run the service of all tests that neither break its disk nor kill it."""
    with open_world(waypost) as found:
        yield found


@pytest.fixture
def place(world: World) -> Place:
    """Create a project in a new namespace."""
    return world.place()


@pytest.fixture(scope="module")
def webhook_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that may send webhooks to loopback, and retries at once."""
    data = tmp_path_factory.mktemp("hooked") / "data"
    with running(WAYPOST, data, SETTINGS) as service, open_world(service) as world:
        yield world


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run a server that accepts webhooks."""
    with receiving() as found:
        yield found
