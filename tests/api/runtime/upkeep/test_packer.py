"""The packer looks at no namespace while the data directory is lost."""

import os
from pathlib import Path

from api.app.data_directory import create_data, open_data
from api.runtime.upkeep.packer import Packer
from api.settings import Settings
from gitstore.git.packs.packing import LOCK_FILE, MOST_LOOSE
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SPACE


def test_nothing_is_packed_while_the_data_is_lost(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    store = Store(settings.data)
    store.namespaces.create(SPACE, "Acme", ADA)
    paths = store.directory.namespace(SPACE)
    for at in range(4 * MOST_LOOSE):
        folder = paths.repository / f"objects/{at % 256:02x}"
        folder.mkdir(exist_ok=True)
        (folder / f"{at:038x}").touch()
    packer = Packer(store.directory, open_data(settings))
    assert packer.is_due(paths)
    (paths.repository / LOCK_FILE).unlink()
    keys = settings.data / "keys"
    keys.rename(tmp_path / "away")
    assert not packer.is_due(paths)
    assert not os.path.lexists(paths.repository / LOCK_FILE)
    (tmp_path / "away").rename(keys)
    assert packer.is_due(paths)
