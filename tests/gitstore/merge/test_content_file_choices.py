"""A conflict on the content file of a page is resolved like any other: by either side, or by another file."""

import pytest

from content.records.vocabulary import Kind
from gitstore.errors import Invalid
from gitstore.merge.choices import Choice
from gitstore.merge.resolving import ResolveRequest
from tests.gitstore.fixtures import ADA, MAIN, SPACE, Place, page

_ENTRY = "pages:\n  - {{type: BASIC, path: /a, contentType: TEXT_PLAIN, file: {0}}}\n"


@pytest.fixture
def shop(place: Place) -> Place:
    """Return a place where release and the draft have moved a page's content to different files."""
    place.push({"shop/pages.yaml": _ENTRY.format("a.txt"), "shop/a.txt": "text\n"})
    moved = {"shop/a.txt": None}
    place.push(
        {**moved, "shop/pages.yaml": _ENTRY.format("draft.txt"), "shop/draft.txt": "text\n"}, to="draft/shop/main"
    )
    place.push({**moved, "shop/pages.yaml": _ENTRY.format("release.txt"), "shop/release.txt": "text\n"})
    return place


def resolve(place: Place, take: str, value: str | None = None) -> None:
    """Resolve the one conflict, and publish the draft if there is one left."""
    (conflict,) = place.store.drafts.report(SPACE, MAIN).conflicts
    assert (conflict["field"], conflict["release"], conflict["draft"]) == ("contentFile", "release.txt", "draft.txt")
    choice = Choice("page", page("/a").id, "contentFile", take, value)
    if place.store.drafts.resolve(SPACE, ResolveRequest(MAIN, [choice], ADA)).head:
        place.publish()


@pytest.mark.parametrize(
    ("take", "value", "file"),
    [
        ("draft", None, "draft.txt"),
        ("release", None, "release.txt"),
        ("value", "third.txt", "third.txt"),
        ("value", "pages/texts/third.txt", "pages/texts/third.txt"),
    ],
)
def test_content_is_in_the_chosen_file_alone(shop: Place, take: str, value: str | None, file: str) -> None:
    resolve(shop, take, value)
    (served,) = shop.items(kind=Kind.PAGES)
    assert served["content"] == "text\n"
    found = shop.git("ls-tree", "-r", "--name-only", "release", "shop").split()
    assert [path for path in found if path.endswith(".txt")] == [f"shop/{file}"]
    assert file in shop.file("shop/pages.yaml")


@pytest.mark.parametrize("value", ["../third.txt", "/third.txt", "", ".git/third.txt", "texts/third.txt", "pages.yaml"])
def test_path_that_is_not_for_contents_cannot_be_chosen(shop: Place, value: str) -> None:
    tip = shop.tip
    with pytest.raises(Invalid) as caught:
        resolve(shop, "value", value)
    assert [problem.pointer for problem in caught.value.problems] == ["/choices/0/value"]
    assert shop.tip == tip
