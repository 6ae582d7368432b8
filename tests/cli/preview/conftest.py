"""Fixtures for the tests of previews."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.preview.world import RunningPreview, make_repository, previewing


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return a folder for the output and the temporary files of previews."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the sample content, as a Git repository with one commit."""
    return make_repository(tmp_path / "acme")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPreview]:
    """Return a running preview of the sample content for tests that change no file."""
    scratch = tmp_path_factory.mktemp("shared")
    with previewing(make_repository(scratch / "acme"), scratch) as running:
        yield running
