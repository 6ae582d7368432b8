"""Discarding some changes of a draft: the records, and the bytes, are again those of the draft's base."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content.changes.replacement import Replacement
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.drafts import read_draft
from gitstore.drafts.editing.edits import Delete, Edit
from gitstore.drafts.listing import Query, Span
from gitstore.drafts.reverting import RevertRequest, RevertResult
from gitstore.errors import Invalid, NotAllowed, NotFound, StaleDraft
from gitstore.git.repository import open_repository
from tests.gitstore.fixtures import BOB, MAIN, SHOP, SPACE, Place, create_place, page, put, redirect
from tests.rounds import rounds

RULES = """\
# What marketing asked for.
redirects:
  # The summer sale.
  - type: BASIC
    source: /sale
    target: '/summer'   # until August
    status: 302

  - {type: BASIC, source: /about, target: /company, status: MOVED_PERMANENT}

  # Careers.
  - type: BASIC
    source: "/jobs"
    target: /careers
    status: FOUND
"""
PAGES = """\
pages:
  - {type: BASIC, path: /robots.txt, contentType: TEXT_PLAIN, file: robots.txt}   # for crawlers
  - type: BASIC
    path: /hello
    contentType: TEXT_PLAIN
    content: |
      hello
"""


@pytest.fixture
def written(place: Place) -> Place:
    """Return a project with rules as people write them."""
    place.push({"shop/redirects.yaml": RULES, "shop/pages.yaml": PAGES, "shop/robots.txt": "User-agent: *\n"})
    return place


def revert(place: Place, *ids: str, **order: Any) -> RevertResult:
    return place.store.drafts.revert(SPACE, RevertRequest(MAIN, frozenset(ids), BOB, **order))


def draft_files(place: Place) -> dict[str, str]:
    """Return all files of the project in the draft, or on release without a draft."""
    at = "draft/shop/main" if place.git("branch", "--list", "draft/shop/main") else "release"
    names = place.git("ls-tree", "-r", "--name-only", at, "shop/").split()
    return {name: place.git("cat-file", "blob", f"{at}:{name}") for name in names}


def changed_ids(place: Place) -> list[str]:
    """Return the ids of everything that the draft changes."""
    changes = place.store.revisions.diff(SPACE, SHOP, "published", "draft")
    return [change.id for kind in Kind for change in changes[kind]]


def test_an_added_rule_goes_a_changed_one_is_as_it_was_and_a_removed_one_is_back(written: Place) -> None:
    """Each revert leaves the other changes alone; the last one ends the draft."""
    before = draft_files(written)
    written.save(put(redirect("/new")), put(redirect("/about", "/us")), Delete(Kind.REDIRECTS, redirect("/sale").id))
    done = revert(written, redirect("/sale").id)
    assert [change.change for change in done.changes] == ["added"]
    head = "draft/shop/main"
    assert written.file("shop/redirects.yaml", head).startswith(RULES.partition("  - {type")[0])
    assert "/us" in written.file("shop/redirects.yaml", head)
    assert [change.change for change in revert(written, redirect("/about").id).changes] == ["changed"]
    assert written.git("log", "-1", "--format=%an", head) == "Bob"
    last = revert(written, redirect("/new").id)
    assert ([change.change for change in last.changes], last.head) == (["removed"], None)
    assert draft_files(written) == before
    assert written.store.drafts.names(SPACE, SHOP) == []


def test_both_halves_of_a_new_source_are_reverted_singly(written: Place) -> None:
    """The old rule returns to its place next to the new one; then the new one is removed."""
    before = draft_files(written)
    written.save(put(redirect("/o-nas", "/company"), replaces=redirect("/about").id))
    revert(written, redirect("/about").id)
    sources = [
        item.placed.record.identity
        for item in written.store.drafts.records(SPACE, MAIN, Kind.REDIRECTS, Query(), Span(0, 9)).items
    ]
    assert sources == ["/sale", "/about", "/o-nas", "/jobs"]
    assert revert(written, redirect("/o-nas").id).head is None
    assert draft_files(written) == before
    written.save(put(redirect("/o-nas", "/company"), replaces=redirect("/about").id))
    revert(written, redirect("/o-nas").id)
    assert changed_ids(written) == [redirect("/about").id]


def test_a_rule_that_moved_to_another_file_goes_back(written: Place) -> None:
    before = draft_files(written)
    written.save(put(redirect("/about", "/company"), file="redirects/new.yaml"))
    assert revert(written, redirect("/about").id).head is None
    assert draft_files(written) == before


def test_contents_of_pages_come_back_with_their_pages(written: Place) -> None:
    before = draft_files(written)
    written.save(put(page("/robots.txt", "changed\n")), put(page("/hello", "bye\n")))
    revert(written, page("/robots.txt").id)
    assert draft_files(written)["shop/robots.txt"] == "User-agent: *"
    written.save(Delete(Kind.PAGES, page("/robots.txt").id))
    assert "shop/robots.txt" not in draft_files(written)
    assert revert(written, page("/robots.txt").id, page("/hello").id).head is None
    assert draft_files(written) == before


def test_what_a_person_wrote_in_the_draft_stays(written: Place) -> None:
    """A comment that came with the draft is not a change of a rule, so no revert removes it."""
    own = RULES.replace("# until August", "# until September").replace("/careers", "/work")
    written.push({"shop/redirects.yaml": own}, to="draft/shop/main")
    done = revert(written, redirect("/jobs").id)
    assert done.head
    assert written.file("shop/redirects.yaml", done.head) == own.replace("/work", "/careers")


def test_all_or_nothing(written: Place) -> None:
    """The revert fails for an unchanged id, which the message names, for another head, and for denied kinds."""
    head = written.save(put(redirect("/about", "/us")), put(page("/hello", "bye\n")))
    with pytest.raises(NotFound, match=redirect("/sale").id):
        revert(written, redirect("/about").id, redirect("/sale").id)
    with pytest.raises(StaleDraft):
        revert(written, redirect("/about").id, head=written.tip)
    with pytest.raises(NotAllowed):
        revert(written, redirect("/about").id, page("/hello").id, kinds=frozenset({Kind.REDIRECTS}))
    assert read_head(written) == head
    assert revert(written, redirect("/about").id, head=head, kinds=frozenset({Kind.REDIRECTS})).head


def test_without_a_draft_there_is_nothing_to_revert(written: Place) -> None:
    with pytest.raises(NotFound, match="no draft main"):
        revert(written, redirect("/about").id)


def read_head(place: Place) -> str | None:
    with open_repository(place.repo) as repository:
        return read_draft(repository, MAIN).head


SOURCES = ["/sale", "/about", "/jobs", "/n1", "/n2", "/n3"]


@st.composite
def edits(draw: st.DrawFn) -> list[Edit]:
    """Draw edits that follow each other: each source is removed for good, renamed, changed or moved, or is new."""
    present = {"/sale", "/about", "/jobs"}
    made: list[Edit] = []
    fresh = [source for source in SOURCES if source not in present]
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["put", "put", "delete", "rename", "move"]))
        old = draw(st.sampled_from(sorted(present))) if present else ""
        target = draw(st.sampled_from(["/x", "/y"]))
        if kind == "delete" and old:
            present.remove(old)
            made.append(Delete(Kind.REDIRECTS, redirect(old).id))
        elif kind == "rename" and old and fresh:
            present = {*present, fresh[0]} - {old}
            made.append(put(redirect(fresh.pop(0), target), replaces=redirect(old).id))
        elif kind == "move" and old:
            made.append(put(redirect(old, target), file="redirects/more.yaml"))
        elif fresh and not draw(st.booleans()):
            present.add(fresh[0])
            made.append(put(redirect(fresh.pop(0), target)))
        elif old:
            made.append(put(redirect(old, target)))
    return made


@settings(max_examples=rounds(8, 30), deadline=None)
@given(edits(), st.integers(0, 2**32))
def test_reverting_everything_gives_the_files_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, made: list[Edit], seed: int
) -> None:
    """The service's own edits are reverted byte for byte, in any order and grouping."""
    place = create_place(tmp_path_factory.mktemp("law") / "data").begin(SHOP)
    place.push({"shop/redirects.yaml": RULES, "shop/pages.yaml": PAGES, "shop/robots.txt": "x\n"})
    before = draft_files(place)
    place.save(*made)
    left = [*{redirect(source).id for source in SOURCES}]
    chance = random.Random(seed)  # noqa: S311 - test data
    chance.shuffle(left)
    for id_ in left:
        try:
            revert(place, id_)
        except NotFound:
            continue
    assert draft_files(place) == before
    assert place.store.drafts.names(SPACE, SHOP) == []


def test_a_large_draft_is_reverted_at_once(place: Place) -> None:
    """The draft has two thousand changes in files of five hundred rules."""
    place.publish(*(put(redirect(f"/old/{number}")) for number in range(2_000)))
    place.save(*(put(redirect(f"/old/{number}", "/other")) for number in range(2_000)))
    ids = (redirect(f"/old/{number}").id for number in range(2_000))
    assert revert(place, *ids).head is None


def test_contents_that_cannot_be_read_are_left_alone(written: Place) -> None:
    """Bytes that are not UTF-8 are a problem of their file; no operation on the page replaces them by an empty text."""
    raw = b"\xff\xfe not text\n"
    before = written.git("rev-parse", written.push({"shop/robots.txt": raw}) + ":shop/robots.txt")
    written.save(put(page("/hello", "bye\n")))
    body = "draft/shop/main:shop/robots.txt"
    robots = ReplaceRequest(MAIN, Replacement("robots", "crawlers"), frozenset({"path", "note"}), (Kind.PAGES,))
    written.store.drafts.replace(SPACE, robots, BOB)
    assert written.git("rev-parse", body) == before
    revert(written, page("/robots.txt").id, page("/crawlers.txt").id)
    assert written.git("rev-parse", body) == before


@pytest.mark.parametrize("broken", [25, 26, 27, 28, 29, 31, 32, 33])
def test_a_file_with_a_rule_that_cannot_be_read_is_not_rewritten(place: Place, broken: int) -> None:
    """The rule stays a problem of the draft, which is not published without it, however near the reverted one it is."""
    place.publish(*(put(redirect(f"/{number}", f"/t{number}")) for number in range(60)))
    path = "shop/redirects.yaml"
    text = place.file(path)
    removed = next(rule for rule in text.split("  - ") if "source: /30\n" in rule)
    draft = text.replace(f"  - {removed}", "").replace(f"    target: /t{broken}\n", "")
    place.push({path: draft}, to="draft/shop/main")
    with pytest.raises(Invalid):
        revert(place, redirect("/30").id)
    for store in (place.store, place.fresh().store):
        assert [problem.code for problem in store.revisions.lint(SPACE, SHOP, "draft")] == ["missing_field"]
    with pytest.raises(Invalid):
        place.publish()
