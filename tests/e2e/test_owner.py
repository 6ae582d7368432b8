"""The operating-system user: commands as root continue as the owner of the data, others are refused, health reports files."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from api.app.data_directory import create_data
from api.settings import Settings
from tests.cli.terminal import environment
from tests.e2e.world import World, open_world
from tests.other_user import COMMAND, OTHER, OWNER, PACKAGES
from tests.service import running, wait_until

PATIENCE = 60
pytestmark = pytest.mark.usefixtures("another_user")


@pytest.fixture
def data() -> Iterator[Path]:
    """Return a data directory of another user, below a folder that everyone may enter."""
    with TemporaryDirectory(prefix="waypost-owner-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "data").mkdir()
        os.chown(folder / "data", OWNER, OWNER)
        yield folder / "data"


def give_away(path: Path) -> None:
    """Give everything below a path to the owner."""
    for each in [path, *path.rglob("*")]:
        os.chown(each, OWNER, OWNER)


def owners(folder: Path) -> set[tuple[int, int]]:
    """Return the users and groups of everything below a folder."""
    return {(found.st_uid, found.st_gid) for path in [folder, *folder.rglob("*")] if (found := path.stat())}


def run_as(user: int | None, data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command as this user, as root if None, with root's extra groups."""
    as_user: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    return subprocess.run(
        [*COMMAND, *words],
        env={**environment({"WAYPOST_DATA": str(data), "WAYPOST_PASSWORD": "correct horse battery"}), **PACKAGES},
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **as_user,
    )


def test_root_serves_and_commands_as_the_owner(data: Path) -> None:
    with running((*COMMAND, "serve", "--init"), data, PACKAGES) as service:
        for pid in {service.process.pid, *service.workers()}:
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            assert set(status["Uid"].split()) == {str(OWNER)}
            assert set(status["Gid"].split()) == {str(OWNER)}
            assert set(status["Groups"].split()) <= {str(OWNER)}
        for words in (
            ("namespace", "create", "acme"),
            ("project", "create", "acme", "shop"),
            ("user", "create", "kim"),
            ("token", "create", "edge", "--role", "agent"),
            ("log", "acme", "shop"),
        ):
            found = run_as(None, data, *words)
            assert found.returncode == 0, found.stderr
    assert owners(data) == {(OWNER, OWNER)}


@pytest.mark.parametrize(
    "words", [("namespace", "create", "late"), ("namespace", "list"), ("user", "list"), ("serve",)]
)
def test_another_user_is_refused_and_nothing_is_changed(data: Path, words: tuple[str, ...]) -> None:
    create_data(Settings(data=data))
    give_away(data)
    data.chmod(0o777)
    for folder in data.iterdir():
        folder.chmod(0o777)
    before = sorted(data.rglob("*"))
    options = ("--bind", "127.0.0.1:0") if words == ("serve",) else ()
    found = run_as(OTHER, data, *words, *options)
    assert found.returncode == 2, found.stderr
    assert "sudo -u nobody waypost" in found.stderr
    assert sorted(data.rglob("*")) == before


def degraded(world: World) -> dict[str, Any] | None:
    """Return the first reason of the check of writing, in the words for a caller who may read everything."""
    answer = world.root.send("GET", "/health/ready")
    assert answer.status_code == httpx.codes.OK
    (check,) = [each for each in answer.json()["checks"] if each["name"] == "write"]
    assert check["status"] in {"ready", "degraded"}
    return check["reasons"][0] if check["status"] == "degraded" else None


def degraded_for_anyone(world: World) -> dict[str, Any] | None:
    """Return readiness as a caller without a token sees it; None if it is not degraded."""
    found: dict[str, Any] = world.nobody.send("GET", "/health/ready").json()
    return found if found["status"] == "degraded" else None


def test_health_is_degraded_where_the_service_cannot_write(data: Path) -> None:
    """Each place that a command of root left behind, by an older version or a plain git."""
    settings = {**PACKAGES, "WAYPOST_WORKERS": "1"}  # each worker looks for itself
    with running((*COMMAND, "serve", "--init"), data, settings) as service, open_world(service) as world:
        place = world.place()
        place.published("/a")
        objects = place.repository / "objects"
        for path in (
            next(folder for folder in objects.iterdir() if len(folder.name) == 2),
            place.repository / "waypost.lock",
            data / "compiled" / place.namespace / "versions" / place.project,
            data / "keys",
        ):
            mode = path.stat().st_mode
            os.chown(path, 0, 0)
            path.chmod(0o755 if path.is_dir() else 0o644)
            reason = wait_until(lambda: degraded(world), PATIENCE, f"{path.name} to be reported")
            assert reason["code"] == "cannot_write"
            assert "chown" in reason["action"]
            if path != data / "keys":
                assert reason["namespace"] == place.namespace
                assert path.name in reason["detail"]
            public = wait_until(lambda: degraded_for_anyone(world), PATIENCE, "the other worker to report it")
            assert place.namespace not in str(public)
            os.chown(path, OWNER, OWNER)
            path.chmod(mode)
            wait_until(lambda: degraded(world) is None, PATIENCE, "readiness")
