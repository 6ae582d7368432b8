"""Fixtures for the tests of the service."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from api.runtime.jobs.background import close_pools


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    """Keep the log of applications under test out of the output of the tests."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture(scope="session", autouse=True)
def _pools() -> Iterator[None]:
    """Close the process pools that tests used."""
    yield
    close_pools()
