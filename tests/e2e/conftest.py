"""Fixtures of the end-to-end tests: one service for all, a project of its own for each."""

from collections.abc import Iterator

import pytest

from tests.e2e.hooks import SETTINGS
from tests.e2e.receiver import Receiver, receiving
from tests.e2e.world import Place, World, world_of
from tests.service import WAYPOST, Service, running


@pytest.fixture(scope="session")
def world(waypost: Service) -> Iterator[World]:
    """The service that all tests share which neither break its disk nor kill it."""
    with world_of(waypost) as found:
        yield found


@pytest.fixture
def place(world: World) -> Place:
    """A new project in a new namespace."""
    return world.place()


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service that may send webhooks to loopback, and tries again at once."""
    data = tmp_path_factory.mktemp("hooked") / "data"
    with running(WAYPOST, data, SETTINGS) as service, world_of(service) as world:
        yield world


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that takes webhooks."""
    with receiving() as found:
        yield found
