"""Fixtures for all packages: data sets, a running service skeleton, and the whole service."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.seeds import RANDOM_SEEDS
from tests.service import DATASETS, SKELETON, WAYPOST, Service, running

# A deadline per example would measure the shared machine, not the code.
settings.register_profile("waypost", deadline=None, derandomize=not RANDOM_SEEDS)
settings.load_profile("waypost")


@pytest.fixture(scope="session")
def datasets() -> Path:
    """Return the folder of real redirect lists; tests that use it are deselected where the folder is missing."""
    return DATASETS


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests on real lists where the lists are missing: they are not part of the project."""
    if DATASETS.is_dir():
        return
    needing = [item for item in items if "datasets" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=needing)
    items[:] = [item for item in items if item not in set(needing)]


def pytest_report_header() -> str:
    """Report whether the tests on real lists run."""
    return (
        f"real redirect lists: {DATASETS if DATASETS.is_dir() else f'none in {DATASETS}; their tests are deselected'}"
    )


@pytest.fixture(scope="session")
def strace() -> Path:
    """Return the command that lets system calls fail."""
    found = shutil.which("strace")
    if found is None:
        pytest.fail("strace is missing. Install it: apt install strace")
    return Path(found)


@pytest.fixture(scope="session")
def skeleton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service skeleton with fakes behind it, on two real workers, with short deadlines for slow clients."""
    deadlines = {f"WAYPOST_{name}": "1" for name in ("HEADER_TIMEOUT", "BODY_TIMEOUT", "WRITE_TIMEOUT", "KEEPALIVE")}
    with running(SKELETON, tmp_path_factory.mktemp("skeleton") / "data", deadlines) as service:
        yield service


@pytest.fixture(scope="session")
def waypost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the whole service as `waypost serve` starts it, on two real workers, with an empty data directory."""
    with running(WAYPOST, tmp_path_factory.mktemp("waypost") / "data") as service:
        yield service
