"""Publishing some changes of a draft: they alone reach release, and the others stay in the draft."""

import pytest

from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import NotFound, UnknownChange
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, page, put, redirect

_NAMED = "pages:\n  - type: BASIC\n    path: /terms\n    contentType: TEXT_PLAIN\n    file: terms.txt\n"


def publish_only(place: Place, *identities: str) -> None:
    """Publish what the draft does to the records with these identities."""
    place.publish(ids=frozenset(map(identity_id, identities)))


def left(place: Place) -> dict[Kind, tuple[int, int, int]]:
    """Count the records that the draft still adds, changes and removes."""
    counts = place.store.drafts.report(SPACE, MAIN).counts
    return {kind: (counts[kind].added, counts[kind].changed, counts[kind].removed) for kind in Kind}


def test_each_sort_of_change_is_published_alone(place: Place) -> None:
    """An addition, a change and a removal; after each, only what was chosen so far has left the draft."""
    place.publish(put(redirect("/changed")), put(redirect("/removed")))
    place.save(
        put(redirect("/added")), put(redirect("/changed", "/newer")), Delete(Kind.REDIRECTS, redirect("/removed").id)
    )
    publish_only(place, "/removed")
    assert place.targets() == {"/changed": "/new"}
    assert left(place)[Kind.REDIRECTS] == (1, 1, 0)
    publish_only(place, "/changed")
    assert place.targets() == {"/changed": "/newer"}
    assert left(place)[Kind.REDIRECTS] == (1, 0, 0)
    publish_only(place, "/added")
    assert place.targets() == {"/changed": "/newer", "/added": "/new"}
    assert place.store.drafts.names(SPACE, SHOP) == []


def test_redirects_and_pages_are_chosen_together(place: Place) -> None:
    place.save(put(redirect("/a")), put(redirect("/b")), put(page("/a.txt")), put(page("/b.txt")))
    publish_only(place, "/a", "/b.txt")
    assert set(place.targets()) == {"/a"}
    assert [item["path"] for item in place.items(kind=Kind.PAGES)] == ["/b.txt"]
    assert left(place) == {Kind.REDIRECTS: (1, 0, 0), Kind.PAGES: (1, 0, 0)}


def test_what_the_draft_does_not_change_cannot_be_chosen(place: Place) -> None:
    """Nothing is published then, and the error names the first of the ids that are unknown."""
    place.publish(put(redirect("/same")))
    place.save(put(redirect("/a")))
    known, *unknown = redirect("/a").id, redirect("/same").id, "0" * 16, "f" * 16
    state = place.state()
    with pytest.raises(UnknownChange) as caught:
        place.publish(ids=frozenset({known, *unknown}))
    assert caught.value.id == min(unknown)
    assert min(unknown) in str(caught.value)
    assert place.state() == state
    assert left(place)[Kind.REDIRECTS] == (1, 0, 0)


def test_what_was_published_meanwhile_stays_on_release(place: Place) -> None:
    """The chosen changes are made to what the draft began from, and merged with what others have done since."""
    place.save(put(redirect("/a")), put(redirect("/b")))
    other = DraftName(SHOP, "other")
    place.publish(put(redirect("/others")), draft=other)
    publish_only(place, "/a")
    assert set(place.targets()) == {"/a", "/others"}
    assert left(place)[Kind.REDIRECTS] == (1, 0, 0)


def test_page_is_put_in_the_file_where_the_draft_has_it(place: Place) -> None:
    """Guard: the file of its content is named from there; from another folder the name would mean another file."""
    files = {"shop/pages/legal/all.yaml": _NAMED, "shop/pages/legal/terms.txt": "The terms\n"}
    place.push(files, to="draft/shop/main")
    place.save(put(redirect("/b")))
    publish_only(place, "/terms")
    (served,) = place.items(kind=Kind.PAGES)
    assert served["content"] == "The terms\n"
    assert place.file("shop/pages/legal/all.yaml") == _NAMED
    assert left(place) == {Kind.REDIRECTS: (1, 0, 0), Kind.PAGES: (0, 0, 0)}


def test_nothing_can_be_chosen_of_a_draft_that_is_older_than_its_project(empty: Place) -> None:
    """There is no state of the project then that the changes could be made to."""
    before = empty.tip
    place = empty.begin(SHOP)
    tree = place.git("rev-parse", f"{place.tip}^{{tree}}")
    draft = place.git("commit-tree", tree, "-p", before, "-m", "Begun before the project")
    place.git("update-ref", MAIN.ref, draft)
    with pytest.raises(NotFound):
        publish_only(place, "/a")
