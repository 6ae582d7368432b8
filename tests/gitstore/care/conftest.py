"""A repository with packed and loose objects, refs and a draft, to be damaged."""

import shutil
from pathlib import Path

import pytest

from tests.gitstore.care.damaged import Patient
from tests.gitstore.fixtures import SHOP, create_place, put, redirect


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the data directory once; no test changes it."""
    root = tmp_path_factory.mktemp("healthy") / "data"
    place = create_place(root).begin(SHOP)
    for number in range(4):
        place.publish(put(redirect(f"/packed-{number}", f"/new-{number}")))
    place.git("repack", "-adq")
    place.git("pack-refs", "--all")
    for number in range(4):
        place.publish(put(redirect(f"/loose-{number}", f"/new-{number}")))
    place.save(put(redirect("/draft")))
    place.store.releases.project(place.paths.name, SHOP)
    (place.repo / "waypost-objects").unlink()  # what it has would be repaired from it
    return root


@pytest.fixture
def patient(healthy: Path, tmp_path: Path) -> Patient:
    """Return a copy to damage."""
    shutil.copytree(healthy, tmp_path / "data", symlinks=True)
    return Patient(tmp_path / "data")
