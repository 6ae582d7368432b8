"""Fixtures of the store's tests."""

from pathlib import Path

import pytest

from tests.gitstore.places import SHOP, Place, found


@pytest.fixture
def empty(tmp_path: Path) -> Place:
    """A data directory with the namespace `acme`, without projects."""
    return found(tmp_path / "data")


@pytest.fixture
def place(empty: Place) -> Place:
    """The same with the project `shop`, published without rules."""
    return empty.begin(SHOP)
