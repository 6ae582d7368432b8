"""In whose name the command line changes content: whoever is at the keyboard, or a user whom `--as` names."""

from pathlib import Path

import pytest

from gitstore.drafts import DraftName
from gitstore.project_file import ProjectFile
from gitstore.repository import Author
from gitstore.store import Store
from tests.cli.terminal import call, must

AT = ("acme", "shop")


@pytest.fixture
def store(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A project that wants approvals, and two users who may give them."""
    monkeypatch.setenv("WAYPOST_DATA", str(workplace / "data"))
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    must("namespace", "create", "acme")
    found = Store(workplace / "data")
    found.create_project(*AT, ProjectFile(review="required"), Author("Grace", "grace@tests.example"))
    for name in ("kim", "robin"):
        must("user", "create", name, "--role", "admin", "--firstname", name.title())
    return found


def names(people: str) -> list[str]:
    return [each.partition(" <user-")[0] for each in people.split(", ")]


def test_nobody_approves_what_they_edited_at_the_command_line(store: Store) -> None:
    must("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "robin")
    own = call("review", *AT, "--approve", "--as", "robin")
    assert own.code == 2
    assert "wants somebody else to judge it" in own.err
    must("review", *AT, "--approve", "--as", "kim")
    must("publish", *AT, "--as", "kim")
    newest = store.history("acme", "shop", 0, 1)[0][0]
    assert (names(newest.author), names(newest.published_by)) == (["Robin"], ["Kim"])


def test_every_command_that_writes_takes_a_name(store: Store) -> None:
    table = b"type\tsource\ttarget\tstatus\nBASIC\t/i\t/new\t301\n"
    must("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "robin")
    must("edit", "put", *AT, "--source", "/c", "--target", "/d", "--as", "robin")
    must("edit", "replace", *AT, "/b", "/e", "--as", "robin")
    must("edit", "delete", *AT, "/c", "--as", "robin")
    must("import", *AT, "-", "--as", "robin", stdin=table)
    must("edit", "revert", *AT, "/i", "--as", "robin")
    assert [each.name for each in store.under_review("acme", DraftName("shop", "main")).authors] == ["Robin"]
    must("publish", *AT, "--as", "robin", "--override", "Alone")
    must("rollback", *AT, "1", "--as", "kim")
    assert [names(each.published_by) for each in store.history("acme", "shop", 0, 2)[0]] == [["Kim"], ["Robin"]]


@pytest.mark.usefixtures("store")
def test_a_name_that_is_nobodys_changes_nothing() -> None:
    refused = call("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "nobody")
    assert refused.code == 2
    assert "There is no user 'nobody'" in refused.err
    assert must("diff", *AT).out == ""


@pytest.mark.usefixtures("store")
def test_the_history_of_a_rule_says_who_wrote_it_and_why() -> None:
    must("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "robin")
    must("publish", *AT, "--as", "kim", "--override", "Alone", "--message", "Because")
    (row,) = must("log", *AT, "--source", "/a").out.splitlines()[1:]
    assert "Kim" in row
    assert "Robin" in row
    assert row.endswith("Because (approval overridden: Alone)")
