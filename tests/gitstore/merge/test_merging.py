"""Merging a draft into a release that moved on: by rule and by field, without touching other lines."""

import pytest

from content.records.vocabulary import Kind, RedirectStatus
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import Conflicts, Invalid
from gitstore.git.repository import Repository
from gitstore.layout import BlobId
from gitstore.merge import file_texts
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, page, put, redirect, yaml

OTHER = DraftName(SHOP, "other")
RULES = """\
# What marketing asked for.
redirects:
  # The summer sale.
  - type: BASIC
    source: /sale
    target: '/summer'   # until August
    status: 302

  - {type: BASIC, source: /about, target: /company, status: MOVED_PERMANENT}

  - type: BASIC
    source: "/jobs"
    target: /careers
    status: FOUND
"""


@pytest.fixture
def written(place: Place) -> Place:
    """Return a project with rules as people write them."""
    place.push({"shop/redirects.yaml": RULES})
    return place


def test_both_sides_change_other_rules_and_every_other_line_stays(written: Place) -> None:
    """Guard: merge by rule. A text merge conflicts on these adjacent lines; comments are kept byte for byte."""
    written.save(put(redirect("/sale", "/winter")))
    written.publish(put(redirect("/about", "/us", status=RedirectStatus.MOVED_PERMANENT)), draft=OTHER)
    written.publish()
    expected = RULES.replace("'/summer'", "/winter").replace("target: /company", "target: /us")
    found = written.file("shop/redirects.yaml")
    assert written.targets() == {"/sale": "/winter", "/about": "/us", "/jobs": "/careers"}
    assert [line for line in found.splitlines() if "sale" not in line and "target" not in line] == [
        line for line in expected.splitlines() if "sale" not in line and "target" not in line
    ]
    assert "# until August" in found


def test_other_fields_of_one_rule_are_merged(written: Place) -> None:
    """Target on one side and status on the other do not conflict."""
    written.save(put(redirect("/sale", "/winter")))
    written.publish(put(redirect("/sale", "/summer", status=RedirectStatus.MOVED_PERMANENT)), draft=OTHER)
    written.publish()
    assert written.items()[0] == {"type": "BASIC", "source": "/sale", "target": "/winter", "status": "MOVED_PERMANENT"}


def test_both_sides_append_without_a_conflict(written: Place) -> None:
    """A text merge always fails here."""
    written.save(put(redirect("/one")))
    written.publish(put(redirect("/two")), draft=OTHER)
    written.publish()
    assert set(written.targets()) == {"/sale", "/about", "/jobs", "/one", "/two"}


def test_same_field_on_both_sides_is_a_conflict_with_all_three_values(written: Place) -> None:
    """Nothing is published; the report has the same conflict in advance."""
    written.save(put(redirect("/sale", "/winter")))
    published = written.publish(put(redirect("/sale", "/spring")), draft=OTHER)
    with pytest.raises(Conflicts) as caught:
        written.publish()
    wanted = {
        "kind": "redirect",
        "id": redirect("/sale").id,
        "source": "/sale",
        "field": "target",
        "base": "/summer",
        "release": "/spring",
        "draft": "/winter",
    }
    assert caught.value.conflicts == (wanted,)
    assert list(written.store.drafts.report(SPACE, MAIN).conflicts) == [wanted]
    assert written.state()[0] == published.version


def test_same_source_added_on_both_sides(written: Place) -> None:
    """Equal rules merge; rules that differ conflict, for a text merge would keep both."""
    written.save(put(redirect("/same", "/x")), put(redirect("/mine", "/x")))
    written.publish(put(redirect("/same", "/x")), draft=OTHER)
    written.publish()
    assert written.targets()["/mine"] == "/x"
    written.save(put(redirect("/differs", "/x")))
    written.publish(put(redirect("/differs", "/y")), draft=OTHER)
    with pytest.raises(Conflicts) as caught:
        written.publish()
    assert [(each["base"], each["release"], each["draft"]) for each in caught.value.conflicts] == [(None, "/y", "/x")]


def test_removed_on_one_side_and_changed_on_the_other_is_a_conflict(written: Place) -> None:
    """The conflict is about the whole rule."""
    written.save(Delete(Kind.REDIRECTS, redirect("/jobs").id))
    written.publish(put(redirect("/jobs", "/work")), draft=OTHER)
    with pytest.raises(Conflicts) as caught:
        written.publish()
    assert [(each["field"], each["draft"]) for each in caught.value.conflicts] == [("", None)]


def test_removed_on_one_side_and_left_alone_on_the_other_is_removed(written: Place) -> None:
    """The comment that belongs to the rule is removed with it; the comments of other rules stay."""
    written.save(Delete(Kind.REDIRECTS, redirect("/sale").id))
    written.publish(put(redirect("/one")), draft=OTHER)
    written.publish()
    assert "/sale" not in written.targets()
    found = written.file("shop/redirects.yaml")
    assert "summer sale" not in found
    assert "# What marketing asked for." in found


def test_file_moved_on_release_while_the_draft_edits_a_rule_in_it(written: Place) -> None:
    """The location of a rule is a field like the others: the edit follows the rule to its new file."""
    written.save(put(redirect("/jobs", "/work")))
    written.push({"shop/redirects.yaml": None, "shop/redirects/all.yaml": RULES})
    written.publish()
    assert written.targets() == {"/sale": "/summer", "/about": "/company", "/jobs": "/work"}
    assert "# until August" in written.file("shop/redirects/all.yaml")
    assert written.git("ls-tree", "-r", "--name-only", "release", "shop/").split() == [
        "shop/pages.yaml",
        "shop/project.yaml",
        "shop/redirects/all.yaml",
    ]


def test_file_moved_on_the_draft_while_release_edits_a_rule_in_it(written: Place) -> None:
    """The merge also works with the sides swapped."""
    written.push({"shop/redirects.yaml": None, "shop/redirects/all.yaml": RULES}, to="draft/shop/main")
    written.publish(put(redirect("/jobs", "/work")), draft=OTHER)
    written.publish()
    assert written.targets() == {"/sale": "/summer", "/about": "/company", "/jobs": "/work"}
    assert "shop/redirects.yaml" not in written.git("ls-tree", "-r", "--name-only", "release").split()


def test_page_bodies_in_files_are_merged_as_content_of_their_pages(place: Place) -> None:
    """A change on one side is taken; changes on both conflict on `content`. Each body is removed with its page."""
    pages = "".join(
        f"  - {{type: BASIC, path: /{name}, contentType: TEXT_PLAIN, file: {name}.txt}}\n" for name in "abc"
    )
    place.push({"shop/pages.yaml": "pages:\n" + pages, **{f"shop/{name}.txt": name for name in "abc"}})
    place.save(put(page("/a", "draft")), Delete(Kind.PAGES, page("/c").id))
    place.publish(put(page("/b", "release")), draft=OTHER)
    place.publish()
    assert {item["path"]: item["content"] for item in place.items(kind=Kind.PAGES)} == {"/a": "draft", "/b": "release"}
    assert "shop/c.txt" not in place.git("ls-tree", "-r", "--name-only", "release").split()
    assert "file: a.txt" in place.file("shop/pages.yaml")
    place.save(put(page("/a", "mine")))
    place.publish(put(page("/a", "theirs")), draft=OTHER)
    with pytest.raises(Conflicts) as caught:
        place.publish()
    assert [(each["field"], each["release"], each["draft"]) for each in caught.value.conflicts] == [
        ("content", "theirs", "mine")
    ]


def test_body_that_two_pages_share_stays_with_the_other(place: Place) -> None:
    """Guard: a file is removed only if no other page names it."""
    pages = "".join(f"  - {{type: BASIC, path: /{name}, contentType: TEXT_PLAIN, file: same.txt}}\n" for name in "ab")
    place.push({"shop/pages.yaml": "pages:\n" + pages, "shop/same.txt": "x"})
    place.publish(Delete(Kind.PAGES, page("/a").id))
    assert [item["content"] for item in place.items(kind=Kind.PAGES)] == ["x"]
    place.publish(Delete(Kind.PAGES, page("/b").id))
    assert "shop/same.txt" not in place.git("ls-tree", "-r", "--name-only", "release").split()


def test_file_that_cannot_be_read_is_never_merged_as_an_empty_one(written: Place) -> None:
    """Guard: errors are checked before merging. Without it all rules of the broken file would be removed."""
    written.push({"shop/redirects.yaml": RULES.replace("source: /sale", "source: [")}, to="draft/shop/main")
    written.publish(put(redirect("/one")), draft=OTHER)
    with pytest.raises(Invalid) as caught:
        written.publish()
    assert caught.value.problems[0].file == "shop/redirects.yaml"
    assert written.store.drafts.report(SPACE, MAIN).problems[0].file == "shop/redirects.yaml"
    assert len(written.targets()) == 4


@pytest.mark.parametrize("text", ["pages: []\n", "pages:\n"])
def test_file_of_the_other_kind_is_never_merged(written: Place, text: str) -> None:
    """Guard: no rule of the draft could be written to it, which was an internal error of the report."""
    written.save(put(redirect("/three", "/edited")))
    written.push({f"{SHOP}/redirects.yaml": text})
    assert [problem.file for problem in written.store.drafts.report(SPACE, MAIN).problems] == [f"{SHOP}/redirects.yaml"]
    with pytest.raises(Invalid, match="Fix them, then merge the draft"):
        written.publish()


def test_settings_changed_on_both_sides_are_a_conflict_of_the_file(written: Place) -> None:
    """project.yaml is one value."""
    written.push({"shop/project.yaml": "project: {title: Mine}\n"}, to="draft/shop/main")
    written.push({"shop/project.yaml": "project: {title: Theirs}\n"})
    with pytest.raises(Conflicts) as caught:
        written.publish()
    [conflict] = caught.value.conflicts
    assert conflict["file"] == "shop/project.yaml"
    sides = [written.file("shop/project.yaml", at) for at in ("release~1", "release", "draft/shop/main")]
    assert conflict["texts"] == dict(zip(("base", "release", "draft"), sides, strict=True))
    assert [each["texts"] for each in written.store.drafts.report(SPACE, MAIN).conflicts] == [conflict["texts"]]


def test_conflicts_are_counted_without_the_texts_of_the_files(written: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: a list of drafts read three whole files for each disputed one."""
    written.push({"shop/page.html": "Mine\n"}, to="draft/shop/main")
    written.push({"shop/page.html": "Theirs\n"})
    read = list[str]()
    blob = Repository.blob

    def note(repository: Repository, blob_id: BlobId) -> bytes:
        read.append(blob_id)
        return blob(repository, blob_id)

    monkeypatch.setattr(Repository, "blob", note)
    [(_, head)] = written.store.drafts.heads({SPACE: [SHOP]})
    opened = written.store.drafts.read_open(SPACE, head)
    assert opened
    assert opened.conflicts == 1
    mine, theirs = (written.git("rev-parse", f"{branch}:shop/page.html") for branch in ("draft/shop/main", "release"))
    assert not {mine, theirs} & {*read}


def test_the_texts_of_conflicts_are_bounded(written: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the length of a file, and by the number of files and bytes of all."""
    names = [f"shop/{number}.html" for number in range(23)]
    written.push({**dict.fromkeys(names, "Mine\n"), "shop/.html": "x" * 65_537}, to="draft/shop/main")
    written.push({**dict.fromkeys(names, "Theirs\n"), "shop/.html": "Theirs\n"})

    def shown() -> list[bool]:
        with pytest.raises(Conflicts) as caught:
            written.publish()
        return ["texts" in each for each in caught.value.conflicts]

    assert (len(shown()), sum(shown()), shown()[0]) == (24, 20, False)
    monkeypatch.setattr(
        file_texts, "_MOST_READ", 65_540
    )  # the long one, and a short one of which a second side is read
    assert sum(shown()) == 0


def test_what_others_published_meanwhile_is_kept(written: Place) -> None:
    """Other projects and files next to them are those of release; the draft's commit does not affect them."""
    written.save(put(redirect("/one")))
    written.begin("docs")
    written.push({"docs/redirects.yaml": yaml([("/d", "/e")]), "README.md": "Newer\n"})
    written.publish()
    assert written.targets("docs") == {"/d": "/e"}
    assert written.file("README.md") == "Newer\n"
