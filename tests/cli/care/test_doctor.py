"""`waypost doctor`: it names what is broken in a data directory, repairs it with --fix, and exits by what is left."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from api.data.last_backup import LastBackup, write_last_backup
from gitstore.care.findings import REMOVED
from tests.cli.terminal import invoke, invoke_ok
from tests.gitstore.care.damaged import flip

DAY = 86_400


def findings(data: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = invoke("doctor", "--json", "--data", data, *words).json["findings"]
    return found


def broken(data: Path) -> set[str]:
    return {each["code"] for each in findings(data) if each["severity"] != "note"}


def test_a_healthy_directory_exits_with_0(data: Path) -> None:
    outcome = invoke_ok("doctor")
    assert "Nothing is broken." in outcome.err
    assert "no_backup" in outcome.out
    assert broken(data) == set()


def test_a_finding_names_place_meaning_and_action(data: Path) -> None:
    path = next(path for path in (data / "repos/sample.git/objects").glob("??/*") if path.is_file())
    flip(path, 10)
    outcome = invoke("doctor")
    assert outcome.code == 1
    assert f"sample: object {path.parent.name}{path.name}" in outcome.out
    assert "in commit" in outcome.out or "named by" in outcome.out or "in the history" in outcome.out
    assert "1 error, " in outcome.err
    assert invoke("doctor", "sample").code == 1


def test_repairs_exit_with_0_when_nothing_is_left(data: Path) -> None:
    lock = data / "repos/sample.git/refs/heads/release.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    assert invoke("doctor").code == 1
    outcome = invoke_ok("doctor", "--fix")
    assert "Fixed: Moved refs/heads/release.lock" in outcome.out
    assert list((data / REMOVED).rglob("release.lock"))
    assert not lock.exists()
    assert "Nothing is broken." in invoke_ok("doctor").err


def test_what_cannot_be_repaired_exits_with_1(data: Path) -> None:
    objects = [path for path in (data / "repos/sample.git/objects").glob("??/*") if path.is_file()]
    objects[0].unlink()
    (data / "repos/sample.git/waypost-objects").unlink()
    outcome = invoke("doctor", "--fix")
    assert outcome.code == 1
    assert "restore the namespace from a backup" in outcome.out


@pytest.mark.parametrize("page", [0, 1, 3])
def test_damage_of_the_database_is_named(data: Path, page: int) -> None:
    file = data / "waypost.db"
    content = bytearray(file.read_bytes())
    content[page * 4096 + (18 if page == 0 else 0) : page * 4096 + 200] = b"\xff" * 100
    file.write_bytes(content)
    assert broken(data) & {"database_damaged", "database_unreadable"}
    assert invoke("doctor", "--fix").code == 1


def test_damaged_indexes_of_the_database_are_built_again(data: Path) -> None:
    name = ("audit_by_event",)
    (index,) = _change(data, "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = ?", name)
    _change(data, "DELETE FROM sqlite_master WHERE name = ?", name)
    _change(
        data,
        "INSERT INTO audit (at, event, actor_kind, actor_name, subject, detail) VALUES ('2026', 'x', '', '', '', '{}')",
    )
    _change(data, "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
    assert broken(data) == {"database_damaged"}
    invoke_ok("doctor", "--fix")
    assert list((data / REMOVED).rglob("waypost.db"))
    assert broken(data) == set()


def _change(data: Path, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
    """Run a statement over a connection of its own, which reads the schema again."""
    with closing(sqlite3.connect(data / "waypost.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        return connection.execute(statement, values).fetchall()


def test_rows_of_namespaces_that_are_gone_are_named(data: Path) -> None:
    with sqlite3.connect(data / "waypost.db") as connection:
        connection.execute("INSERT INTO content_faults VALUES ('ghost', 'shop', 'x', '2026-01-01')")
    (found,) = [each for each in findings(data) if each["code"] == "unknown_namespace"]
    assert (found["namespace"], found["place"]) == ("ghost", "table content_faults")


def test_a_database_that_is_newer_than_a_repository_is_named(data: Path) -> None:
    with sqlite3.connect(data / "waypost.db") as connection:
        connection.execute("INSERT INTO tellings VALUES ('sample', 'shop', 9, ?, '2026-01-01')", ("1" * 40,))
    (found,) = [each for each in findings(data) if each["code"] == "unknown_publish"]
    assert found["place"] == "shop, publish 9"


def test_tables_of_another_revision_are_named(data: Path) -> None:
    with sqlite3.connect(data / "waypost.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert broken(data) == {"database_revision"}


def test_files_that_others_can_read_are_closed(data: Path) -> None:
    key = next((data / "keys").glob("*.json"))
    for path in (key, data / "waypost.db"):
        path.chmod(0o644)
    assert broken(data) == {"key_readable", "database_readable"}
    invoke_ok("doctor", "--fix")
    assert [oct(path.stat().st_mode & 0o777) for path in (key, data / "waypost.db")] == ["0o600", "0o600"]


def test_a_damaged_key_is_named_and_the_only_one_is_kept(data: Path) -> None:
    keys = sorted((data / "keys").glob("*.json"))
    for key in keys[1:]:
        key.unlink()
    keys[0].write_text("{}", encoding="utf-8")
    assert broken(data) == {"key_damaged"}
    outcome = invoke("doctor", "--fix")
    assert outcome.code == 1
    assert "Not fixed: It is the only key" in outcome.out
    assert keys[0].exists()


def test_leftovers_in_the_directory_are_moved_away(data: Path) -> None:
    left = data / "repos/.new-0123"
    left.mkdir()
    os.utime(left, (1, 1))
    assert broken(data) == {"leftover"}
    invoke_ok("doctor", "--fix")
    assert not left.exists()


def test_a_lost_part_is_named(data: Path) -> None:
    for key in (data / "keys").glob("*.json"):
        key.unlink()
    assert broken(data) == {"data_incomplete"}


def test_lost_compiled_files_are_named(data: Path) -> None:
    shutil.rmtree(data / "compiled")
    outcome = invoke("doctor", "--data", data)
    assert outcome.code == 1
    assert "a start of the service creates compiled/ again" in outcome.out


def test_a_lost_repository_is_named(data: Path) -> None:
    invoke_ok("project", "list", "sample")
    (data / "repos/sample.git").rename(data / "away")
    assert "repository_missing" in broken(data)


def test_an_archive_is_checked_too(data: Path) -> None:
    invoke_ok("namespace", "delete", "sample", "--yes")
    (repository,) = data.glob("trash/*/sample.git")
    flip(next(path for path in (repository / "objects").glob("??/*")), 10)
    (found,) = [each for each in findings(data) if each["severity"] == "error"]
    assert found["namespace"].startswith("trash/sample-")


def test_an_old_backup_is_a_warning(data: Path) -> None:
    write_last_backup(data, LastBackup(time.time() - 8 * DAY, "/backups/a", verified=False))
    assert broken(data) == {"backup_old"}
    write_last_backup(data, LastBackup(time.time(), "/backups/a", verified=True))
    assert broken(data) == set()


def test_an_unknown_namespace_is_a_usage_error(data: Path) -> None:
    assert invoke("doctor", "nowhere", "--data", data).code == 2
    assert invoke("doctor", "--data", data / "nowhere").code == 3
