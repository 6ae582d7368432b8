"""`waypost backup`, `restore` and `webhooks`: complete or marked as incomplete, into a new place or not at all."""

import json
import os
import signal
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.cli.terminal import invoke, invoke_ok, run, start
from tests.e2e.git import check_repository
from tests.gitstore.care.damaged import flip
from tests.postgres import running_postgres
from tests.service import wait_until


@pytest.mark.parametrize("name", ["b", "b.tar"])
def test_a_backup_is_restored_with_all_its_parts(data: Path, work_folder: Path, name: str) -> None:
    invoke_ok("namespace", "create", "old")
    invoke_ok("namespace", "delete", "old", "--yes")
    made = invoke_ok("backup", name, "--verify", "--json").json
    assert (made["complete"], made["verified"], made["namespaces"], len(made["archives"])) == (
        True,
        True,
        ["sample"],
        1,
    )
    restored = invoke_ok("restore", name, "--data", work_folder / "copy", "--json").json
    assert restored["namespaces"] == ["sample"]
    copy = work_folder / "copy"
    check_repository(copy / "repos/sample.git")
    assert {path.name for path in (copy / "keys").iterdir()} >= {path.name for path in (data / "keys").glob("*.json")}
    assert _rows(copy) == _rows(data)
    shown = [invoke_ok("project", "list", "sample", "--data", each).out for each in (data, copy)]
    assert shown[0] == shown[1]
    assert "old-" in invoke_ok("namespace", "archived", "--data", copy).out
    invoke_ok("namespace", "restore", "old", "--data", copy)
    assert "Nothing is broken." in invoke_ok("doctor", "--data", copy).err


def _rows(data: Path) -> list[str]:
    with sqlite3.connect(data / "waypost.db") as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize("name", ["b", "b.tar"])
def test_a_backup_is_for_its_owner_only(data: Path, work_folder: Path, name: str) -> None:
    del data
    invoke_ok("backup", name)
    paths = [work_folder / name, *(work_folder / name).rglob("*")]
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in paths)


def test_a_damaged_namespace_makes_a_backup_incomplete(data: Path, work_folder: Path) -> None:
    invoke_ok("namespace", "create", "good")
    flip(next((data / "repos/sample.git/objects").glob("??/*")), 10)
    outcome = invoke("backup", "b")
    assert outcome.code == 1
    assert "sample was not saved" in outcome.err
    assert invoke("restore", "b", "--data", work_folder / "copy").code == 2
    invoke_ok("restore", "b", "--incomplete", "--data", work_folder / "copy")
    assert "good" in invoke_ok("namespace", "list", "--data", work_folder / "copy").out
    assert "no_backup" in invoke("doctor").out, "an incomplete backup counts as a good one"


def test_a_damaged_database_stops_a_backup(data: Path, work_folder: Path) -> None:
    content = bytearray((data / "waypost.db").read_bytes())
    content[2 * 4096 : 2 * 4096 + 200] = b"\xff" * 200
    (data / "waypost.db").write_bytes(content)
    outcome = invoke("backup", "b")
    assert outcome.code == 3
    assert "waypost doctor" in outcome.err
    assert sorted(path.name for path in work_folder.iterdir()) == ["data"]


def test_a_restore_needs_an_empty_directory(data: Path, work_folder: Path) -> None:
    invoke_ok("backup", "b")
    before = _rows(data)
    assert invoke("restore", "b").code == 2
    assert _rows(data) == before
    (work_folder / "empty").mkdir()
    invoke_ok("restore", "b", "--data", work_folder / "empty")
    assert invoke("restore", "b", "--data", work_folder / "empty").code == 2
    (work_folder / "file").touch()
    assert invoke("restore", "b", "--data", work_folder / "file").code == 2
    assert invoke("restore", "nothing", "--data", work_folder / "new").code == 2
    assert invoke("restore", "b", "--data", work_folder / "no" / "new").code == 2


def test_a_damaged_backup_is_not_restored_at_all(data: Path, work_folder: Path) -> None:
    del data
    invoke_ok("backup", "b")
    for name in ("waypost.db", "repos/sample/bundle", "keys"):
        path = work_folder / "b" / name
        flip(path if path.is_file() else next(path.iterdir()), 50)
        outcome = invoke("restore", "b", "--data", work_folder / "copy")
        assert outcome.code == 3
        assert "damaged" in outcome.err
        assert sorted(each.name for each in work_folder.iterdir()) == ["b", "data"], "something is left"
        flip(path if path.is_file() else next(path.iterdir()), 50)


@pytest.mark.parametrize(
    ("field", "value"), [("name", "../../escaped"), ("folder", "trash/.."), ("folder", "trash"), ("name", "")]
)
def test_an_archive_in_a_backup_names_no_place_outside(data: Path, work_folder: Path, field: str, value: str) -> None:
    del data
    invoke_ok("namespace", "delete", "sample", "--yes")
    invoke_ok("backup", "saved")
    contents = work_folder / "saved/backup.json"
    facts = json.loads(contents.read_bytes())
    facts["archives"][0][field] = value
    contents.write_text(json.dumps(facts), encoding="utf-8")
    outcome = invoke("restore", "saved", "--data", "copy")
    assert outcome.code != 0
    assert "Traceback" not in outcome.err
    assert not (work_folder / "copy").exists()
    assert not list(work_folder.parent.rglob("*escaped*"))


def test_contents_of_another_shape_are_refused(data: Path, work_folder: Path) -> None:
    del data
    invoke_ok("backup", "b")
    contents = work_folder / "b" / "backup.json"
    text = contents.read_text(encoding="utf-8")
    for name in ("objects", "folder", "tables"):
        contents.write_text(text.replace(f'"{name}"', f'"other-{name}"'), encoding="utf-8")
        outcome = invoke("restore", "b", "--data", work_folder / "copy")
        assert outcome.code == 3
        assert "a field is missing or unknown" in outcome.err
    contents.write_text(text, encoding="utf-8")
    invoke_ok("restore", "b", "--data", work_folder / "copy")


@pytest.mark.parametrize("words", [("backup", "b"), ("backup", "b.tar"), ("restore", "good", "--data", "copy")])
def test_a_killed_command_leaves_nothing_under_the_name(data: Path, work_folder: Path, words: tuple[str, ...]) -> None:
    del data
    invoke_ok("backup", "good")
    name = "copy" if words[0] == "restore" else words[1]
    process = start(*words, cwd=work_folder)
    wait_until(lambda: process.poll() is not None or any(_staged(work_folder)), 60, "the command to write")
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not (work_folder / name).exists():
        run_again = run(*words)
        assert run_again.code == 0, run_again.err
    assert (work_folder / name).exists()
    if words[0] == "backup":
        invoke_ok("restore", name, "--data", work_folder / "new")


def _staged(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]  # noqa: PTH208 - names only


@pytest.mark.usefixtures("postgres_programs")
def test_a_database_on_a_server_is_saved_by_its_own_tools(data: Path, work_folder: Path) -> None:
    """The command says so, and in which order; doctor, the pause and its end work with that database."""
    with running_postgres() as server:
        database = {"WAYPOST_DATABASE": server.database()}
        invoke("user", "list", env=database)
        assert invoke("doctor", env=database).code == 0
        made = invoke("backup", "b", "--json", env=database)
        assert made.json["database"] is False
        assert "pg_dump" in made.err
        restored = invoke("restore", "b", "--data", work_folder / "copy", env=database)
        assert restored.code == 0
        assert "pg_restore" in restored.err
        assert not (work_folder / "copy" / "waypost.db").exists()
        copy = {**database, "WAYPOST_DATA": str(work_folder / "copy")}
        assert invoke("webhooks", "resume", "--yes", env=copy).code == 0
        assert invoke("doctor", env=copy).code == 0
    assert invoke("doctor", env=database).code == 1
    assert (data / "waypost.db").exists()


def test_resuming_can_discard_what_waits(data: Path, work_folder: Path) -> None:
    with sqlite3.connect(data / "waypost.db") as connection:
        connection.execute(
            "INSERT INTO webhooks (namespace, url, events, projects, description, active, secret, created_at, created_by) "
            "VALUES ('sample', 'http://127.0.0.1', '[]', '[]', '', 1, 'x', '2026-01-01 00:00:00.000000', 'ada')"
        )
        connection.execute(
            "INSERT INTO deliveries (webhook_id, message, type, body, status, attempts, claims, created_at) "
            "VALUES (1, 'msg_1', 'published', '{}', 'pending', 0, 0, '2026-01-01 00:00:00.000000')"
        )
    assert "active, 1 deliveries pending" in invoke_ok("webhooks", "status").out
    assert "not paused" in invoke_ok("webhooks", "resume", "--yes").err
    invoke_ok("backup", "b")
    invoke_ok("restore", "b", "--data", work_folder / "copy")
    status = invoke_ok("webhooks", "status", "--json", "--data", work_folder / "copy").json
    assert (status["paused"], status["pending"], status["restored"]["backup"]) == (True, 1, str(work_folder / "b"))
    assert invoke("webhooks", "resume", "--data", work_folder / "copy").code == 2
    invoke_ok("webhooks", "resume", "--discard", "--yes", "--data", work_folder / "copy")
    assert "active, 0 deliveries pending" in invoke_ok("webhooks", "status", "--data", work_folder / "copy").out
