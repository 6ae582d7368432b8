"""The check that all files can be changed: what it finds in a namespace, and what it leaves out. Rights are faked: root has all."""

import os
import shutil
from pathlib import Path

import pytest

from api.app.data_directory import create_data, open_data
from api.runtime.health.write_check import WriteCheck
from api.settings import Settings
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, SHOP

NAMESPACE = "one"


@pytest.fixture
def check(tmp_path: Path) -> WriteCheck:
    """Return the check of a data directory with a namespace."""
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    store = Store(settings.data)
    store.namespaces.create(NAMESPACE, "", ADA)
    store.projects.create(NAMESPACE, SHOP, ProjectFile(), ADA)
    return WriteCheck(store.directory, open_data(settings))


def refuse(monkeypatch: pytest.MonkeyPatch, *ends: str, removes: bool = False) -> None:
    """Let the service have no rights to paths with these ends, which are removed at that moment if `removes`."""
    access = os.access

    def refused(path: str | Path, mode: int) -> bool:
        if not str(path).endswith(ends):
            return access(path, mode)
        if removes:
            shutil.rmtree(path)
        return False

    monkeypatch.setattr(os, "access", refused)


def repository(check: WriteCheck) -> Path:
    return check._directory.namespace(NAMESPACE).repository


def test_nothing_is_found_where_all_can_be_changed(check: WriteCheck) -> None:
    assert check.find(NAMESPACE) is None


@pytest.mark.parametrize("folder", ["refs/heads", "objects/pack", "objects/ab", "refs/heads/draft/shop"])
def test_a_folder_of_another_user_is_found(check: WriteCheck, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (repository(check) / folder).mkdir(parents=True, exist_ok=True)
    refuse(monkeypatch, folder)
    found = check.find(NAMESPACE)
    assert found is not None
    assert folder.rpartition("/")[2] in found.detail


def test_a_push_of_another_user_that_is_under_way_is_none_of_its_findings(
    check: WriteCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the node was degraded during each push by plain Git, and after each that was killed."""
    (repository(check) / "objects/tmp_objdir-incoming-x1").mkdir()
    refuse(monkeypatch, "tmp_objdir-incoming-x1")
    assert check.find(NAMESPACE) is None


def test_a_folder_that_is_removed_meanwhile_is_not_found(check: WriteCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository(check) / "refs/heads/draft/gone").mkdir(parents=True)
    refuse(monkeypatch, "draft/gone", removes=True)
    assert check.find(NAMESPACE) is None


def test_a_link_that_leads_to_itself_is_looked_past(check: WriteCheck) -> None:
    (repository(check) / "loop").symlink_to("loop")
    assert check.find(NAMESPACE) is None
