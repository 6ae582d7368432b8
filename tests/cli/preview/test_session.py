"""A session of a preview without its service: what goes wrong after a save is served does not end it."""

import errno
from pathlib import Path

import pytest

from api.data.preview import Preview
from cli.console.setup import operator
from cli.preview.baseline import Baseline
from cli.preview.session import Session
from gitstore.namespaces.working_directory import WorkingDirectory
from gitstore.store.store import store_at
from tests.cli.rule_folders import project


def compare_on_full_disk(_baseline: Baseline, _single: str) -> None:
    """Fail as the write of a cache does: a fake of the comparison since HEAD."""
    raise OSError(errno.ENOSPC, "No space left on device", "/srv/cache")


def test_a_report_that_fails_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "acme"
    project(folder / "shop")
    for name in ("repos", "compiled"):
        (tmp_path / "data" / name).mkdir(parents=True)
    store = store_at(tmp_path / "data")
    store.namespaces.create("acme", "", operator())
    session = Session(store, WorkingDirectory(folder), Preview("", "acme", frozenset(), 1, tmp_path / "state.json"))
    monkeypatch.setattr(Baseline, "compare", compare_on_full_disk)
    session.look()
    printed = capsys.readouterr().out
    assert "Served." in printed
    assert "The changes cannot be listed: /srv/cache cannot be used: No space left on device." in printed
    assert list(session.projects) == ["shop"]
