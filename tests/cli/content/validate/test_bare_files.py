"""Commands on a checkout whose files look like a bare repository: they are files, and nothing of them is obeyed."""

import shutil
from pathlib import Path

import pytest

from cli.preview.head import read_head
from tests.cli.bare_files import disguise
from tests.cli.ci.jobs import commit, git
from tests.cli.rule_folders import RULES, flow, project
from tests.cli.terminal import invoke, invoke_ok

BAD = flow("bad")


@pytest.fixture(params=["rules", "."])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder of a fresh clone, the root or below it, with an invalid rule and the files of a bare repository."""
    origin = tmp_path / "origin"
    folder = origin / request.param
    project(folder / "shop", {"redirects.yaml": RULES})
    git(origin, "init", "-q", "-b", "release")
    commit(origin, "Begin")
    git(origin, "checkout", "-q", "-b", "change")
    (folder / "shop/redirects.yaml").write_text(BAD)
    disguise(folder, tmp_path / "ran")
    commit(origin, "Disguise")
    git(tmp_path, "clone", "-q", "--branch", "change", origin.as_uri(), "clone")
    shutil.rmtree(origin)
    below: str = request.param
    return tmp_path / "clone" / below


def test_its_files_are_checked(folder: Path) -> None:
    outcome = invoke("validate", folder)
    assert outcome.code == 1
    assert "shop/redirects.yaml:2:" in outcome.out
    assert "HEAD" in outcome.out
    assert "its files are checked, not its branches" in outcome.err
    assert "Nothing to fix." in invoke("validate", folder, "--fix").err


def test_no_command_of_its_configuration_runs(folder: Path, tmp_path: Path) -> None:
    since = invoke("validate", folder, "--changed-since", "origin/release")
    assert (since.code, "Checked: objects, refs, shop." in since.err) == (1, True), since.err
    diff = invoke_ok("diff", folder, "--base", "origin/release", "--format", "markdown")
    assert "10 errors" in diff.out
    head = read_head(folder)
    assert head
    assert head.commit == git(tmp_path / "clone", "rev-parse", "HEAD")
    assert not (tmp_path / "ran").exists()


def test_without_a_checkout_around_it_git_is_not_asked(folder: Path, tmp_path: Path) -> None:
    """A HEAD that leads nowhere is a repository for git, and no file."""
    shutil.rmtree(tmp_path / "clone/.git")
    (folder / "HEAD").unlink()
    (folder / "HEAD").symlink_to("refs/heads/release")
    for words in (("validate", "--changed-since"), ("diff", "--base")):
        outcome = invoke(words[0], folder, words[1], "origin/release")
        assert (outcome.code, "is not in a Git repository" in outcome.err) == (2, True)
    assert read_head(folder) is None
    assert not (tmp_path / "ran").exists()


def test_the_repository_of_a_checkout_can_be_named(folder: Path, tmp_path: Path) -> None:
    git(tmp_path / "clone", "branch", "release", "origin/release")
    outcome = invoke("validate", tmp_path / "clone/.git")
    assert "Its branch release is checked." in outcome.err
    assert folder.is_dir()
