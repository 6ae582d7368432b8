"""An old version as a draft: its rules and pages, the current policy, one commit, and no other work overwritten."""

import pytest

from content.changes.decision import Decision, digest
from content.records.vocabulary import Kind
from gitstore.drafts.decisions import dump_decisions
from gitstore.drafts.drafts import DraftName
from gitstore.errors import DraftExists, NotFound, NothingToChange, StaleDraft
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, page, put, redirect

TESTS = "tests:\n  - {url: /a, status: 302}\n"


@pytest.fixture
def past(place: Place) -> Place:
    """Return publish 2 with a rule and a page, publish 3 with other ones, publish 4 with another policy."""
    place.publish(put(redirect("/a", "/1")), put(page("/p")))
    place.publish(put(redirect("/a", "/2")), put(redirect("/b")))
    place.store.projects.change(SPACE, SHOP, {"title": "Today"}, ADA)
    return place


def test_the_draft_holds_the_old_rules_on_top_of_todays_release(past: Place) -> None:
    """The draft is one commit by the caller that names the version; published, the old rules are live again."""
    head, counts = past.store.drafts.reopen(SPACE, MAIN, "2", BOB)
    assert past.git("rev-parse", f"{MAIN.ref}~1") == past.tip
    assert past.git("log", "-1", "--format=%an %s", head) == f"Bob Reopen publish 2 ({past.chain(SHOP)[1][:12]})"
    assert counts[Kind.REDIRECTS] == (0, 1, 1)
    assert past.targets() == {"/a": "/2", "/b": "/new"}
    past.publish(head=head)
    assert past.targets() == {"/a": "/1"}
    assert past.store.releases.project(SPACE, SHOP).release.settings.title == "Today"
    past.fsck()


def test_todays_policy_stays(past: Place) -> None:
    """project.yaml and tests.yaml are those of release: policy is not content of a version."""
    past.push({"shop/tests.yaml": TESTS})
    past.store.drafts.reopen(SPACE, MAIN, "2", BOB, "Look at it again")
    assert past.file("shop/project.yaml", MAIN.ref) == past.file("shop/project.yaml")
    assert past.file("shop/tests.yaml", MAIN.ref) == TESTS
    message = past.git("log", "-1", "--format=%B", MAIN.ref)
    assert message == f"Look at it again\n\nReopens publish 2 ({past.chain(SHOP)[1][:12]})."
    past.store.drafts.discard(SPACE, MAIN)
    past.push({"shop/tests.yaml": None})
    past.publish(put(redirect("/a", "/3")))
    past.store.drafts.reopen(SPACE, MAIN, "5", BOB)
    assert "tests.yaml" not in past.git("ls-tree", "--name-only", f"{MAIN.ref}:shop")


def test_a_draft_that_is_there_is_not_written_over(past: Place) -> None:
    """A draft is replaced, by one more commit, only if the caller names its head."""
    mine = past.save(put(redirect("/mine")))
    with pytest.raises(DraftExists, match=mine):
        past.store.drafts.reopen(SPACE, MAIN, "2", BOB)
    with pytest.raises(StaleDraft):
        past.store.drafts.reopen(SPACE, MAIN, "2", BOB, head=past.tip)
    past.store.drafts.reopen(SPACE, DraftName(SHOP, "second"), "2", BOB)
    past.publish(put(redirect("/since")), draft=DraftName(SHOP, "third"))
    head, counts = past.store.drafts.reopen(SPACE, MAIN, "2", BOB, head=mine)
    assert past.git("rev-list", "--parents", "-1", head).split()[1:] == [mine, past.tip]
    assert counts[Kind.REDIRECTS] == (0, 1, 2)
    past.publish(head=head)
    assert past.targets() == {"/a": "/1"}


def test_a_head_without_a_draft_is_stale(past: Place) -> None:
    """The draft was published or discarded in the meantime."""
    with pytest.raises(StaleDraft):
        past.store.drafts.reopen(SPACE, MAIN, "2", BOB, head=past.tip)


def test_what_is_published_since_is_kept_when_both_are_merged(past: Place) -> None:
    """The publish is by rule: only the changes of the reopened draft apply."""
    head, _ = past.store.drafts.reopen(SPACE, MAIN, "2", BOB)
    past.publish(put(redirect("/since")), draft=DraftName(SHOP, "other"))
    past.publish(head=head)
    assert past.targets() == {"/a": "/1", "/since": "/new"}


def test_nothing_to_change_makes_no_draft(past: Place) -> None:
    """Publish 3 has the current rules, with another title."""
    with pytest.raises(NothingToChange):
        past.store.drafts.reopen(SPACE, MAIN, "3", BOB)
    assert past.store.drafts.names(SPACE, SHOP) == []
    head, _ = past.store.drafts.reopen(SPACE, MAIN, "2", BOB)
    with pytest.raises(NothingToChange):
        past.store.drafts.reopen(SPACE, MAIN, "2", BOB, head=head)


def test_a_version_that_is_not_there_is_not_found(past: Place) -> None:
    """A version that removed the project is not found either."""
    past.store.projects.delete(SPACE, SHOP, ADA)
    past.begin(SHOP)
    for word in ("5", "99"):
        with pytest.raises(NotFound):
            past.store.drafts.reopen(SPACE, MAIN, word, BOB)
    past.store.drafts.reopen(SPACE, MAIN, "2", BOB)


def test_no_words_of_the_caller_resolve_a_conflict(past: Place) -> None:
    """A line of a free message that reads like a decision decides nothing, even if its value is correct."""
    seen = digest(redirect("/a", "/4").target)
    line = dump_decisions("", [Decision("redirect", redirect("/a").id, "target", seen)]).strip()
    past.store.drafts.reopen(SPACE, MAIN, "2", BOB, f"Back to the first\n\n{line}")
    past.publish(put(redirect("/a", "/4")), draft=DraftName(SHOP, "other"))
    assert "target" in {conflict["field"] for conflict in past.store.drafts.report(SPACE, MAIN).conflicts}
