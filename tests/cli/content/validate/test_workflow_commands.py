"""`waypost validate` in a job of GitHub, Gitea or Forgejo: no text of files is a command for the runner."""

import re
from pathlib import Path

import pytest

from tests.cli.rule_folders import RULES, project
from tests.cli.terminal import invoke

COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)  # as the runner looks for them: ActionCommand.cs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a file and a rule that are commands, in a job."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    rules = RULES.replace("FOUND", '"x ##[add-mask]e"')
    (tmp_path / "::stop-commands::tok").mkdir()
    (tmp_path / "::stop-commands::tok/x").write_text("")
    return project(tmp_path / "shop", {"redirects.yaml": rules}).parent


@pytest.mark.parametrize(
    "words", [(), ("--excerpt",), ("--format", "json"), ("--format", "junit"), ("--format", "sarif")]
)
def test_text_is_no_command(folder: Path, words: tuple[str, ...]) -> None:
    outcome = invoke("validate", ".", *words)
    assert outcome.code == 1
    assert "add-mask" in outcome.out
    assert not COMMAND.search(outcome.out + outcome.err), outcome.out
    if "json" in words:
        assert any("##[add-mask]e" in each["message"] for each in outcome.json["problems"])
    assert folder.is_dir()


def test_annotations_are_commands(folder: Path) -> None:
    assert all(line.startswith("::error ") for line in invoke("validate", ".", "--format", "github").out.splitlines())
    assert folder.is_dir()


def test_outside_a_job_text_is_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::stop-commands::tok: error: " in invoke("validate", folder).out


def test_settings_of_the_folder_are_noted(folder: Path) -> None:
    assert "settings of" not in invoke("validate", ".").err
    (folder / "waypost.toml").write_text('allowed_files = ["waypost.toml"]\n')
    assert "The settings of ./waypost.toml are used." in invoke("validate", ".").err
