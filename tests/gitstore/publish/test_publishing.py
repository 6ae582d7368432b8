"""Publishing: the merge of a draft, the reasons for a refusal, and the answer to a retry."""

import pytest

from content.records.vocabulary import Kind, RedirectType
from gitstore.drafts.drafts import NO_DRAFT, DraftName
from gitstore.drafts.editing.edits import Delete, Edit, Put, etag_of
from gitstore.errors import (
    ApprovalRequired,
    BadRequest,
    DuplicateIdentity,
    Invalid,
    NotFound,
    NothingToPublish,
    StaleDraft,
    StaleItem,
)
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, page, put, redirect


def test_publish_is_a_merge_that_git_shows_like_a_persons(place: Place) -> None:
    """Parents are release and the draft; the author is the publisher; trailers name both; the draft branch is gone."""
    before = place.tip
    head = place.save(put(redirect("/a")), author=BOB)
    published = place.publish(head=head)
    assert place.git("rev-list", "--parents", "-1", "release").split() == [published.version, before, head]
    assert (
        place.git("log", "-1", "--format=%an|%cn|%s", "release")
        == "Ada Lovelace|Waypost|Publish shop: 1 redirect added"
    )
    trailers = place.git("log", "-1", "--format=%(trailers:key=Published-by,valueonly)", "release")
    assert trailers == "Ada Lovelace <ada@shop.example>"
    assert place.git("log", "-1", "--format=%an %s", head) == "Bob Add redirect /a"
    assert place.git("for-each-ref", "--format=%(refname)") == "refs/heads/release"
    place.fsck()


def test_published_is_what_a_clone_holds(place: Place) -> None:
    """An independent client sees the same content as an agent."""
    place.publish(put(redirect("/a", "/b")), put(page("/robots.txt")))
    assert "source: /a" in (place.clone() / "shop/redirects.yaml").read_text()
    assert place.targets() == {"/a": "/b"}
    assert [item["path"] for item in place.items(kind=Kind.PAGES)] == ["/robots.txt"]


def test_publish_without_a_draft_is_refused(place: Place) -> None:
    """The error is NothingToPublish, and no ref moves."""
    tip = place.tip
    for head in ("", NO_DRAFT):
        with pytest.raises(NothingToPublish, match="no draft"):
            place.publish(head=head)
    with pytest.raises(StaleDraft, match="does not exist"):
        place.publish(head="1" * 40)
    assert place.tip == tip


def test_publish_of_a_draft_that_changes_nothing_is_refused(place: Place) -> None:
    """A rule that was added and removed again leaves nothing to publish."""
    place.save(put(redirect("/a")))
    place.save(Delete(Kind.REDIRECTS, redirect("/a").id))
    place.save(put(redirect("/b")))
    place.save(Delete(Kind.REDIRECTS, redirect("/b").id))
    tip = place.tip
    with pytest.raises(NothingToPublish):
        place.publish()
    assert place.tip == tip


def test_publish_of_another_head_than_the_drafts_is_stale(place: Place) -> None:
    """Another client edited the draft since the caller read it."""
    seen = place.save(put(redirect("/a")))
    place.save(put(redirect("/b")))
    with pytest.raises(StaleDraft):
        place.publish(head=seen)
    assert place.targets() == {}


def test_same_publish_again_after_a_lost_reply_answers_the_same(place: Place) -> None:
    """Later publishes and a new draft do not change the answer."""
    head = place.save(put(redirect("/a")))
    published = place.publish(head=head)
    for _ in range(2):
        again = place.fresh().publish(head=head)
        assert (again.version, again.number, again.counts) == (published.version, published.number, published.counts)
        place.publish(put(redirect(f"/other/{place.state()[1]}")))
    place.save(put(redirect("/newer")))
    assert place.publish(head=head).version == published.version


def test_another_selection_of_the_same_head_is_another_request(place: Place) -> None:
    """Guard: only the same changes of a head are a retry. Else a caller would take unpublished changes for live ones."""
    head = place.save(put(redirect("/a")), put(redirect("/b")), put(redirect("/c")))
    chosen = frozenset({redirect("/a").id})
    published = place.publish(head=head, ids=chosen)
    assert place.publish(head=head, ids=chosen).version == published.version
    for others in (frozenset({redirect("/b").id}), frozenset({redirect("/a").id, redirect("/b").id}), frozenset[str]()):
        with pytest.raises(StaleDraft):
            place.publish(head=head, ids=others)
    assert set(place.targets()) == {"/a"}


def test_head_that_never_was_is_stale(place: Place) -> None:
    """An unknown head finds no earlier publish."""
    with pytest.raises(StaleDraft):
        place.publish(head="1" * 40)


def test_review_is_required_unless_overridden(empty: Place) -> None:
    """The reason of an override is in the commit and in the history."""
    place = empty.begin(SHOP, review="required")
    head = place.save(put(redirect("/a")))
    with pytest.raises(ApprovalRequired):
        place.publish(head=head)
    assert place.targets() == {}
    place.publish(head=head, override="Site is\ndown")
    publish = place.store.publishes.history(SPACE, SHOP, 0, 1)[0][0]
    assert publish.override == "Site is down"
    assert place.targets() == {"/a": "/new"}


def test_draft_cannot_lift_the_review_that_it_needs(empty: Place) -> None:
    """Policy is read from release; a project.yaml on the draft does not count yet."""
    place = empty.begin(SHOP, review="required")
    place.push({"shop/project.yaml": "project: {}\n"}, to="draft/shop/main")
    with pytest.raises(ApprovalRequired):
        place.publish()


def test_strict_lint_stops_at_warnings(empty: Place) -> None:
    """Rules that pass normal lint are refused under strict, and named."""
    place = empty.begin(SHOP, lint="strict").begin("lax")
    pattern = redirect("old", type=RedirectType.REGEX)
    assert place.publish(put(pattern), draft=DraftName("lax", "main")).number == 2
    with pytest.raises(Invalid) as caught:
        place.publish(put(pattern))
    assert [problem.file for problem in caught.value.problems] == ["shop/redirects.yaml"]
    assert place.state()[1] == 1


def test_draft_cannot_lift_the_lint_that_stops_it(empty: Place) -> None:
    """Guard: rules are checked with release's lint, even if the draft's own project.yaml asks for less."""
    place = empty.begin(SHOP, lint="strict")
    rules = "redirects:\n  - {type: REGEX, source: old, target: /new, status: FOUND}\n"
    place.push({"shop/project.yaml": "project: {}\n", "shop/redirects.yaml": rules}, to="draft/shop/main")
    with pytest.raises(Invalid):
        place.publish()
    assert place.state()[1] == 1


def test_strict_lint_can_be_turned_off_with_permission_to_change_the_project(empty: Place) -> None:
    """No rule changes with it, so no warning is missed."""
    place = empty.begin(SHOP, lint="strict")
    place.store.projects.change(SPACE, SHOP, {"lint": "normal"}, ADA)
    assert place.publish(put(redirect("old", type=RedirectType.REGEX))).number == 3


def test_failing_tests_of_the_project_stop_a_publish(place: Place) -> None:
    """A draft that makes them pass is published; the failing tests are named with file and line."""
    place.push({"shop/tests.yaml": "tests:\n  - {url: /a, status: 404}\n"})
    with pytest.raises(Invalid) as caught:
        place.publish(put(redirect("/a")))
    problem = caught.value.problems[0]
    assert (problem.code, problem.file, problem.line) == ("test_failed", "shop/tests.yaml", 2)
    assert place.targets() == {}
    place.publish(Delete(Kind.REDIRECTS, redirect("/a").id), put(redirect("/b")))
    assert place.targets() == {"/b": "/new"}


def test_loop_is_refused_and_leaves_everything_as_it_was(place: Place) -> None:
    """The merged result is checked: each half alone would be valid."""
    place.save(put(redirect("/a", "/b")), draft=DraftName(SHOP, "one"))
    place.save(put(redirect("/b", "/a")))
    place.publish(draft=DraftName(SHOP, "one"))
    state = place.state()
    with pytest.raises(Invalid) as caught:
        place.publish()
    assert {problem.code for problem in caught.value.problems} == {"redirect_loop"}
    assert place.fresh().state() == state
    assert place.store.releases.failures() == []


def test_messages_are_kept_and_cannot_forge_trailers(place: Place) -> None:
    """A line of the message that looks like one of our trailers is only text."""
    place.publish(put(redirect("/a")), message="Sale begins\n\nPublished-by: The Queen\nApproved-by: Nobody")
    publish = place.store.publishes.history(SPACE, SHOP, 0, 1)[0][0]
    assert publish.published_by == "Ada Lovelace <ada@shop.example>"
    assert publish.approved_by == ""
    assert publish.message.startswith("Sale begins")
    assert "The Queen" in publish.message


def test_edits_are_all_or_nothing(place: Place) -> None:
    """One invalid edit leaves the draft unchanged."""
    head = place.save(put(redirect("/a")))
    refused: list[tuple[Edit, type[Exception]]] = [
        (put(redirect("/a"), create=True), DuplicateIdentity),
        (put(redirect("/c"), replaces="0" * 16), NotFound),
        (put(redirect("/a"), etag="stale"), StaleItem),
        (put(redirect("/c", "javascript:alert(1)")), Invalid),
        (put(redirect("/c"), file="elsewhere.yaml"), BadRequest),
        (put(redirect("/c"), file="redirects/../../x.yaml"), BadRequest),
        (Delete(Kind.REDIRECTS, redirect("/none").id), NotFound),
        (Delete(Kind.REDIRECTS, redirect("/a").id, etag="stale"), StaleItem),
    ]
    for wrong, error in refused:
        with pytest.raises(error):
            place.save(put(redirect("/b")), wrong)
    assert place.git("rev-parse", MAIN.ref) == head
    place.save(Put(Kind.REDIRECTS, redirect("/a", "/b"), etag=etag_of(redirect("/a"))))
    assert place.publish().number == 2


def test_draft_is_discarded_without_a_trace_on_release(place: Place) -> None:
    """A missing draft cannot be discarded."""
    tip = place.tip
    place.save(put(redirect("/a")))
    place.store.drafts.discard(SPACE, MAIN)
    assert place.store.drafts.names(SPACE, SHOP) == []
    assert place.tip == tip
    with pytest.raises(NotFound):
        place.store.drafts.discard(SPACE, MAIN)


def test_invalid_names_are_not_found(place: Place) -> None:
    """Text from outside never reaches a path or a ref."""
    for naughty in ("../other", "a.lock", "a/b", "", "a\n", "é", "-" * 51, "@{", ".git"):
        with pytest.raises(NotFound):
            place.store.releases.project(naughty, SHOP)
        with pytest.raises(NotFound):
            place.store.releases.project(SPACE, naughty)
        with pytest.raises(NotFound):
            place.save(put(redirect("/a")), draft=DraftName(SHOP, naughty))
