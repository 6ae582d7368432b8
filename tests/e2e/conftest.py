"""Fixtures of the end-to-end tests: one service for all, a project of its own for each."""

from collections.abc import Iterator

import pytest

from tests.e2e.world import Place, World, world_of
from tests.service import Service


@pytest.fixture(scope="session")
def world(waypost: Service) -> Iterator[World]:
    """The service that all tests share which neither break its disk nor kill it."""
    with world_of(waypost) as found:
        yield found


@pytest.fixture
def place(world: World) -> Place:
    """A new project in a new namespace."""
    return world.place()
