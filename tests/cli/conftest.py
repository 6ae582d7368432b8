"""Fixtures for the command line: an empty place to work in, and a data directory with the sample namespace."""

import os
import shutil
from pathlib import Path

import pytest

from gitstore.repository import Author
from gitstore.store import Store
from tests.cli.terminal import SAMPLE


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, no settings in the environment, and an author that commits can be told by."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    for name in [name for name in os.environ if name.startswith("WAYPOST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace Tester")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "grace@tests.example")
    return place


@pytest.fixture(scope="session")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the sample namespace, not to be changed."""
    data = tmp_path_factory.mktemp("adopted") / "data"
    Store(data).adopt_folder("sample", "A sample.", SAMPLE, Author("Robin Sample", "robin@sample.example"))
    return data


@pytest.fixture
def data(adopted: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of the test's own, with the sample namespace; commands find it by WAYPOST_DATA."""
    own = workplace / "data"
    shutil.copytree(adopted, own)
    monkeypatch.setenv("WAYPOST_DATA", str(own))
    return own
