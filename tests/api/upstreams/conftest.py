"""A data directory for the parts of the background that talk to upstreams."""

from pathlib import Path

import pytest

from api.app.data_directory import adopt, create_data, data_parts
from api.data.served_data import ServedData
from api.settings import Settings


@pytest.fixture
def served(tmp_path: Path) -> ServedData:
    """Create a data directory, and recognize it."""
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    parts = data_parts(settings)
    served = ServedData(parts, adopt(parts))
    assert served.check() is None
    return served
