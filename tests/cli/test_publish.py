"""Publishing at the command line: some rules of a draft, and in the name of a user within that user's grants."""

from pathlib import Path

import pytest

from api.state.audit import Entry, Event, list_entries
from api.state.state import open_state
from content.record import identity_id
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.project_file import ProjectFile
from gitstore.repository import Author
from gitstore.states import PUBLISHED
from gitstore.store import Store
from tests.cli.terminal import call, must
from tests.e2e.git import Clone
from tests.gitstore.places import page, put, redirect

PLACE = ("sample", "sale")
GRACE = Author("Grace Tester", "grace@tests.example")
NAME = DraftName("sale", "main")


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A project with a draft of two redirects and a page, and users of different roles."""
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    for name, role in (("kim", "publisher"), ("eve", "editor"), ("ada", "admin")):
        must("user", "create", name, "--role", role, "--firstname", name.title())
    found = Store(data)
    found.create_project("sample", "sale", ProjectFile(), GRACE)
    found.edit("sample", NAME, [put(redirect("/a")), put(redirect("/b")), put(page("/p.txt"))], GRACE)
    return found


def published(store: Store) -> list[str]:
    """What agents get, by source and path."""
    snapshot = store.snapshot("sample", "sale", PUBLISHED)
    return sorted(placed.record.identity for kind in Kind for placed in snapshot.placed(kind))


def overrides(data: Path) -> list[Entry]:
    """The audit trail's lines on overrides, oldest first."""
    state = open_state(data)
    with state.database.reading() as connection:
        entries, _ = list_entries(connection, 100, 0)
    state.close()
    return [each for each in reversed(entries) if each.event in {Event.OVERRIDE_ASKED, Event.APPROVAL_OVERRIDDEN}]


def test_only_the_rules_that_are_named_are_published_and_the_rest_stays(store: Store) -> None:
    found = must("publish", *PLACE, "--source", "/a", "--path", "/p.txt", "--json")
    assert found.json["changes"]["redirects"]["added"] == found.json["changes"]["pages"]["added"] == 1
    assert published(store) == ["/a", "/p.txt"]
    assert "+ redirect /b" in must("edit", "show", *PLACE).out
    must("publish", *PLACE, "--id", identity_id("/b"))
    assert published(store) == ["/a", "/b", "/p.txt"]
    assert store.report("sample", NAME).state.head is None


def test_the_same_selection_of_the_same_head_is_the_same_publish(store: Store) -> None:
    words = ("publish", *PLACE, "--source", "/b", "--head", store.report("sample", NAME).state.head)
    assert must(*words).out == must(*words).out
    other = call(*words[:3], "--source", "/a", *words[5:])
    assert (other.code, "stands at" in other.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--source", "/none"), "The draft main of sale changes nothing at '/none'; nothing was published."),
        (("--source", "/a", "--path", ""), "changes nothing at ''"),
        (("--id", "0" * 16), "changes nothing at '0000000000000000'"),
        (("--id", "/a"), "'/a' is no id: those are 16 hex digits. A rule goes by --source"),
        (("--id", "A" * 16), "is no id"),
        (("--source", "/a", "--draft", "none"), "has no draft none"),
    ],
)
def test_what_cannot_be_selected_is_told_and_nothing_is_published(
    store: Store, words: tuple[str, ...], shown: str
) -> None:
    outcome = call("publish", *PLACE, *words)
    assert outcome.code in {1, 2}
    assert shown in outcome.err
    assert published(store) == []


def test_selected_rules_need_the_approval_too(store: Store) -> None:
    store.change_project("sample", "sale", {"review": "required"}, GRACE)
    outcome = call("publish", *PLACE, "--source", "/a")
    assert (outcome.code, published(store)) == (1, [])
    assert "needs the approval" in outcome.err
    must("review", *PLACE, "--approve", "--as", "kim")
    must("publish", *PLACE, "--source", "/a")
    assert published(store) == ["/a"]


def test_a_user_publishes_within_their_grants(store: Store) -> None:
    outcome = call("publish", *PLACE, "--as", "eve")
    assert (outcome.code, outcome.out, published(store)) == (2, "", [])
    assert "The user eve does not hold project:publish in sample/sale" in outcome.err
    must("publish", *PLACE, "--as", "kim")
    publishes, _ = store.history("sample", "sale", 0, 1)
    assert publishes[0].published_by.startswith("Kim <user-")


def test_a_user_rolls_back_within_their_grants(store: Store) -> None:
    must("publish", *PLACE)
    outcome = call("rollback", *PLACE, "1", "--as", "eve")
    assert (outcome.code, outcome.out, published(store)) == (2, "", ["/a", "/b", "/p.txt"])
    assert "The user eve does not hold project:publish in sample/sale" in outcome.err
    must("rollback", *PLACE, "1", "--as-draft", "--as", "eve")
    must("rollback", *PLACE, "1", "--as", "kim")
    publishes, _ = store.history("sample", "sale", 0, 1)
    assert (published(store), publishes[0].published_by.startswith("Kim <user-")) == ([], True)


def test_an_override_in_the_name_of_a_user_takes_the_user_s_grant(store: Store, data: Path) -> None:
    store.change_project("sample", "sale", {"review": "required"}, GRACE)
    outcome = call("publish", *PLACE, "--as", "kim", "--override", "It burns")
    assert (outcome.code, published(store), overrides(data)) == (2, [], [])
    assert "does not hold project:override" in outcome.err
    must("publish", *PLACE, "--as", "ada", "--override", "It burns")
    assert "(approval overridden: It burns)" in must("log", *PLACE).out
    assert [each["overrideReason"] for each in must("log", *PLACE, "--json").json][:2] == ["It burns", None]
    told = [(each.event, each.actor.kind, each.actor.name, each.detail["operator"]) for each in overrides(data)]
    assert told == [
        (event, "user", "ada", "Grace Tester") for event in (Event.OVERRIDE_ASKED, Event.APPROVAL_OVERRIDDEN)
    ]


@pytest.mark.parametrize("reason", [" - ", " ", ""])
def test_an_override_without_a_reason_is_wrong_use(store: Store, data: Path, reason: str) -> None:
    outcome = call("publish", *PLACE, "--override", reason)
    assert (outcome.code, published(store), overrides(data)) == (2, [], [])
    assert "says why" in outcome.err


def test_a_change_of_policy_in_the_name_of_a_user_takes_the_user_s_grant(store: Store, data: Path) -> None:
    clone = Clone.of(data / "repos" / "sample.git", data / "clone")
    clone.write("sale/project.yaml", "project:\n  title: Sale\n  policy:\n    lint: strict\n")
    clone.commit()
    clone.push("draft/sale/stricter")
    words = ("publish", *PLACE, "--draft", "stricter")
    outcome = call(*words, "--as", "kim")
    assert (outcome.code, outcome.out) == (2, "")
    assert "lint: normal to strict" in outcome.err
    assert store.project("sample", "sale").release.settings.lint == "normal"
    must(*words, "--as", "ada")
    assert store.project("sample", "sale").release.settings.lint == "strict"


def test_whoever_runs_the_command_may_change_the_policy(store: Store, data: Path) -> None:
    clone = Clone.of(data / "repos" / "sample.git", data / "clone")
    clone.write("sale/project.yaml", "project:\n  title: Sale\n  policy:\n    review: required\n")
    clone.commit()
    clone.push("draft/sale/reviewed")
    must("publish", *PLACE, "--draft", "reviewed")
    assert store.project("sample", "sale").release.settings.needs_review


def test_nothing_is_imported_for_a_user_who_may_not_publish_it(store: Store, workplace: Path) -> None:
    table = workplace / "rules.tsv"
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n")
    head = store.report("sample", NAME).state.head
    outcome = call("import", *PLACE, table, "--publish", "--as", "eve")
    assert outcome.code == 2
    assert "does not hold project:publish" in outcome.err
    assert store.report("sample", NAME).state.head == head
    must("import", *PLACE, table, "--publish", "--as", "kim")
    assert "/imported" in published(store)
