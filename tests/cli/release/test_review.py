"""Reviews of drafts at the command line, as users, and publishes under their verdicts."""

from pathlib import Path

import pytest

from api.auth.permissions.principal import OPERATOR
from api.db.audit import AuditEvent, list_entries
from api.db.state_store import open_state_store
from cli.console.services import open_existing_services
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete, Put
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.cli.terminal import invoke, invoke_ok
from tests.gitstore.fixtures import put, redirect

PLACE = ("sample", "sale")
GRACE = Author("Grace Tester", "grace@tests.example")
NAME = DraftName("sale", "main")


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Create a project that needs approvals, with a draft, and users of different roles."""
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    for name, role in (("kim", "publisher"), ("lee", "publisher"), ("eve", "editor")):
        invoke_ok("user", "create", name, "--role", role, "--firstname", name.title())
    found = Store(data)
    found.projects.create("sample", "sale", ProjectFile(review="required"), GRACE)
    edit(found, put(redirect("/a")))
    return found


def edit(store: Store, record: Put, author: Author = GRACE) -> str:
    return store.drafts.edit("sample", NAME, [record], author).head


def test_a_draft_is_asked_about_discussed_approved_and_published(store: Store) -> None:
    refused = invoke("publish", *PLACE)
    assert refused.code == 1
    assert "by a person who did not write it" in refused.err
    invoke_ok("review", *PLACE, "--request", "--as", "eve", "--note", "For the sale")
    invoke_ok("review", *PLACE, "--comment", "Why\nnow?", "--as", "kim")
    said = invoke_ok("review", *PLACE, "--approve", "--as", "kim", "--json")
    assert (said.json["review"]["state"], said.json["review"]["requestedBy"]["name"]) == ("approved", "eve")
    shown = invoke_ok("review", *PLACE)
    lines = shown.out.splitlines()
    assert [line.split("  ")[1:3] for line in lines if not line.startswith(" ")] == [
        ["request", "Eve (eve)"],
        ["comment", "Kim (kim)"],
        ["approve", "Kim (kim)"],
    ]
    assert [line for line in lines if line.startswith(" ")] == ["    For the sale", "    Why", "    now?"]
    assert shown.err == "Review: approved. The project requires an approval.\n"
    invoke_ok("publish", *PLACE)
    publishes, _ = store.publishes.history("sample", "sale", 0, 1)
    assert publishes[0].approved_by.startswith("Kim <user-")
    assert publishes[0].author == "Grace Tester <grace@tests.example>"


def test_an_edit_voids_an_approval_here_too(store: Store) -> None:
    invoke_ok("review", *PLACE, "--approve", "--as", "kim")
    edit(store, put(redirect("/b")))
    assert invoke("publish", *PLACE).code == 1
    assert "before later edits" in invoke_ok("review", *PLACE).out
    assert invoke_ok("review", *PLACE).err.startswith("Review: outdated.")


def test_a_comment_on_one_rule_is_shown_by_its_source(store: Store) -> None:
    invoke_ok("review", *PLACE, "--comment", "Why?", "--source", "/a", "--as", "kim")
    assert "comment on redirect /a  Kim (kim)" in invoke_ok("review", *PLACE).out
    (item,) = invoke_ok("review", *PLACE, "--json").json["items"]
    assert item["item"] == {"kind": "redirect", "id": redirect("/a").id, "source": "/a"}
    store.drafts.edit("sample", NAME, [Delete(Kind.REDIRECTS, redirect("/a").id), put(redirect("/b"))], GRACE)
    (item,) = invoke_ok("review", *PLACE, "--json").json["items"]
    assert item["item"]["source"] is None


@pytest.mark.usefixtures("store")
def test_four_eyes_hold_at_the_command_line() -> None:
    invoke_ok("review", *PLACE, "--request", "--as", "lee")
    own = invoke("review", *PLACE, "--approve", "--as", "lee")
    assert (own.code, own.out) == (2, "")
    assert "requires a review by another person" in own.err
    invoke_ok("review", *PLACE, "--reject", "--as", "kim", "--note", "No")
    assert "rejected by Kim" in invoke("publish", *PLACE).err


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (("--approve",), 2, "add --as USERNAME"),
        (("--approve", "--as", "nobody"), 2, "User 'nobody' does not exist"),
        (("--approve", "--as", "eve"), 2, "You need the grant project:review"),
        (("--approve", "--reject", "--as", "kim"), 2, "Give one action"),
        (("--comment", "", "--as", "kim"), 2, "cannot be empty"),
        (("--comment", "x", "--note", "y", "--as", "kim"), 2, "Give --note or --comment"),
        (("--note", "y", "--as", "kim"), 2, "--note needs --request"),
        (("--comment", "x", "--source", "/c", "--as", "kim"), 2, "no such redirect"),
        (("--approve", "--source", "/a", "--as", "kim"), 2, "only with --comment"),
        (("--approve", "--note", "x" * 5001, "--as", "kim"), 2, "at most 5000"),
        (("--approve", "--head", "0" * 40, "--as", "kim"), 1, "the request expects no draft"),
        (("--approve", "--head", "HEAD", "--as", "kim"), 2, "40 hex digits"),
        (("--approve", "--draft", "none", "--as", "kim"), 2, "no draft none"),
    ],
)
@pytest.mark.usefixtures("store")
def test_an_invalid_remark_is_reported_and_not_recorded(words: tuple[str, ...], code: int, shown: str) -> None:
    outcome = invoke("review", *PLACE, *words)
    assert outcome.code == code, outcome.err
    assert shown in outcome.err
    assert invoke_ok("review", *PLACE, "--json").json["items"] == []


@pytest.mark.usefixtures("store")
def test_a_deactivated_user_cannot_review() -> None:
    with open_existing_services(None, None) as services:
        kim = services.accounts.principal("kim")
        services.accounts.change(OPERATOR, kim.id, {"active": False})
    outcome = invoke("review", *PLACE, "--approve", "--as", "kim")
    assert (outcome.code, outcome.err) == (2, "waypost: The account of kim is not active.\n")


@pytest.mark.usefixtures("store")
def test_a_verdict_of_a_user_who_lost_the_right_to_review_is_marked() -> None:
    invoke_ok("review", *PLACE, "--approve", "--as", "kim")
    invoke_ok("review", *PLACE, "--comment", "Hm", "--as", "kim")
    invoke_ok("user", "delete", "kim")
    lines = invoke_ok("review", *PLACE).out.splitlines()
    assert [line.endswith(", no longer allowed to review") for line in lines] == [True, False, False]
    outcome = invoke("publish", *PLACE)
    assert outcome.code == 1
    assert "The approval by Kim no longer counts" in outcome.err


@pytest.mark.usefixtures("store")
def test_an_import_that_publishes_needs_the_approval_too(work_folder: Path) -> None:
    table = work_folder / "rules.tsv"
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n")
    invoke_ok("review", *PLACE, "--approve", "--as", "kim")
    outcome = invoke("import", *PLACE, table, "--publish")
    assert outcome.code == 1
    assert "needs approval" in outcome.err


@pytest.mark.usefixtures("store")
def test_the_audit_trail_says_who_spoke_for_a_user(data: Path) -> None:
    invoke_ok("review", *PLACE, "--approve", "--as", "kim")
    state = open_state_store(data)
    with state.database.reading() as connection:
        (entry,), _ = list_entries(connection, 1, 0)
    state.close()
    assert (entry.event, entry.actor.name, entry.detail["operator"]) == (
        AuditEvent.DRAFT_APPROVED,
        "kim",
        "Grace Tester",
    )


@pytest.mark.usefixtures("store")
def test_an_override_is_in_the_audit_trail(data: Path) -> None:
    invoke_ok("publish", *PLACE, "--override", "It burns")
    state = open_state_store(data)
    with state.database.reading() as connection:
        entries, _ = list_entries(connection, 3, 0)
    state.close()
    assert [(entry.event, entry.actor.kind, entry.actor.name) for entry in reversed(entries)] == [
        (AuditEvent.OVERRIDE_ASKED, "operator", "Grace Tester"),
        (AuditEvent.PUBLISH_REQUESTED, "operator", "Grace Tester"),
        (AuditEvent.APPROVAL_OVERRIDDEN, "operator", "Grace Tester"),
    ]
    assert entries[0].detail["reason"] == "It burns"
