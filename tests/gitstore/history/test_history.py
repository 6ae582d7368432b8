"""Versions and publish numbers: one for each first-parent commit that changed the project, permanently."""

import pytest

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import BadRequest, NotFound, NothingToPublish
from gitstore.history import history
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, BOB, SHOP, SPACE, Place, git, page, put, redirect, yaml
from tests.gitstore.folders import join_window


def test_publishing_one_project_never_changes_anothers_version(place: Place) -> None:
    """Version and number belong to the project's folder."""
    place.begin("docs")
    docs = place.state("docs")
    for number in range(3):
        assert place.publish(put(redirect(f"/{number}"))).number == number + 2
    assert place.state("docs") == docs
    assert place.state() == (place.tip, 4)
    assert place.chain("docs") == [docs[0]]


def test_numbers_continue_after_a_project_was_deleted_and_created_again(place: Place) -> None:
    """A number is never used twice; in between the project is not found, and afterwards its history is complete."""
    place.publish(put(redirect("/a")))
    assert place.store.projects.delete(SPACE, SHOP, ADA).number == 3
    with pytest.raises(NotFound):
        place.store.releases.project(SPACE, SHOP)
    assert place.store.projects.create(SPACE, SHOP, ProjectFile(), ADA).number == 4
    assert place.publish(put(redirect("/b"))).number == 5
    publishes, total = place.fresh().store.publishes.history(SPACE, SHOP, 0, 10)
    assert [publish.number for publish in publishes] == [5, 4, 3, 2, 1]
    assert [publish.version for publish in reversed(publishes)] == place.chain(SHOP)
    assert total == 5
    with pytest.raises(NotFound):
        place.store.releases.read(SPACE, SHOP, "3")


def test_deleting_a_project_ends_its_drafts(place: Place) -> None:
    """A new project of the same name has none of them."""
    place.save(put(redirect("/a")))
    place.save(put(redirect("/b")), draft=DraftName(SHOP, "other"))
    place.store.projects.delete(SPACE, SHOP, ADA)
    assert place.git("for-each-ref", "--format=%(refname)") == "refs/heads/release"
    place.begin(SHOP)
    assert place.store.drafts.names(SPACE, SHOP) == []


def test_history_shows_authors_publishers_and_changes(place: Place) -> None:
    """Entries are newest first, in windows that join to the whole."""
    place.save(put(redirect("/a")), put(redirect("/b")), put(page("/p")), author=BOB)
    place.publish(message="First rules")
    place.publish(put(redirect("/a", "/x")), Delete(Kind.REDIRECTS, redirect("/b").id))
    publishes, total = place.store.publishes.history(SPACE, SHOP, 0, 10)
    assert total == 3
    newest, first, begin = publishes
    assert newest.counts == {Kind.REDIRECTS: Counts(0, 1, 1), Kind.PAGES: Counts(0, 0, 0)}
    assert first.counts == {Kind.REDIRECTS: Counts(2, 0, 0), Kind.PAGES: Counts(1, 0, 0)}
    assert (first.author, first.published_by) == ("Bob <bob@shop.example>", "Ada Lovelace <ada@shop.example>")
    assert (first.message, begin.message) == ("First rules", "Create the project shop")
    windows = [place.store.publishes.history(SPACE, SHOP, offset, 2)[0] for offset in range(0, 5, 2)]
    assert [publish for window in windows for publish in window] == publishes


def test_versions_are_found_by_number_and_by_sha(place: Place) -> None:
    """A SHA has at least 7 digits, in either case; any other word is a bad request, an unknown version is not found."""
    published = place.publish(put(redirect("/a")))
    for word in ("2", published.version, published.version[:7], published.version[:12].upper()):
        found = place.store.publishes.version(SPACE, SHOP, word)
        assert (found.commit, found.number) == (published.version, 2)
    for word in ("0", "3", "99999999999", "f" * 40, "0123456"):
        with pytest.raises(NotFound):
            place.store.publishes.version(SPACE, SHOP, word)
    for word in ("", "abc", "g" * 40, published.version + "0", "-1", "1_0", "٣", "1.0", "f" * 6):
        with pytest.raises(BadRequest):
            place.store.publishes.version(SPACE, SHOP, word)
    assert place.store.publishes.resolve_version(SPACE, SHOP, 2) == (published.version, 2)
    assert place.store.publishes.resolve_version(SPACE, SHOP, "nonsense") is None


def test_commit_of_another_project_is_not_a_version_of_this_one(place: Place) -> None:
    """The SHA exists in the repository, but the commit did not change the project."""
    place.begin("docs")
    with pytest.raises(NotFound):
        place.store.publishes.version(SPACE, SHOP, place.state("docs")[0])


def test_old_versions_are_served_as_they_were(place: Place) -> None:
    """A client can read all windows of one fixed version."""
    place.publish(put(redirect("/a", "/1")))
    place.publish(put(redirect("/a", "/2")))
    version, release = place.store.releases.read(SPACE, SHOP, "2")
    assert join_window(release.listings[Kind.REDIRECTS]).count(b"/1") == 1
    assert version.number == 2
    assert place.store.revisions.diff(SPACE, SHOP, "2", "published")[Kind.REDIRECTS][0].fields == {
        "target": ("/1", "/2")
    }


def test_rollback_is_a_new_version_of_old_content(place: Place) -> None:
    """The rollback has a new SHA, the next number and one parent; the open draft stays and is merged by rule later."""
    place.publish(put(redirect("/a", "/1")))
    old = place.items()
    place.publish(put(redirect("/a", "/2")))
    head = place.save(put(redirect("/b")))
    published = place.store.publishes.roll_back(SPACE, SHOP, "2", BOB)
    assert published.number == 4
    assert place.items() == old
    assert place.git("rev-list", "--parents", "-1", "release").split()[1:] == [place.chain(SHOP)[2]]
    publish = place.store.publishes.history(SPACE, SHOP, 0, 1)[0][0]
    assert publish.rolled_back_to == place.chain(SHOP)[1]
    assert publish.message == "Roll back shop to publish 2"
    place.publish(head=head)
    assert place.targets() == {"/a": "/1", "/b": "/new"}
    place.fsck()


def test_rollback_keeps_todays_settings(place: Place) -> None:
    """Policy is not content: a rollback cannot lift a review that was required since."""
    place.publish(put(redirect("/a")))
    place.store.projects.change(SPACE, SHOP, {"title": "Shop", "review": "required"}, ADA)
    place.publish(put(redirect("/a", "/2")), override="now")
    place.store.publishes.roll_back(SPACE, SHOP, "2", ADA)
    settings = place.store.releases.project(SPACE, SHOP).release.settings
    assert (settings.title, settings.review) == ("Shop", "required")
    assert place.targets() == {"/a": "/new"}


def test_rollback_to_what_is_published_or_to_nothing_is_refused(place: Place) -> None:
    """Neither rollback would change anything."""
    place.publish(put(redirect("/a")))
    with pytest.raises(NothingToPublish):
        place.store.publishes.roll_back(SPACE, SHOP, "2", ADA)
    with pytest.raises(NotFound):
        place.store.publishes.roll_back(SPACE, SHOP, "7", ADA)
    place.store.projects.delete(SPACE, SHOP, ADA)
    place.begin(SHOP)
    with pytest.raises(NotFound):
        place.store.publishes.roll_back(SPACE, SHOP, "3", ADA)


def test_first_parent_commits_of_any_author_count(place: Place) -> None:
    """A merge by plain git is one version, with any commits on its second parent; other folders do not count."""
    clone = place.clone()
    for number in range(3):
        git(clone, "checkout", "--quiet", "-B", "proposal")
        (clone / "shop/redirects.yaml").write_text(yaml([("/a", f"/{number}")]))
        git(clone, "commit", "--quiet", "--all", "--message", f"{number}")
    git(clone, "push", "--quiet", "origin", "proposal")
    place.push({"README.md": "Newer\n"})
    assert place.state()[1] == 1

    git(clone, "fetch", "--quiet", "origin")
    git(clone, "checkout", "--quiet", "release")
    git(clone, "merge", "--quiet", "--no-ff", "-m", "Merge", "origin/proposal")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state() == (place.tip, 2)
    assert place.store.publishes.history(SPACE, SHOP, 0, 1)[0][0].author == "Plain Git <git@shop.example>"


def test_a_search_reads_the_newest_publishes_and_finds_any_by_its_number(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_SEARCHED", 2)
    for number in range(2, 6):
        place.publish(put(redirect(f"/{number}")), message=f"The sale of round {number}")
    publishes, total, searched = place.store.publishes.search(SPACE, SHOP, "SALE", 0, 10)
    assert ([each.number for each in publishes], total, searched) == ([5, 4], 2, 2)
    publishes, total, searched = place.store.publishes.search(SPACE, SHOP, "2", 0, 10)
    assert ([each.number for each in publishes], total, searched) == ([2], 1, 2)
    assert place.store.publishes.search(SPACE, SHOP, "6", 0, 10) == ([], 0, 2)
