"""Authors of changes by the command line: the user of the terminal, or a Waypost user named by `--as`."""

from pathlib import Path

import pytest

from gitstore.drafts.drafts import DraftName
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.cli.terminal import invoke, invoke_ok

AT = ("acme", "shop")


@pytest.fixture
def store(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Create a project that needs approvals, and two users who may give them."""
    monkeypatch.setenv("WAYPOST_DATA", str(work_folder / "data"))
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    invoke_ok("namespace", "create", "acme")
    found = Store(work_folder / "data")
    found.projects.create(*AT, ProjectFile(review="required"), Author("Grace", "grace@tests.example"))
    for name in ("kim", "robin"):
        invoke_ok("user", "create", name, "--role", "admin", "--firstname", name.title())
    return found


def names(people: str) -> list[str]:
    return [each.partition(" <user-")[0] for each in people.split(", ")]


def test_no_one_approves_their_own_edits_at_the_command_line(store: Store) -> None:
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "robin")
    own = invoke("review", *AT, "--approve", "--as", "robin")
    assert own.code == 2
    assert "requires a review by another person" in own.err
    invoke_ok("review", *AT, "--approve", "--as", "kim")
    invoke_ok("publish", *AT, "--as", "kim")
    newest = store.publishes.history("acme", "shop", 0, 1)[0][0]
    assert (names(newest.author), names(newest.published_by)) == (["Robin"], ["Kim"])


def test_every_command_that_writes_takes_a_name(store: Store) -> None:
    table = b"type\tsource\ttarget\tstatus\nBASIC\t/i\t/new\t301\n"
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "robin")
    invoke_ok("edit", "put", *AT, "--source", "/c", "--target", "/d", "--as", "robin")
    invoke_ok("edit", "replace", *AT, "/b", "/e", "--as", "robin")
    invoke_ok("edit", "delete", *AT, "/c", "--as", "robin")
    invoke_ok("import", *AT, "-", "--as", "robin", stdin=table)
    invoke_ok("edit", "revert", *AT, "/i", "--as", "robin")
    assert [each.name for each in store.drafts.review_subject("acme", DraftName("shop", "main")).authors] == ["Robin"]
    invoke_ok("publish", *AT, "--as", "robin", "--override", "Alone")
    invoke_ok("rollback", *AT, "1", "--as", "kim")
    assert [names(each.published_by) for each in store.publishes.history("acme", "shop", 0, 2)[0]] == [
        ["Kim"],
        ["Robin"],
    ]


@pytest.mark.usefixtures("store")
def test_an_unknown_name_changes_nothing() -> None:
    refused = invoke("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "nobody")
    assert refused.code == 2
    assert "User 'nobody' does not exist" in refused.err
    assert invoke_ok("diff", *AT).out == ""


@pytest.mark.usefixtures("store")
def test_the_history_of_a_rule_says_who_wrote_it_and_why() -> None:
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/b", "--as", "robin")
    invoke_ok("publish", *AT, "--as", "kim", "--override", "Alone", "--message", "Because")
    (row,) = invoke_ok("log", *AT, "--source", "/a").out.splitlines()[1:]
    assert "Kim" in row
    assert "Robin" in row
    assert row.endswith("Because (approval overridden: Alone)")
