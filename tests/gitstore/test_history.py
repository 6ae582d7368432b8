"""Versions and publish numbers: one for each first-parent commit that changed the project, for ever."""

import pytest

from content.diff import Counts
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Delete
from gitstore.errors import BadRequest, NotFound, NothingToPublish
from gitstore.project_file import ProjectFile
from tests.gitstore.places import ADA, BOB, SHOP, SPACE, Place, git, page, put, redirect, yaml


def test_publishing_one_project_never_changes_anothers_version(place: Place) -> None:
    """Version and number belong to the project's folder."""
    place.begin("docs")
    docs = place.state("docs")
    for number in range(3):
        assert place.publish(put(redirect(f"/{number}"))).number == number + 2
    assert place.state("docs") == docs
    assert place.state() == (place.tip, 4)
    assert place.chain("docs") == [docs[0]]


def test_numbers_go_on_after_a_project_was_deleted_and_made_anew(place: Place) -> None:
    """A number is never used twice; between the two the project is not there, and its history is whole afterwards."""
    place.publish(put(redirect("/a")))
    assert place.store.delete_project(SPACE, SHOP, ADA).number == 3
    with pytest.raises(NotFound):
        place.store.project(SPACE, SHOP)
    assert place.store.create_project(SPACE, SHOP, ProjectFile(), ADA).number == 4
    assert place.publish(put(redirect("/b"))).number == 5
    publishes, total = place.fresh().store.history(SPACE, SHOP, 0, 10)
    assert [publish.number for publish in publishes] == [5, 4, 3, 2, 1]
    assert [publish.version for publish in reversed(publishes)] == place.chain(SHOP)
    assert total == 5
    with pytest.raises(NotFound):
        place.store.release(SPACE, SHOP, "3")


def test_deleting_a_project_ends_its_drafts(place: Place) -> None:
    """Nothing of them comes back with a new project of the name."""
    place.save(put(redirect("/a")))
    place.save(put(redirect("/b")), draft=DraftName(SHOP, "other"))
    place.store.delete_project(SPACE, SHOP, ADA)
    assert place.git("for-each-ref", "--format=%(refname)") == "refs/heads/release"
    place.begin(SHOP)
    assert place.store.drafts(SPACE, SHOP) == []


def test_history_tells_who_wrote_who_published_and_what_changed(place: Place) -> None:
    """Newest first, in windows that together are the whole."""
    place.save(put(redirect("/a")), put(redirect("/b")), put(page("/p")), author=BOB)
    place.publish(message="First rules")
    place.publish(put(redirect("/a", "/x")), Delete(Kind.REDIRECTS, redirect("/b").id))
    publishes, total = place.store.history(SPACE, SHOP, 0, 10)
    assert total == 3
    newest, first, begin = publishes
    assert newest.counts == {Kind.REDIRECTS: Counts(0, 1, 1), Kind.PAGES: Counts(0, 0, 0)}
    assert first.counts == {Kind.REDIRECTS: Counts(2, 0, 0), Kind.PAGES: Counts(1, 0, 0)}
    assert (first.author, first.published_by) == ("Bob <bob@shop.example>", "Ada Lovelace <ada@shop.example>")
    assert (first.message, begin.message) == ("First rules", "Begin the project shop")
    windows = [place.store.history(SPACE, SHOP, offset, 2)[0] for offset in range(0, 5, 2)]
    assert [publish for window in windows for publish in window] == publishes


def test_versions_are_found_by_number_and_by_sha(place: Place) -> None:
    """From 7 digits on, in either case; what is neither is a bad request, what is unknown is not found."""
    published = place.publish(put(redirect("/a")))
    for word in ("2", published.version, published.version[:7], published.version[:12].upper()):
        found = place.store.version(SPACE, SHOP, word)
        assert (found.commit, found.number) == (published.version, 2)
    for word in ("0", "3", "99999999999", "f" * 40, "0123456"):
        with pytest.raises(NotFound):
            place.store.version(SPACE, SHOP, word)
    for word in ("", "abc", "g" * 40, published.version + "0", "-1", "1_0", "٣", "1.0", "f" * 6):
        with pytest.raises(BadRequest):
            place.store.version(SPACE, SHOP, word)
    assert place.store.resolve_version(SPACE, SHOP, 2) == (published.version, 2)
    assert place.store.resolve_version(SPACE, SHOP, "nonsense") is None


def test_commit_of_another_project_is_no_version_of_this_one(place: Place) -> None:
    """A SHA that exists in the repository is not enough."""
    place.begin("docs")
    with pytest.raises(NotFound):
        place.store.version(SPACE, SHOP, place.state("docs")[0])


def test_old_versions_are_served_as_they_were(place: Place) -> None:
    """For a walk that is pinned to one."""
    place.publish(put(redirect("/a", "/1")))
    place.publish(put(redirect("/a", "/2")))
    version, release = place.store.release(SPACE, SHOP, "2")
    assert bytes(release.listings[Kind.REDIRECTS].items).count(b"/1") == 1
    assert version.number == 2
    assert place.store.diff(SPACE, SHOP, "2", "published")[Kind.REDIRECTS][0].fields == {"target": ("/1", "/2")}


def test_rollback_is_a_new_version_of_old_content(place: Place) -> None:
    """New SHA, next number, a straight commit; the open draft stays and is merged by rule later."""
    place.publish(put(redirect("/a", "/1")))
    old = place.items()
    place.publish(put(redirect("/a", "/2")))
    head = place.save(put(redirect("/b")))
    published = place.store.roll_back(SPACE, SHOP, "2", BOB)
    assert published.number == 4
    assert place.items() == old
    assert place.git("rev-list", "--parents", "-1", "release").split()[1:] == [place.chain(SHOP)[2]]
    publish = place.store.history(SPACE, SHOP, 0, 1)[0][0]
    assert publish.rolled_back_to == place.chain(SHOP)[1]
    assert publish.message == "Roll back shop to publish 2"
    place.publish(head=head)
    assert place.targets() == {"/a": "/1", "/b": "/new"}
    place.fsck()


def test_rollback_keeps_todays_settings(place: Place) -> None:
    """Policy is not content: going back must not lift a review that was asked for since."""
    place.publish(put(redirect("/a")))
    place.store.change_project(SPACE, SHOP, {"title": "Shop", "review": "required"}, ADA)
    place.publish(put(redirect("/a", "/2")), override="now")
    place.store.roll_back(SPACE, SHOP, "2", ADA)
    settings = place.store.project(SPACE, SHOP).release.settings
    assert (settings.title, settings.review) == ("Shop", "required")
    assert place.targets() == {"/a": "/new"}


def test_rollback_to_what_is_published_or_to_nothing_is_refused(place: Place) -> None:
    """Neither would be a change that anybody wants."""
    place.publish(put(redirect("/a")))
    with pytest.raises(NothingToPublish):
        place.store.roll_back(SPACE, SHOP, "2", ADA)
    with pytest.raises(NotFound):
        place.store.roll_back(SPACE, SHOP, "7", ADA)
    place.store.delete_project(SPACE, SHOP, ADA)
    place.begin(SHOP)
    with pytest.raises(NotFound):
        place.store.roll_back(SPACE, SHOP, "3", ADA)


def test_first_parent_commits_count_whoever_made_them(place: Place) -> None:
    """A merge by plain git is one version, whatever stands on its second parent; other folders do not count."""
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
    assert place.store.history(SPACE, SHOP, 0, 1)[0][0].author == "Plain Git <git@shop.example>"
