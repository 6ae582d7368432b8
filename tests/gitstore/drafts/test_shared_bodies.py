"""An edit of one page changes that page alone, also if pages share a file of content."""

import pytest

from content.changes.replacement import Replacement
from content.records.record import Page
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.editing.edits import Delete, Edit
from gitstore.drafts.reverting import RevertRequest
from gitstore.errors import Conflicts, Invalid
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, page, put
from tests.gitstore.merge.test_merging import OTHER

FILED = "  - {{type: BASIC, path: /{0}, contentType: TEXT_PLAIN, file: {1}}}\n"


@pytest.fixture
def shared(place: Place) -> Place:
    """Return two pages of one content, and one with its own below another folder."""
    own = "pages:\n" + FILED.format("c", "c.txt")
    files = {"shop/pages.yaml": "pages:\n" + FILED.format("a", "same.txt") + FILED.format("b", "same.txt")}
    place.push({**files, "shop/same.txt": "one", "shop/pages/deep/more.yaml": own, "shop/pages/deep/c.txt": "two"})
    return place


def contents(place: Place) -> dict[str, str]:
    """Return the content by path that agents get; fail on any problem."""
    assert place.store.revisions.lint(SPACE, SHOP) == []
    return {item["path"]: item["content"] for item in place.items(kind=Kind.PAGES)}


def files(place: Place) -> set[str]:
    """Return the names of the files of content."""
    return {name for name in place.git("ls-tree", "-r", "--name-only", "release").split() if name.endswith(".txt")}


@pytest.mark.parametrize(
    ("edits", "expected", "left"),
    [
        ([put(page("/a", "new"))], {"/a": "new", "/b": "one"}, {"shop/same.txt"}),
        ([put(page("/a", "new")), put(page("/b", "newer"))], {"/a": "new", "/b": "newer"}, {"shop/same.txt"}),
        ([put(page("/a2", "new"), replaces=page("/a").id)], {"/a2": "new", "/b": "one"}, {"shop/same.txt"}),
        ([put(page("/a", "one"), file="pages/deep/more.yaml")], {"/a": "one", "/b": "one"}, {"shop/same.txt"}),
        (
            [put(page(f"/{name}", "one"), file="pages/deep/new.yaml") for name in "ab"],
            {"/a": "one", "/b": "one"},
            set(),
        ),
        (
            [put(page("/c", "two"), file="pages.yaml"), Delete(Kind.PAGES, page("/a").id)],
            {"/b": "one"},
            {"shop/same.txt"},
        ),
        ([Delete(Kind.PAGES, page(f"/{name}").id) for name in "ab"], {}, set()),
    ],
    ids=["changed", "both changed", "renamed", "moved away", "both moved away", "moved up", "both removed"],
)
def test_pages_of_one_content_are_edited_apart(
    shared: Place, edits: list[Edit], expected: dict[str, str], left: set[str]
) -> None:
    """The other page keeps its text, and a file that no page names is removed."""
    shared.publish(*edits)
    assert contents(shared) == {**expected, "/c": "two"}
    assert files(shared) == {*left, "shop/pages/deep/c.txt"}


def test_a_page_with_a_file_of_its_own_can_be_published_alone(shared: Place) -> None:
    """Guard: the selection includes the page's file."""
    more = "pages:\n" + FILED.format("c", "c.txt") + FILED.format("d", "d.txt")
    shared.push({"shop/pages/deep/more.yaml": more, "shop/pages/deep/d.txt": "three"}, to="draft/shop/main")
    shared.publish(ids=frozenset({page("/d").id}))
    assert contents(shared)["/d"] == "three"


INLINE = "  - {{type: BASIC, path: /{0}, contentType: TEXT_PLAIN, content: {1}}}\n"


@pytest.mark.parametrize("content", ["one", "new"])
def test_a_page_that_leaves_its_file_leaves_it_also_when_published_alone(shared: Place, content: str) -> None:
    """No change stays in the draft, and the other page keeps the file."""
    pages = "pages:\n" + INLINE.format("a", content) + FILED.format("b", "same.txt")
    shared.push({"shop/pages.yaml": pages}, to="draft/shop/main")
    shared.publish(ids=frozenset({f"page:{page('/a').id}"}))
    assert contents(shared) == {"/a": content, "/b": "one", "/c": "two"}
    assert files(shared) == {"shop/same.txt", "shop/pages/deep/c.txt"}
    assert sum(map(sum, shared.store.drafts.report(SPACE, MAIN).counts.values())) == 0


@pytest.mark.parametrize("content", ["two", "new"])
def test_the_file_of_a_page_that_leaves_it_is_removed_when_published_alone(shared: Place, content: str) -> None:
    own = "pages:\n" + INLINE.format("c", content)
    shared.push({"shop/pages/deep/more.yaml": own, "shop/pages/deep/c.txt": None}, to="draft/shop/main")
    shared.publish(ids=frozenset({page("/c").id}))
    assert files(shared) == {"shop/same.txt"}
    assert sum(map(sum, shared.store.drafts.report(SPACE, MAIN).counts.values())) == 0


def drafted(place: Place) -> dict[str, str]:
    """Return the content by path in the draft."""
    return {
        placed.record.path: placed.record.content
        for placed in place.store.revisions.snapshot(SPACE, SHOP, "draft").pages()
    }


@pytest.mark.parametrize("other", [put(page("/b", "three")), Delete(Kind.PAGES, page("/b").id)], ids=["other", "gone"])
def test_an_old_version_of_one_page_is_served_as_the_draft_shows_it(shared: Place, other: Edit) -> None:
    """The old text is served also if its file now holds another page's text, or is gone; there is no conflict."""
    shared.publish(put(page("/a", "two")), other)
    before = contents(shared)
    shared.store.drafts.reopen(SPACE, MAIN, "2", ADA)
    draft = drafted(shared)
    shared.publish(ids=frozenset({page("/a").id}))
    assert contents(shared) == {**before, "/a": "one"}
    assert drafted(shared) == draft
    assert shared.store.drafts.report(SPACE, MAIN).conflicts == []


def test_a_page_comes_back_beside_the_one_that_took_its_file(shared: Place) -> None:
    """Each page has its own text; if the other change is discarded too, the draft ends."""
    shared.save(put(page("/d", "new"), replaces=page("/c").id))
    shared.store.drafts.revert(SPACE, RevertRequest(MAIN, frozenset({page("/c").id}), ADA))
    assert drafted(shared) == {"/a": "one", "/b": "one", "/c": "two", "/d": "new"}
    assert shared.store.drafts.revert(SPACE, RevertRequest(MAIN, frozenset({page("/d").id}), ADA)).head is None


@pytest.mark.parametrize("ids", ["a", "b", "ab"])
def test_a_replacement_reaches_the_pages_that_are_named(shared: Place, ids: str) -> None:
    """Other pages of the same file keep their text, also when one of the selected pages is reverted."""
    chosen = frozenset(page(f"/{name}").id for name in ids)
    order = ReplaceRequest(MAIN, Replacement("one", "1"), frozenset({"content"}), (Kind.PAGES,), ids=chosen)
    shared.store.drafts.replace(SPACE, order, ADA)
    assert drafted(shared) == {"/a": "one", "/b": "one", "/c": "two", **{f"/{name}": "1" for name in ids}}
    shared.store.drafts.revert(SPACE, RevertRequest(MAIN, frozenset({page(f"/{ids[0]}").id}), ADA))
    kept = {f"/{name}": "1" for name in ids[1:]}
    assert drafted(shared) == {"/a": "one", "/b": "one", "/c": "two", **kept}


def test_two_sides_that_put_two_texts_into_one_new_file_conflict(shared: Place) -> None:
    """The file itself is in conflict, so neither text is lost."""
    for name, to in (("x", "draft/shop/main"), ("y", "draft/shop/other")):
        more = {"shop/pages/" + name + ".yaml": "pages:\n" + FILED.format(name, "new.txt")}
        shared.push({**more, "shop/pages/new.txt": name}, to=to)
        shared.clone()
    shared.publish(draft=OTHER)
    with pytest.raises(Conflicts) as caught:
        shared.publish()
    assert [(each["kind"], each["file"]) for each in caught.value.conflicts] == [("file", "shop/pages/new.txt")]


def test_a_page_that_came_to_share_a_file_meanwhile_is_not_changed_in_silence(shared: Place) -> None:
    """The draft changes the text of the pages that it knew; for a page added to release since, a person decides."""
    shared.push({"shop/same.txt": "new"}, to="draft/shop/main")
    pages = "".join(FILED.format(name, "same.txt") for name in "abn")
    shared.push({"shop/pages.yaml": f"pages:\n{pages}"})
    with pytest.raises(Conflicts) as caught:
        shared.publish()
    assert [(each["kind"], each["file"]) for each in caught.value.conflicts] == [("file", "shop/same.txt")]
    assert contents(shared)["/n"] == "one"


def test_a_content_that_is_not_text_is_never_merged_as_an_empty_one(shared: Place) -> None:
    """Pushed bytes that are not UTF-8 are reported, and not replaced."""
    shared.push({"shop/same.txt": b"\xff\xfe"}, to="draft/shop/main")
    shared.publish(put(page("/z", "new")), draft=OTHER)
    with pytest.raises(Invalid) as caught:
        shared.publish()
    assert "bad_encoding" in {problem.code for problem in caught.value.problems}


def test_a_rule_that_a_draft_holds_twice_is_reported_and_not_merged_into_one(shared: Place) -> None:
    """The rule was pushed by hand into two files: a person has to choose one of them."""
    twice = {"shop/pages/a.yaml": "pages:\n  - {type: BASIC, path: /d, contentType: XML, content: x}\n"}
    twice["shop/pages/b.yaml"] = twice["shop/pages/a.yaml"].replace("content: x", "content: y")
    shared.push(twice, to="draft/shop/main")
    shared.publish(put(page("/z", "new")), draft=OTHER)
    with pytest.raises(Invalid) as caught:
        shared.publish()
    assert {problem.code for problem in caught.value.problems} == {"duplicate_path"}


def test_a_page_that_is_written_again_as_it_is_changes_nothing(shared: Place) -> None:
    """The location of its content is unchanged too."""
    found = [placed.record for placed in shared.store.revisions.snapshot(SPACE, SHOP, "published").pages()]
    head = shared.save(*(put(Page(each.type, each.path, each.content, each.content_type)) for each in found))
    assert head == shared.tip
