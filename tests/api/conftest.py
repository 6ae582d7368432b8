"""Fixtures for the tests of the service."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from api.background import close_pools


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    """Keep the log of applications that run inside the tests out of their output."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture(scope="session", autouse=True)
def _pools() -> Iterator[None]:
    """End the pools that tests have used."""
    yield
    close_pools()
