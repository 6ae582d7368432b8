"""Fixtures of the data directory: a complete one, as a first start leaves it."""

import shutil
from pathlib import Path

import pytest

from api.app.data_directory import create_data, data_parts
from api.data.parts import DataParts
from api.settings import Settings


@pytest.fixture(scope="session")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a complete data directory, not to be changed."""
    data = tmp_path_factory.mktemp("complete") / "data"
    create_data(Settings(data=data))
    return data


@pytest.fixture
def parts(complete: Path, tmp_path: Path) -> DataParts:
    """Copy a complete data directory for the test."""
    shutil.copytree(complete, tmp_path / "data")
    return data_parts(Settings(data=tmp_path / "data"))
