"""Fixtures for all packages: data sets, a running service skeleton, and the whole service."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.exploring import EXPLORES
from tests.service import DATASETS, SKELETON, WAYPOST, Service, running

# A deadline per example measures the machine, which is shared, and not the code.
settings.register_profile("waypost", deadline=None, derandomize=not EXPLORES)
settings.load_profile("waypost")


@pytest.fixture(scope="session")
def datasets() -> Path:
    """The folder of real redirect lists; a test that needs it fails, saying so, where it is missing."""
    if not DATASETS.is_dir():
        pytest.fail(f"the redirect lists are missing: there is no folder {DATASETS}")
    return DATASETS


@pytest.fixture(scope="session")
def skeleton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service skeleton with fakes behind it, on two real workers; with short deadlines for slow clients."""
    deadlines = {f"WAYPOST_{name}": "1" for name in ("HEADER_TIMEOUT", "BODY_TIMEOUT", "WRITE_TIMEOUT", "KEEPALIVE")}
    with running(SKELETON, tmp_path_factory.mktemp("skeleton") / "data", deadlines) as service:
        yield service


@pytest.fixture(scope="session")
def waypost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The whole service as `waypost serve` starts it, on two real workers, with an empty data directory."""
    with running(WAYPOST, tmp_path_factory.mktemp("waypost") / "data") as service:
        yield service
