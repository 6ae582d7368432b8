"""Drafts that could not merge a publish of some of their changes: the published ones are not theirs any more."""

from collections.abc import Callable

import pytest

from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import Conflicts
from gitstore.publish.advance import PublishResult
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, put, redirect

_OTHER = DraftName(SHOP, "other")
_REF = "refs/heads/draft/shop/main"


def _select(place: Place, *sources: str, head: str = "") -> PublishResult:
    return place.publish(ids=frozenset(map(identity_id, sources)), head=head)


def _changed(place: Place) -> set[str]:
    """Return the sources that the draft changes, as its report, its list and the difference to its base agree."""
    diff = {change.identity for change in place.store.revisions.diff(SPACE, SHOP, "base", "draft")[Kind.REDIRECTS]}
    assert sum(sum(counts) for counts in place.store.drafts.report(SPACE, MAIN).counts.values()) == len(diff)
    return diff


def _interrupted(place: Place) -> None:
    """Select from a draft, and leave its branch as it is if the process ends right after the publish."""
    place.publish(put(redirect("/a", "/0")), put(redirect("/b", "/0")))
    head = place.save(put(redirect("/a", "/1")), put(redirect("/b", "/1")))
    _select(place, "/a")
    place.git("update-ref", _REF, head)


def _conflicting(place: Place) -> None:
    """Select from a draft whose other change conflicts with release, so that it cannot merge the publish."""
    place.publish(put(redirect("/a", "/0")), put(redirect("/b", "/0")))
    head = place.save(put(redirect("/a", "/1")), put(redirect("/b", "/1")))
    place.publish(put(redirect("/b", "/theirs")), draft=_OTHER, publisher=BOB)
    _select(place, "/a")
    assert place.git("rev-parse", _REF) == head


_unmerged = pytest.mark.parametrize("unmerged", [_interrupted, _conflicting])


@_unmerged
def test_published_changes_are_not_the_drafts_any_more(place: Place, unmerged: Callable[[Place], None]) -> None:
    unmerged(place)
    assert _changed(place) == {"/b"}
    assert _changed(place.fresh()) == {"/b"}


@_unmerged
def test_author_does_not_conflict_with_the_own_publish(place: Place, unmerged: Callable[[Place], None]) -> None:
    """The rule that was published is edited again in the same draft."""
    unmerged(place)
    place.save(put(redirect("/a", "/2")))
    assert [each["source"] for each in place.store.drafts.report(SPACE, MAIN).conflicts if each["source"] == "/a"] == []
    assert _changed(place) == {"/a", "/b"}
    _select(place, "/a")
    assert place.targets()["/a"] == "/2"
    assert _changed(place) == {"/b"}


@_unmerged
def test_later_publish_of_another_person_is_no_conflict(place: Place, unmerged: Callable[[Place], None]) -> None:
    """The draft does not change the published rule any more, so release's value is taken."""
    unmerged(place)
    place.publish(put(redirect("/a", "/3")), draft=_OTHER, publisher=BOB)
    assert "/a" not in {each["source"] for each in place.store.drafts.report(SPACE, MAIN).conflicts}
    if unmerged is _interrupted:
        place.publish()
        assert place.targets() == {"/a": "/3", "/b": "/1"}
        assert place.store.drafts.names(SPACE, SHOP) == []


def test_real_conflict_of_the_rest_stays(place: Place) -> None:
    """It was there before, and is resolved as any other."""
    _conflicting(place)
    with pytest.raises(Conflicts) as caught:
        place.publish()
    assert [each["source"] for each in caught.value.conflicts] == ["/b"]


def test_commits_by_plain_git_on_top_do_not_matter(place: Place) -> None:
    """The published head is then an ancestor of the draft's."""
    _interrupted(place)
    tree = place.git("rev-parse", f"{_REF}^{{tree}}")
    place.git("update-ref", _REF, place.git("commit-tree", tree, "-p", _REF, "-m", "By hand"))
    assert _changed(place) == {"/b"}


def test_draft_whose_changes_are_all_published_is_over(place: Place) -> None:
    """As after a publish of the whole draft that was interrupted: the next edit begins from release."""
    place.publish(put(redirect("/a", "/0")))
    head = place.save(put(redirect("/a", "/1")))
    _select(place, "/a")
    place.git("update-ref", _REF, head)
    assert place.store.drafts.report(SPACE, MAIN).state.head is None
    place.save(put(redirect("/fresh")))
    assert _changed(place) == {"/fresh"}
    place.publish()
    assert place.targets() == {"/a": "/1", "/fresh": "/new"}


def test_repeated_request_finds_its_publish_and_merges_it(place: Place) -> None:
    """The answer was lost with the process."""
    place.publish(put(redirect("/a", "/0")), put(redirect("/b", "/0")))
    head = place.save(put(redirect("/a", "/1")), put(redirect("/b", "/1")))
    first = _select(place, "/a", head=head)
    place.git("update-ref", _REF, head)
    assert _select(place, "/a", head=head).version == first.version
    assert place.store.drafts.report(SPACE, MAIN).state.base == first.version
    assert _changed(place) == {"/b"}


def test_discarded_draft_leaves_its_name_without_a_past(place: Place) -> None:
    """Guard: the new draft of the name has none of the commits that were published in part."""
    _interrupted(place)
    place.store.drafts.discard(SPACE, MAIN)
    place.save(put(redirect("/a", "/4")))
    assert _changed(place) == {"/a"}
    assert place.store.publishes.history(SPACE, SHOP, 0, 1)[0][0].author == "Ada Lovelace <ada@shop.example>"
    assert place.publish(publisher=ADA).counts[Kind.REDIRECTS].changed == 1
    place.fsck()
