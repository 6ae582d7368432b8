"""Drafts reviewed at the command line, in the name of users, and published under what they said."""

from pathlib import Path

import pytest

from api.identity.principal import OPERATOR
from api.state.audit import Event, list_entries
from api.state.state import open_state
from cli.services import opened_services
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Delete, Put
from gitstore.project_file import ProjectFile
from gitstore.repository import Author
from gitstore.store import Store
from tests.cli.terminal import call, must
from tests.gitstore.places import put, redirect

PLACE = ("sample", "sale")
GRACE = Author("Grace Tester", "grace@tests.example")
NAME = DraftName("sale", "main")


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A project that wants approvals, with a draft, and users of different roles."""
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    for name, role in (("kim", "publisher"), ("lee", "publisher"), ("eve", "editor")):
        must("user", "create", name, "--role", role, "--firstname", name.title())
    found = Store(data)
    found.create_project("sample", "sale", ProjectFile(review="required"), GRACE)
    edit(found, put(redirect("/a")))
    return found


def edit(store: Store, record: Put, author: Author = GRACE) -> str:
    return store.edit("sample", NAME, [record], author).head


def test_a_draft_is_asked_about_discussed_approved_and_published(store: Store) -> None:
    refused = call("publish", *PLACE)
    assert refused.code == 1
    assert "needs the approval of somebody who did not write it" in refused.err
    must("review", *PLACE, "--request", "--as", "eve", "--note", "For the sale")
    must("review", *PLACE, "--comment", "Why\nnow?", "--as", "kim")
    said = must("review", *PLACE, "--approve", "--as", "kim", "--json")
    assert (said.json["review"]["state"], said.json["review"]["requestedBy"]["name"]) == ("approved", "eve")
    shown = must("review", *PLACE)
    lines = shown.out.splitlines()
    assert [line.split("  ")[1:3] for line in lines if not line.startswith(" ")] == [
        ["request", "Eve (eve)"],
        ["comment", "Kim (kim)"],
        ["approve", "Kim (kim)"],
    ]
    assert [line for line in lines if line.startswith(" ")] == ["    For the sale", "    Why", "    now?"]
    assert shown.err == "Review: approved. The project publishes only what is approved.\n"
    must("publish", *PLACE)
    publishes, _ = store.history("sample", "sale", 0, 1)
    assert publishes[0].approved_by.startswith("Kim <user-")
    assert publishes[0].author == "Grace Tester <grace@tests.example>"


def test_an_edit_voids_an_approval_here_too(store: Store) -> None:
    must("review", *PLACE, "--approve", "--as", "kim")
    edit(store, put(redirect("/b")))
    assert call("publish", *PLACE).code == 1
    assert "before later edits" in must("review", *PLACE).out
    assert must("review", *PLACE).err.startswith("Review: outdated.")


def test_a_comment_on_one_rule_is_shown_by_its_source(store: Store) -> None:
    must("review", *PLACE, "--comment", "Why?", "--source", "/a", "--as", "kim")
    assert "comment on redirect /a  Kim (kim)" in must("review", *PLACE).out
    (item,) = must("review", *PLACE, "--json").json["items"]
    assert item["item"] == {"kind": "redirect", "id": redirect("/a").id, "source": "/a"}
    store.edit("sample", NAME, [Delete(Kind.REDIRECTS, redirect("/a").id), put(redirect("/b"))], GRACE)
    (item,) = must("review", *PLACE, "--json").json["items"]
    assert item["item"]["source"] is None


@pytest.mark.usefixtures("store")
def test_four_eyes_hold_at_the_command_line() -> None:
    must("review", *PLACE, "--request", "--as", "lee")
    own = call("review", *PLACE, "--approve", "--as", "lee")
    assert (own.code, own.out) == (2, "")
    assert "wants somebody else to judge it" in own.err
    must("review", *PLACE, "--reject", "--as", "kim", "--note", "No")
    assert "rejected by Kim" in call("publish", *PLACE).err


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (("--approve",), 2, "add --as USERNAME"),
        (("--approve", "--as", "nobody"), 2, "There is no user 'nobody'"),
        (("--approve", "--as", "eve"), 2, "needs project:review"),
        (("--approve", "--reject", "--as", "kim"), 2, "one thing at a time"),
        (("--comment", "", "--as", "kim"), 2, "must not be empty"),
        (("--comment", "x", "--note", "y", "--as", "kim"), 2, "leave --note out"),
        (("--note", "y", "--as", "kim"), 2, "--note says why with --request"),
        (("--comment", "x", "--source", "/c", "--as", "kim"), 2, "no such redirect"),
        (("--approve", "--source", "/a", "--as", "kim"), 2, "only with --comment"),
        (("--approve", "--note", "x" * 5001, "--as", "kim"), 2, "at most 5000"),
        (("--approve", "--head", "0" * 40, "--as", "kim"), 1, "you mean 0000"),
        (("--approve", "--head", "HEAD", "--as", "kim"), 2, "40 hex digits"),
        (("--approve", "--draft", "none", "--as", "kim"), 2, "no draft none"),
    ],
)
@pytest.mark.usefixtures("store")
def test_what_cannot_be_said_is_told_and_not_recorded(words: tuple[str, ...], code: int, shown: str) -> None:
    outcome = call("review", *PLACE, *words)
    assert outcome.code == code, outcome.err
    assert shown in outcome.err
    assert must("review", *PLACE, "--json").json["items"] == []


@pytest.mark.usefixtures("store")
def test_a_user_who_may_not_sign_in_any_more_says_nothing() -> None:
    with opened_services(None, None) as services:
        kim = services.accounts.principal("kim")
        services.accounts.change(OPERATOR, kim.id, {"active": False})
    outcome = call("review", *PLACE, "--approve", "--as", "kim")
    assert (outcome.code, outcome.err) == (2, "waypost: The account of kim is not active.\n")


@pytest.mark.usefixtures("store")
def test_a_verdict_of_somebody_who_may_not_review_any_more_is_marked() -> None:
    must("review", *PLACE, "--approve", "--as", "kim")
    must("review", *PLACE, "--comment", "Hm", "--as", "kim")
    must("user", "delete", "kim")
    lines = must("review", *PLACE).out.splitlines()
    assert [line.endswith(", and may not review any more") for line in lines] == [True, False, False]
    outcome = call("publish", *PLACE)
    assert outcome.code == 1
    assert "What Kim approved does not count any more" in outcome.err


@pytest.mark.usefixtures("store")
def test_an_import_that_publishes_is_held_to_the_policy(workplace: Path) -> None:
    table = workplace / "rules.tsv"
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n")
    must("review", *PLACE, "--approve", "--as", "kim")
    outcome = call("import", *PLACE, table, "--publish")
    assert outcome.code == 1
    assert "needs the approval" in outcome.err


@pytest.mark.usefixtures("store")
def test_the_audit_trail_says_who_spoke_for_a_user(data: Path) -> None:
    must("review", *PLACE, "--approve", "--as", "kim")
    state = open_state(data)
    with state.database.reading() as connection:
        (entry,), _ = list_entries(connection, 1, 0)
    state.close()
    assert (entry.event, entry.actor.name, entry.detail["operator"]) == (Event.DRAFT_APPROVED, "kim", "Grace Tester")


@pytest.mark.usefixtures("store")
def test_an_override_is_in_the_audit_trail(data: Path) -> None:
    must("publish", *PLACE, "--override", "It burns")
    state = open_state(data)
    with state.database.reading() as connection:
        entries, _ = list_entries(connection, 2, 0)
    state.close()
    assert [(entry.event, entry.actor.kind, entry.actor.name) for entry in reversed(entries)] == [
        (Event.OVERRIDE_ASKED, "operator", "Grace Tester"),
        (Event.APPROVAL_OVERRIDDEN, "operator", "Grace Tester"),
    ]
    assert entries[0].detail["reason"] == "It burns"
