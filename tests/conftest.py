"""Fixtures for all packages: data sets, a running service skeleton, and the whole service; tests that are left out."""

import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.requirements import IS_CI, fails_ci, missing, report
from tests.rounds import rounds
from tests.seeds import RANDOM_SEEDS
from tests.service import DATASETS, SKELETON, WAYPOST, Service, faults_in, running
from tests.ssh_keys import Key

# A deadline per example would measure the shared machine, not the code.
settings.register_profile("waypost", deadline=None, derandomize=not RANDOM_SEEDS, max_examples=rounds(30, 400))
settings.load_profile("waypost")


LEFT_OUT = pytest.StashKey[dict[str, int]]()


@pytest.fixture(scope="session")
def datasets() -> Path:
    """Return the folder of real redirect lists; tests that use it are left out where the folder is missing."""
    return DATASETS


@pytest.fixture(scope="session")
def web_server() -> None:
    """Mark a test that needs nginx and fcgiwrap; it is left out where they are not installed."""


@pytest.fixture(scope="session")
def proxy() -> None:
    """Mark a test that needs nginx in front of the service; it is left out where that is not installed."""


@pytest.fixture(scope="session")
def ssh_keygen() -> Callable[..., Key]:
    """Return the maker of keys by ssh-keygen; tests that use it are left out where it is not installed."""
    return Key.make


@pytest.fixture(scope="session")
def postgres_programs() -> None:
    """Mark a test that needs PostgreSQL; it is left out where PostgreSQL is not installed."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests whose requirements this machine lacks, and count them."""
    lacking = {item: missing(getattr(item, "fixturenames", ())) for item in items}
    left_out = Counter(requirement.fixture for requirement in lacking.values() if requirement)
    config.hook.pytest_deselected(items=[item for item in items if lacking[item]])
    items[:] = [item for item in items if lacking[item] is None]
    config.stash[LEFT_OUT] = dict(left_out)
    if hasattr(config, "workeroutput"):  # a worker of pytest-xdist
        config.workeroutput["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts of a worker; each one has collected all tests."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def _left_out(config: pytest.Config) -> dict[str, int]:
    none: dict[str, int] = {}
    return config.stash.get(LEFT_OUT, none)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the run fail in CI if tests were left out."""
    if IS_CI and fails_ci(_left_out(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the tests that were left out, and why."""
    for line in report(_left_out(terminalreporter.config)):
        terminalreporter.write_line(line, yellow=not IS_CI, red=IS_CI)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the service logged of faults and refused requests to the report of a failed test."""
    found = yield
    if found.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            service = getattr(value, "service", value)
            if isinstance(service, Service):
                found.sections.append((f"Faults logged by the service of {name}", faults_in(service.log)))
    return found


@pytest.fixture(scope="session")
def another_user() -> None:
    """Mark a test that runs commands as another user; it is left out where that is not possible."""


@pytest.fixture(scope="session")
def strace() -> Path:
    """Return the command that lets system calls fail; tests that need it are left out where it is not installed."""
    return Path(str(shutil.which("strace")))


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
