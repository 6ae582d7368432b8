"""`waypost audit`: the chain of the trail is checked, and each kind of change in the database shows."""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.terminal import invoke, invoke_ok


@pytest.fixture
def trail(monkeypatch: pytest.MonkeyPatch, work_folder: Path) -> Path:
    """Return the database of a data directory with some entries in its trail."""
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    for name in ("ada", "grace", "edsger"):
        invoke_ok("user", "create", name, "--role", "admin")
    return work_folder / "data" / "waypost.db"


def head() -> str:
    """Return the head of an intact chain."""
    return invoke_ok("audit", "verify").out.split()[-1]


def test_an_intact_trail_has_its_head(trail: Path) -> None:
    assert trail.exists()
    shown = invoke_ok("audit", "verify", "--json").json
    assert (shown["intact"], shown["faults"], shown["rows"] >= 3) == (True, [], True)
    assert head() == f"{shown['head']['number']}:{shown['head']['hash']}"
    before = head()
    invoke_ok("user", "delete", "ada")
    assert head() != before
    invoke_ok("audit", "verify", "--head", before, "--head", head())


def test_the_export_is_a_line_for_each_row_and_the_head(trail: Path) -> None:
    assert trail.exists()
    outcome = invoke_ok("audit", "export")
    *rows, last = map(json.loads, outcome.out.splitlines())
    assert len(rows) == invoke_ok("audit", "verify", "--json").json["rows"]
    assert f"{last['head']['number']}:{last['head']['hash']}" == head()
    assert f"`waypost audit verify --head {head()}`" in outcome.err


@pytest.mark.parametrize("which", ["id = (SELECT max(id) FROM audit)", "id > 0"], ids=["the last", "all"])
def test_the_export_of_a_trail_that_was_cut_off_fails(trail: Path, which: str) -> None:
    with sqlite3.connect(trail) as connection:
        connection.execute(f"DELETE FROM audit WHERE {which}")  # noqa: S608 - no input
    connection.close()
    outcome = invoke("audit", "export")
    assert (outcome.code, "rows were cut off or changed. Run `waypost audit verify`." in outcome.err) == (3, True)
    assert '{"head":' in outcome.out


def test_projects_that_commands_create_and_remove_are_in_the_trail(trail: Path) -> None:
    assert trail.exists()
    invoke_ok("namespace", "create", "acme")
    invoke_ok("project", "create", "acme", "shop")
    invoke_ok("project", "delete", "acme", "shop", "--yes")
    rows = [json.loads(line) for line in invoke_ok("audit", "export").out.splitlines()][:-1]
    found = [each for each in rows if each["event"].startswith("project_")]
    assert [(each["event"], each["namespace"], each["project"]) for each in found] == [
        ("project_created", "acme", "shop"),
        ("project_deleted", "acme", "shop"),
    ]
    assert {each["actor"]["kind"] for each in found} == {"operator"}


def test_each_entry_of_a_command_names_its_person(
    trail: Path, work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trail.exists()
    monkeypatch.setenv("WAYPOST_UPSTREAM_FOLDERS", str(work_folder))
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
    for words in (
        "user roles ada viewer",
        "user password ada",
        "user logout ada",
        "user delete ada",
        "role create reader --grant redirect:read",
        "role set reader --grant page:read",
        "role delete reader",
        "token create robot --role agent",
        f"token create laptop --user grace --role agent --expires {tomorrow}",
        "token rotate 1",
        "token delete 1",
        "namespace create acme",
        f"upstream set acme {work_folder}/upstream --mode source",
        "upstream suspend acme",
        "upstream resume acme",
        "upstream remove acme --yes",
    ):
        invoke_ok(*words.split())
    *rows, _ = (json.loads(line) for line in invoke_ok("audit", "export").out.splitlines())
    assert {(each["actor"]["kind"], each["actor"]["id"], each["actor"]["name"]) for each in rows} == {
        ("operator", None, "Grace Tester")
    }
    assert {"privilege_permissions_changed", "authn_token_rotated", "role_changed", "upstream_set"} <= {
        each["event"] for each in rows
    }


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET actor_name = 'someone' WHERE id = {second}",
        "UPDATE audit SET detail = '{{}}', at = '2020-01-01 00:00:00.000000' WHERE id = {second}",
        "DELETE FROM audit WHERE id = {second}",
        "DELETE FROM audit WHERE id = {last}",
        "DELETE FROM audit WHERE id = (SELECT min(id) FROM audit)",
        "DELETE FROM audit",
        "UPDATE audit SET hash = '" + "0" * 64 + "' WHERE id = {last}",
    ],
    ids=["actor", "detail", "missing", "cut off", "first", "all", "hash"],
)
def test_a_change_in_the_database_shows(trail: Path, change: str) -> None:
    edit(trail, lambda ids: change.format(second=ids[1], last=ids[-1]))
    outcome = invoke("audit", "verify")
    assert outcome.code == 1, outcome.out
    assert "is intact" not in outcome.out
    assert outcome.out.strip()
    assert invoke("audit", "verify", "--json").json["intact"] is False


def test_a_trail_whose_rows_and_head_were_removed_together_shows(trail: Path) -> None:
    with sqlite3.connect(trail) as connection:
        connection.execute("DELETE FROM audit")
        connection.execute("UPDATE audit_head SET number = 0, hash = ?", ("0" * 64,))
    outcome = invoke("audit", "verify")
    assert (outcome.code, "all rows were removed" in outcome.out) == (1, True)


def test_a_chain_that_was_computed_again_differs_from_a_noted_head(trail: Path) -> None:
    assert trail.exists()
    number, _, digest = head().partition(":")
    outcome = invoke("audit", "verify", "--head", f"{number}:{digest[::-1]}")
    assert outcome.code == 1, outcome.out
    assert invoke("audit", "verify", "--head", "no head").code == 2


def edit(trail: Path, statement: Callable[[list[int]], str]) -> None:
    """Change the database behind the service's back."""
    connection = sqlite3.connect(trail)
    ids = [number for (number,) in connection.execute("SELECT id FROM audit ORDER BY id")]
    assert connection.execute(statement(ids)).rowcount > 0
    connection.commit()
    connection.close()
