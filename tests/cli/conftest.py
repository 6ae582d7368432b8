"""Fixtures of the command line: a folder with an empty data directory, one with the sample namespace, and the wheel."""

import os
import shutil
from pathlib import Path

import pytest

from api.app.data_directory import create_data
from api.settings import Settings
from gitstore.git.repository import Author
from gitstore.store.store import Store
from tests.cli.installation import build_wheel
from tests.cli.terminal import SAMPLE
from tests.service import ROOT


@pytest.fixture(autouse=True)
def work_folder(created: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with nothing but an empty data directory, without settings in the environment, and with an author to identify commits by."""
    place = tmp_path / "work"
    place.mkdir()
    shutil.copytree(created, place / "data")
    monkeypatch.chdir(place)
    for name in [name for name in os.environ if name.startswith("WAYPOST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace Tester")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "grace@tests.example")
    return place


@pytest.fixture(scope="session")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a data directory without content, not to be changed."""
    data = tmp_path_factory.mktemp("created") / "data"
    create_data(Settings(data=data))
    return data


@pytest.fixture(scope="session")
def adopted(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a data directory with the sample namespace, not to be changed."""
    data = tmp_path_factory.mktemp("adopted") / "data"
    shutil.copytree(created, data)
    store = Store(data, hook=Settings(data=data).push_hook)
    store.namespaces.import_folder("sample", "A sample.", SAMPLE, Author("Robin Sample", "robin@sample.example"))
    return data


@pytest.fixture
def data(adopted: Path, work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the data directory with the sample namespace for the test; commands find it by WAYPOST_DATA."""
    own = work_folder / "data"
    shutil.copytree(adopted, own, dirs_exist_ok=True)
    monkeypatch.setenv("WAYPOST_DATA", str(own))
    return own


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sources as they are."""
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))
