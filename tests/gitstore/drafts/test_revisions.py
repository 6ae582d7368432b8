"""Revision words: the state that each names, their precedence, and the message for a missing state."""

import pytest

from content.matching.request import parse_request
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.revisions import require_readable
from gitstore.errors import BadRequest, Invalid, NotFound
from tests.gitstore.fixtures import SHOP, SPACE, Place, put, redirect, yaml


def _targets(place: Place, at: str, draft: str = "main") -> dict[str, str]:
    records = place.store.revisions.records(SPACE, SHOP, Kind.REDIRECTS, at, draft)
    return {record.source: record.target for record in records}  # type: ignore[union-attr] # the kind is redirects


def _sources(place: Place, old: str, new: str) -> list[str]:
    return sorted(change.identity for change in place.store.revisions.diff(SPACE, SHOP, old, new)[Kind.REDIRECTS])


def test_every_word_names_its_state(place: Place) -> None:
    """The states are published, draft, another draft, a version in four ways, a branch in three, a draft branch."""
    first = place.publish(put(redirect("/a", "/1"))).version
    place.publish(put(redirect("/a", "/2")))
    place.save(put(redirect("/a", "/draft")))
    place.save(put(redirect("/a", "/other")), draft=DraftName(SHOP, "other"))
    place.push({"shop/redirects.yaml": yaml([("/a", "/branch")])}, to="feature-x")
    expected = {
        "published": "/2",
        "release": "/2",
        "draft": "/draft",
        "draft/shop/main": "/draft",
        "branch:draft/shop/other": "/other",
        "2": "/1",
        first: "/1",
        first[:7]: "/1",
        first.upper(): "/1",
        "feature-x": "/branch",
        "branch:feature-x": "/branch",
        "refs/heads/feature-x": "/branch",
    }
    assert {word: _targets(place, word)["/a"] for word in expected} == expected
    assert _targets(place, "draft", "other")["/a"] == "/other"


def test_words_that_could_be_two_things_have_an_order(place: Place) -> None:
    """The order is `published` and `draft`, then versions, then branches; a prefix reaches the branch."""
    version = place.publish(put(redirect("/a", "/2"))).version
    names = ["published", "draft", "2", version[:8], "deadbeef"]
    for name in names:
        place.git("update-ref", f"refs/heads/{name}", "release~1")
    assert all(_targets(place, name) == {"/a": "/2"} for name in names[:4])
    assert _targets(place, "deadbeef") == {}
    assert all(_targets(place, f"{prefix}{name}") == {} for name in names for prefix in ("branch:", "refs/heads/"))


def test_a_state_that_is_not_there_is_named(place: Place) -> None:
    """The message names the word and, if it is missing, the project."""
    for word in ("feature-y", "99", "deadbeef", "branch:published", "refs/heads/none", "draft/shop/none"):
        with pytest.raises(NotFound, match=word.removeprefix("branch:").removeprefix("refs/heads/")):
            place.store.revisions.snapshot(SPACE, SHOP, word)
    place.push({"shop/project.yaml": None, "shop/redirects.yaml": None, "shop/pages.yaml": None}, to="without")
    with pytest.raises(NotFound, match="branch without"):
        place.store.revisions.lint(SPACE, SHOP, "without")


@pytest.mark.parametrize(
    "word",
    [
        "",
        "a..b",
        "../../config",
        "branch:../HEAD",
        "refs/heads/",
        "a b",
        "a\0b",
        "x.lock",
        "-x~1",
        "@{u}",
        "x" * 300,
        "\ud800",
    ],
)
def test_an_invalid_name_is_a_bad_request(place: Place, word: str) -> None:
    """Guard: a word becomes a path below refs/heads, and cannot lead out of it."""
    with pytest.raises((BadRequest, NotFound)):
        place.store.revisions.snapshot(SPACE, SHOP, word)
    if word not in {"", "-x~1"}:
        with pytest.raises(BadRequest):
            place.store.revisions.snapshot(SPACE, SHOP, word)


def test_base_is_where_a_draft_or_branch_left_release(place: Place) -> None:
    """The difference holds the branch's own changes, without those published on release since."""
    place.publish(put(redirect("/a")))
    place.save(put(redirect("/mine")))
    place.push({"shop/redirects.yaml": yaml([("/a", "/new"), ("/theirs", "/x")])}, to="feature-x")
    place.publish(put(redirect("/since")), draft=DraftName(SHOP, "other"))
    assert _sources(place, "published", "feature-x") == ["/since", "/theirs"]
    assert _sources(place, "base", "feature-x") == ["/theirs"]
    assert _sources(place, "base", "draft") == ["/mine"]
    assert _sources(place, "feature-x", "draft") == ["/mine", "/theirs"]
    for word in ("published", "2"):
        with pytest.raises(BadRequest):
            place.store.revisions.diff(SPACE, SHOP, "base", word)


def test_a_branch_of_another_root_has_no_base(place: Place) -> None:
    """The branch can be compared with any other state."""
    commit = place.git("commit-tree", "release^{tree}", "-m", "Alone")
    place.git("update-ref", "refs/heads/alone", commit)
    with pytest.raises(NotFound, match="shares no history"):
        place.store.revisions.diff(SPACE, SHOP, "base", "alone")
    assert _sources(place, "published", "alone") == []


def test_a_file_that_cannot_be_read_is_not_reported_as_removed_rules(place: Place) -> None:
    """Guard: a comparison never shows an unreadable file as a thousand deletions."""
    place.publish(put(redirect("/a")))
    place.push({"shop/redirects.yaml": "redirects:\n  - {sorce: /x}\n"}, to="broken")
    with pytest.raises(Invalid) as raised:
        place.store.revisions.diff(SPACE, SHOP, "published", "broken")
    found = raised.value.problems[0]
    assert (found.file, found.line) == ("shop/redirects.yaml", 2)
    snapshot = place.store.revisions.snapshot(SPACE, SHOP, "broken")
    require_readable(snapshot, snapshot)
    place.push({"shop/pages.yaml": "redirects: []\n"}, to="misplaced")
    with pytest.raises(Invalid, match="has errors"):
        place.store.revisions.diff(SPACE, SHOP, "published", "misplaced")


def test_a_branch_answers_requests_and_is_linted(place: Place) -> None:
    """A branch can be tested before it is merged, as a draft can."""
    place.push({"shop/redirects.yaml": yaml([("/a", "/b"), ("/b", "/a")])}, to="loop")
    assert {problem.code for problem in place.store.revisions.lint(SPACE, SHOP, "loop")} == {"redirect_loop"}
    winner = place.store.revisions.matcher(SPACE, SHOP, "loop").answer(parse_request("/b")).winner
    assert winner
    assert winner.location == "/a"
