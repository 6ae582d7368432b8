"""Publishing at the command line: selected rules of a draft, and as a user within that user's grants."""

from pathlib import Path

import pytest

from api.db.audit import AuditEntry, AuditEvent, AuditFilter, list_entries
from api.db.state_store import open_state_store
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.revisions import PUBLISHED
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.cli.terminal import invoke, invoke_ok
from tests.e2e.git import Clone
from tests.gitstore.fixtures import page, put, redirect

PLACE = ("sample", "sale")
GRACE = Author("Grace Tester", "grace@tests.example")
NAME = DraftName("sale", "main")


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Create a project with a draft of two redirects and a page, and users of different roles."""
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    for name, role in (("kim", "publisher"), ("eve", "editor"), ("ada", "admin")):
        invoke_ok("user", "create", name, "--role", role, "--firstname", name.title())
    found = Store(data)
    found.projects.create("sample", "sale", ProjectFile(), GRACE)
    found.drafts.edit("sample", NAME, [put(redirect("/a")), put(redirect("/b")), put(page("/p.txt"))], GRACE)
    return found


def published(store: Store) -> list[str]:
    """Return the content that agents get, by source and path."""
    snapshot = store.revisions.snapshot("sample", "sale", PUBLISHED)
    return sorted(placed.record.identity for kind in Kind for placed in snapshot.placed(kind))


def trail(data: Path, *wanted: AuditEvent, actor: str | None = None) -> list[AuditEntry]:
    """Return the entries of some events of the audit trail, oldest first."""
    state = open_state_store(data)
    with state.database.reading() as connection:
        entries, _ = list_entries(connection, 100, 0, AuditFilter(actor=actor))
    state.close()
    return [each for each in reversed(entries) if each.event in wanted]


def overrides(data: Path) -> list[AuditEntry]:
    """Return the entries on overrides of the audit trail, oldest first."""
    return trail(data, AuditEvent.OVERRIDE_ASKED, AuditEvent.APPROVAL_OVERRIDDEN)


def test_only_the_rules_that_are_named_are_published_and_the_rest_stays(store: Store) -> None:
    found = invoke_ok("publish", *PLACE, "--source", "/a", "--path", "/p.txt", "--json")
    assert found.json["changes"]["redirects"]["added"] == found.json["changes"]["pages"]["added"] == 1
    assert published(store) == ["/a", "/p.txt"]
    assert "+ redirect /b" in invoke_ok("edit", "show", *PLACE).out
    invoke_ok("publish", *PLACE, "--id", identity_id("/b"))
    assert published(store) == ["/a", "/b", "/p.txt"]
    assert store.drafts.report("sample", NAME).state.head is None


def test_a_redirect_and_a_page_of_one_path_are_named_apart(store: Store) -> None:
    """They have the same id."""
    store.drafts.edit("sample", NAME, [put(page("/a", "later"))], GRACE)
    outcome = invoke("publish", *PLACE, "--path", "/b")
    assert (outcome.code, "has no change of '/b'" in outcome.err) == (2, True)
    found = invoke_ok("publish", *PLACE, "--source", "/a", "--json")
    changes = found.json["changes"]
    assert (changes["redirects"]["added"], changes["pages"]["added"]) == (1, 0)
    assert published(store) == ["/a"]


def test_the_same_selection_of_the_same_head_is_the_same_publish(store: Store) -> None:
    words = ("publish", *PLACE, "--source", "/b", "--head", store.drafts.report("sample", NAME).state.head)
    assert invoke_ok(*words).out == invoke_ok(*words).out
    other = invoke(*words[:3], "--source", "/a", *words[5:])
    assert (other.code, "is at" in other.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--source", "/none"), "The draft main of sale has no change of '/none'; nothing was published."),
        (("--source", "/a", "--path", ""), "has no change of ''"),
        (("--id", "0" * 16), "has no change of '0000000000000000'"),
        (("--id", "/a"), "'/a' is not an id (16 hex digits). Name a redirect by --source"),
        (("--id", "A" * 16), "is not an id"),
        (("--source", "/a", "--draft", "none"), "has no draft none"),
    ],
)
def test_an_invalid_selection_is_reported_and_nothing_is_published(
    store: Store, words: tuple[str, ...], shown: str
) -> None:
    outcome = invoke("publish", *PLACE, *words)
    assert outcome.code in {1, 2}
    assert shown in outcome.err
    assert published(store) == []


def test_selected_rules_need_the_approval_too(store: Store) -> None:
    store.projects.change("sample", "sale", {"review": "required"}, GRACE)
    outcome = invoke("publish", *PLACE, "--source", "/a")
    assert (outcome.code, published(store)) == (1, [])
    assert "needs approval" in outcome.err
    invoke_ok("review", *PLACE, "--approve", "--as", "kim")
    invoke_ok("publish", *PLACE, "--source", "/a")
    assert published(store) == ["/a"]


def test_a_user_publishes_within_their_grants(store: Store) -> None:
    outcome = invoke("publish", *PLACE, "--as", "eve")
    assert (outcome.code, outcome.out, published(store)) == (2, "", [])
    assert "The user eve does not hold project:publish in sample/sale" in outcome.err
    invoke_ok("publish", *PLACE, "--as", "kim")
    publishes, _ = store.publishes.history("sample", "sale", 0, 1)
    assert publishes[0].published_by.startswith("Kim <user-")


def test_a_user_rolls_back_within_their_grants(store: Store) -> None:
    invoke_ok("publish", *PLACE)
    outcome = invoke("rollback", *PLACE, "1", "--as", "eve")
    assert (outcome.code, outcome.out, published(store)) == (2, "", ["/a", "/b", "/p.txt"])
    assert "The user eve does not hold project:publish in sample/sale" in outcome.err
    invoke_ok("rollback", *PLACE, "1", "--as-draft", "--as", "eve")
    invoke_ok("rollback", *PLACE, "1", "--as", "kim")
    publishes, _ = store.publishes.history("sample", "sale", 0, 1)
    assert (published(store), publishes[0].published_by.startswith("Kim <user-")) == ([], True)


def test_an_override_as_a_user_needs_the_user_s_grant(store: Store, data: Path) -> None:
    store.projects.change("sample", "sale", {"review": "required"}, GRACE)
    outcome = invoke("publish", *PLACE, "--as", "kim", "--override", "It burns")
    assert (outcome.code, published(store), overrides(data)) == (2, [], [])
    assert "does not hold project:override" in outcome.err
    invoke_ok("publish", *PLACE, "--as", "ada", "--override", "It burns")
    assert "(approval overridden: It burns)" in invoke_ok("log", *PLACE).out
    assert [each["overrideReason"] for each in invoke_ok("log", *PLACE, "--json").json][:2] == ["It burns", None]
    reported = [(each.event, each.actor.kind, each.actor.name, each.detail["operator"]) for each in overrides(data)]
    assert reported == [
        (event, "user", "ada", "Grace Tester") for event in (AuditEvent.OVERRIDE_ASKED, AuditEvent.APPROVAL_OVERRIDDEN)
    ]


@pytest.mark.parametrize("reason", [" - ", " ", ""])
def test_an_override_without_a_reason_is_a_usage_error(store: Store, data: Path, reason: str) -> None:
    outcome = invoke("publish", *PLACE, "--override", reason)
    assert (outcome.code, published(store), overrides(data)) == (2, [], [])
    assert "no letter or digit" in outcome.err


def test_a_change_of_policy_as_a_user_needs_the_user_s_grant(store: Store, data: Path) -> None:
    clone = Clone.of(data / "repos" / "sample.git", data / "clone")
    clone.write("sale/project.yaml", "project:\n  title: Sale\n  policy:\n    lint: strict\n")
    clone.commit()
    clone.push("draft/sale/stricter")
    words = ("publish", *PLACE, "--draft", "stricter")
    outcome = invoke(*words, "--as", "kim")
    assert (outcome.code, outcome.out) == (2, "")
    assert "lint: normal to strict" in outcome.err
    assert store.releases.project("sample", "sale").release.settings.lint == "normal"
    invoke_ok(*words, "--as", "ada")
    assert store.releases.project("sample", "sale").release.settings.lint == "strict"


def test_the_operator_may_change_the_policy(store: Store, data: Path) -> None:
    clone = Clone.of(data / "repos" / "sample.git", data / "clone")
    clone.write("sale/project.yaml", "project:\n  title: Sale\n  policy:\n    review: required\n")
    clone.commit()
    clone.push("draft/sale/reviewed")
    invoke_ok("publish", *PLACE, "--draft", "reviewed")
    assert store.releases.project("sample", "sale").release.settings.needs_review


def test_nothing_is_imported_for_a_user_who_may_not_publish_it(store: Store, work_folder: Path) -> None:
    table = work_folder / "rules.tsv"
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n")
    head = store.drafts.report("sample", NAME).state.head
    outcome = invoke("import", *PLACE, table, "--publish", "--as", "eve")
    assert outcome.code == 2
    assert "does not hold project:publish" in outcome.err
    assert store.drafts.report("sample", NAME).state.head == head
    invoke_ok("import", *PLACE, table, "--publish", "--as", "kim")
    assert "/imported" in published(store)


def test_publishes_and_rollbacks_are_in_the_audit_trail_with_the_operator_and_the_user(
    store: Store, data: Path
) -> None:
    first = invoke_ok("publish", *PLACE, "--source", "/a").out.strip()
    second = invoke_ok("publish", *PLACE, "--as", "kim").out.strip()
    third = invoke_ok("rollback", *PLACE, "1", "--as", "kim").out.strip()
    fourth = invoke_ok("rollback", *PLACE, "2").out.strip()
    invoke("publish", *PLACE, "--as", "kim")  # nothing to publish
    asked = (AuditEvent.PUBLISH_REQUESTED, AuditEvent.ROLLBACK_REQUESTED)
    found = trail(data, *asked)
    publish, roll_back = asked
    kim, grace = ("user", "kim"), ("operator", "Grace Tester")
    assert [(each.event, (each.actor.kind, each.actor.name), each.detail["version"]) for each in found] == [
        (publish, grace, first),
        (publish, kim, second),
        (roll_back, kim, third),
        (roll_back, grace, fourth),
    ]
    assert {(each.namespace, each.project, each.subject) for each in found} == {(*PLACE, "sale")}
    assert [each.detail.get("operator") for each in found] == [None, "Grace Tester", "Grace Tester", None]
    assert trail(data, *asked, actor="operator") == trail(data, *asked, actor="Grace Tester") == found
    assert trail(data, *asked, actor="kim") == found[1:3]
    assert published(store) == ["/a"]


def test_an_import_that_publishes_is_in_the_audit_trail(store: Store, data: Path, work_folder: Path) -> None:
    table = work_folder / "rules.tsv"
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n")
    invoke_ok("import", *PLACE, table, "--publish", "--as", "kim")
    (entry,) = trail(data, AuditEvent.PUBLISH_REQUESTED)
    publishes, _ = store.publishes.history("sample", "sale", 0, 1)
    assert (entry.actor.name, entry.detail) == (
        "kim",
        {"version": publishes[0].version, "operator": "Grace Tester"},
    )


def test_a_rollback_needs_no_database(store: Store, data: Path) -> None:
    invoke_ok("publish", *PLACE)
    (data / "waypost.db").write_bytes(b"no database")
    found = invoke_ok("rollback", *PLACE, "1")
    assert "It is done, and missing in the audit trail: " in found.err
    assert published(store) == []
