"""Fixtures of the store's tests."""

from pathlib import Path

import pytest

from tests.gitstore.fixtures import SHOP, Place, create_place


@pytest.fixture
def empty(tmp_path: Path) -> Place:
    """Return a data directory with the namespace `acme`, without projects."""
    return create_place(tmp_path / "data")


@pytest.fixture
def place(empty: Place) -> Place:
    """Return the same with the project `shop`, published without rules."""
    return empty.begin(SHOP)
