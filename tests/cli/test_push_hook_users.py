"""Pushes by path by another user of the system, who has rights on the repository alone."""

import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.plain_pushes import BAD, Hooked
from tests.e2e.git import rules
from tests.other_user import OTHER, public_python
from tests.service import ROOT

pytestmark = pytest.mark.usefixtures("another_user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that every user may enter."""
    with TemporaryDirectory(prefix="waypost-hook-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def python(folder: Path) -> Path:
    """Create an environment with Waypost that every user may run."""
    subprocess.run([public_python(), "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    site = next((folder / "venv/lib").glob("python*/site-packages"))
    (site / "waypost.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return folder / "venv/bin/python"


@pytest.fixture
def shared(folder: Path, python: Path) -> Hooked:
    """Create a namespace whose repository every user may change, with a clone of the other user."""
    hooked = Hooked.of(folder / "data")
    hooked.set_python(python)
    hooked.commit(rules("/a"))
    open_up(hooked.repository)
    hooked.data.chmod(0o711)  # as the guide says for other users
    for path in [hooked.clone.folder, *hooked.clone.folder.rglob("*")]:
        os.chown(path, OTHER, OTHER)
    (folder / "gitconfig").write_text("[safe]\n\tdirectory = *\n[user]\n\tname = Otto\n\temail = otto@example.com\n")
    return hooked


def open_up(folder: Path) -> None:
    """Let every user change a folder."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777 if path.is_dir() or os.access(path, os.X_OK) else 0o666)


def env_of(hooked: Hooked, **more: str) -> dict[str, str]:
    return {"GIT_CONFIG_GLOBAL": str(hooked.data.parent / "gitconfig"), "HOME": "/nonexistent", **more}


@pytest.mark.parametrize("mode", [0o755, 0o700], ids=["compiled files are readable", "compiled files are closed"])
def test_another_user_gets_the_same_answers(shared: Hooked, mode: int) -> None:
    compiled = shared.data / "compiled"
    compiled.chmod(mode)
    before = {path: path.stat().st_mtime_ns for path in compiled.rglob("*")}
    words = shared.accepted(env=env_of(shared), user=OTHER)
    assert "remote: Publish 2 of shop: 1 redirect added." in words
    shared.clone.write("shop/redirects.yaml", BAD)
    git_as_other(shared, "commit", "-qam", "Bad")
    assert (
        'remote: shop/redirects.yaml:6:5: duplicate_source: "/a" is already at shop/redirects.yaml:2'
        in shared.refused(env=env_of(shared), user=OTHER)
    )
    assert {path: path.stat().st_mtime_ns for path in compiled.rglob("*")} == before
    assert {path.stat().st_uid for path in compiled.rglob("*")} == {os.geteuid()}


def git_as_other(hooked: Hooked, *words: str) -> None:
    subprocess.run(
        ["git", *words],
        cwd=hooked.clone.folder,
        env={**os.environ, **env_of(hooked)},
        check=True,
        user=OTHER,
        group=OTHER,
        extra_groups=[],
    )


def test_nothing_is_left_in_the_temporary_folder(shared: Hooked, folder: Path) -> None:
    """A push without objects has no quarantine, so its files are in TMPDIR."""
    (folder / "tmp").mkdir()
    os.chown(folder / "tmp", OTHER, OTHER)
    env = env_of(shared, TMPDIR=str(folder / "tmp"))
    shared.accepted("HEAD:refs/heads/idea", env=env, user=OTHER)
    shared.accepted("HEAD:release", env=env, user=OTHER)
    shared.accepted(":refs/heads/idea", env=env, user=OTHER)
    assert list((folder / "tmp").iterdir()) == []


def test_a_python_that_the_user_may_not_run_refuses_with_what_to_do(shared: Hooked, python: Path) -> None:
    python.parent.chmod(0o700)
    words = shared.refused(env=env_of(shared), user=OTHER)
    assert f"the Python of Waypost ({python}) is missing, or this user may not run it." in words
    assert "Push over HTTP" in words


def test_packages_that_the_user_may_not_read_refuse_with_what_to_do(shared: Hooked, folder: Path) -> None:
    (folder / "venv/lib").chmod(0o700)
    words = shared.refused(env=env_of(shared), user=OTHER)
    assert "This push cannot be checked" in words
    assert "ended with the code" in words
