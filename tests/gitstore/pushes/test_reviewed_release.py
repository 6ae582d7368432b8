"""Pushes to release where a project requires a review: approved heads, merges of them, and overrides."""

import pytest

from gitstore.git.repository import Author
from gitstore.layout import CommitId
from tests.gitstore.fixtures import Place
from tests.gitstore.pushes.pushed import OWNER, PUBLISHER, Clone, rules

REVIEWED = "project:\n  title: Shop\n  policy:\n    review: required\n"


@pytest.fixture
def clone(place: Place) -> Clone:
    """Return a clone in which shop requires a review."""
    place.begin("docs")
    clone = Clone.of(place)
    clone.commit({"shop/project.yaml": REVIEWED})
    clone.push()
    return clone


def test_an_unapproved_commit_becomes_a_proposal(clone: Clone) -> None:
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    verdict = clone.check()
    assert verdict.refusal == "review required"
    expected = (
        f"shop requires a review: no other person has approved the commit {head[:12]}, or one that it merges.",
        "Push it as a proposal:",
        "  git push origin HEAD:refs/heads/<name>",
    )
    without = ("Or publish it without a review:", "  git push -o override='<reason>' origin HEAD:release")
    assert verdict.lines == expected + without
    clone.pusher = PUBLISHER
    assert clone.check().lines == expected, "without project:override"
    clone.pusher = OWNER
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit({"docs/redirects.yaml": rules(("/a", "/b"))})
    assert not clone.check().refusal, "docs requires no review"


def test_an_approved_head_is_accepted_and_noted(clone: Clone) -> None:
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.approve(head)
    verdict = clone.push()
    assert dict(verdict.notes)[head] == ("Published-by: Eve <eve@shop.example>\nApproved-by: Bob <bob@shop.example>\n")


def test_the_author_cannot_approve(clone: Clone) -> None:
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.approve(head, Author("Plain Git", "git@shop.example"))
    assert clone.check().refusal == "review required"


def test_every_commit_has_to_be_approved(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/c"))})
    clone.approve(head)
    assert clone.check().refusal == "review required"


def test_a_merge_of_an_approved_head_is_accepted(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "side")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/c"))})
    clone.git("checkout", "-q", "release")
    clone.commit({"docs/redirects.yaml": rules(("/d", "/e"))})
    clone.git("merge", "-q", "--no-ff", "-m", "Merge the side", "side")
    assert clone.check().refusal == "review required"
    clone.approve(head)
    assert not clone.check().refusal


def test_a_merge_that_adds_something_is_refused(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "side")
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.approve(head)
    clone.git("checkout", "-q", "release")
    clone.git("merge", "-q", "--no-ff", "--no-commit", "side")
    clone.commit({"shop/redirects/evil.yaml": rules(("/evil", "/b"))})
    verdict = clone.check()
    assert verdict.refusal == "review required"
    assert "changes more of shop" in verdict.lines[1]


def test_a_merge_in_one_file_is_that_of_the_service(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"), ("/m", "/b"), ("/n", "/b"), ("/z", "/b"))})
    clone.push(options=("override=begin",))
    clone.git("checkout", "-q", "-b", "side")
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"), ("/m", "/b"), ("/n", "/b"), ("/z", "/c"))})
    clone.approve(head)
    clone.git("checkout", "-q", "release")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/c"), ("/m", "/b"), ("/n", "/b"), ("/z", "/b"))})
    clone.push(options=("override=urgent",))
    clone.git("merge", "-q", "--no-ff", "-m", "Merge the side", "side")
    assert not clone.check().refusal


def test_an_override_is_asked_for_and_noted(clone: Clone) -> None:
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    verdict = clone.check(options=("override=the site is down",))
    assert not verdict.refusal
    assert [each.override for each in verdict.publishes] == ["the site is down"]
    assert "  Published without a review, by an override: the site is down" in verdict.lines
    assert clone.records.asked == [("shop", head, "the site is down")]
    assert "Override-reason: the site is down" in dict(verdict.notes)[head]


def test_an_override_needs_its_grant_and_a_reason(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert clone.check(options=("override= - ",)).refusal == "no reason"
    assert clone.check(options=("overide=x",)).refusal == "unknown push option"
    assert clone.check(options=("override=" + "x" * 501,)).refusal == "reason too long"
    twice = clone.check(options=("override=a", "override=b"))
    assert (twice.refusal, "Give one reason" in twice.lines[0]) == ("option given twice", True)
    clone.pusher = PUBLISHER
    assert clone.check(options=("override=x",)).refusal == "review required"
    assert clone.records.asked == []


@pytest.mark.parametrize("moved", ["HEAD~1", None])
def test_an_approval_ends_with_the_branch_of_its_head(clone: Clone, moved: str | None) -> None:
    """The branch has another head now, or was removed: the older commit is not what was approved last."""
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    ref = clone.approve(head)
    assert not clone.check().refusal
    other = clone.approve(head).replace("approved/", "same/")
    clone.place.git("update-ref", other, head)
    clone.place.git("update-ref", *([ref, clone.git("rev-parse", moved)] if moved else ["-d", ref]))
    assert not clone.check().refusal, "another branch has it"
    clone.place.git("update-ref", "-d", other)
    verdict = clone.check()
    assert verdict.refusal == "review required"
    assert verdict.lines[1] == f"The commit {head[:12]} was approved, but no branch is at it any more."
    clone.git("checkout", "-q", "--detach", "HEAD~1")
    clone.git("merge", "-q", "--no-ff", "-m", "Merge it", head)
    assert clone.check().lines[1] == verdict.lines[1], "a merge of it is no better"
    clone.place.git("update-ref", ref, head)
    assert not clone.check().refusal, "pushed back"


@pytest.mark.parametrize("noise", ["\x1b[31m", "\x07", "\r", "\n\n", "\x85", "\u2028", "\u202e", "\x00"])
def test_the_reason_of_an_override_is_one_line_that_cannot_control_a_terminal(clone: Clone, noise: str) -> None:
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    verdict = clone.check(options=(f"override=The shop{noise} is down",))
    [reason] = [line for line in dict(verdict.notes)[CommitId(head)].splitlines() if line.startswith("Override")]
    assert reason.isprintable()
    assert reason.startswith("Override-reason: The shop")
    assert reason.endswith(" is down")
    assert clone.records.asked == [("shop", head, reason.removeprefix("Override-reason: "))]
    assert verdict.publishes[0].override == reason.removeprefix("Override-reason: ")


def test_the_verdicts_are_read_again_when_everything_is_checked(clone: Clone) -> None:
    """An approval that ends while a push is checked opens nothing."""
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.approve(head)
    clone.records.reads_left = 1
    verdict = clone.check()
    assert verdict.refusal == "review required"
    assert verdict.lines[0] == "The review changed while the push was checked."
    clone.records.reads_left = 2
    assert not clone.check().refusal
