"""A project folder that a push replaced by something else: wrong, not a removal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.compiled.indexes.manifest import NOT_A_FOLDER
from gitstore.drafts.listing import Query, Span
from gitstore.errors import AlreadyExists, Broken, NotFound
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, git, put, redirect, yaml


def _link(clone: Path) -> None:
    (clone / "shop").symlink_to("docs")
    git(clone, "add", "--all")


def _file(clone: Path) -> None:
    (clone / "shop").write_text("redirects: []\n")
    git(clone, "add", "--all")


def _submodule(clone: Path) -> None:
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},shop")


MISPLACED: dict[str, Callable[[Path], None]] = {"symbolic link": _link, "file": _file, "submodule": _submodule}


@pytest.fixture(params=MISPLACED)
def misplaced(place: Place, request: pytest.FixtureRequest) -> Place:
    """Return a namespace whose project shop was replaced by a push, after publish 2."""
    place.begin("docs")
    place.publish(put(redirect("/a")))
    clone = place.clone()
    git(clone, "rm", "-rq", "shop")
    MISPLACED[request.param](clone)
    git(clone, "commit", "--quiet", "--message", "Replace")
    git(clone, "push", "--quiet", "origin", "release")
    return place


def test_last_good_state_stays_and_the_cause_is_named(misplaced: Place, request: pytest.FixtureRequest) -> None:
    """Guard: agents got 404 and dropped their rules."""
    for seen in (misplaced, misplaced.fresh()):
        assert (seen.targets(), seen.state()[1]) == ({"/a": "/new"}, 2)
        (fault,) = seen.store.releases.faults(SPACE).faults
        assert (fault.code, fault.project, fault.newest) == (NOT_A_FOLDER, SHOP, 3)
        assert str(request.node.callspec.params["misplaced"]) in fault.reason
    publish = misplaced.store.publishes.history(SPACE, SHOP, 0, 1)[0][0]
    assert (publish.number, publish.served) == (3, False)


def test_other_projects_go_on_and_the_same_state_is_one_publish(misplaced: Place) -> None:
    misplaced.store.projects.change(SPACE, "docs", {"title": "Docs"}, ADA)
    misplaced.push({"docs/redirects.yaml": yaml([("/d", "/e")])})
    assert misplaced.targets("docs") == {"/d": "/e"}
    assert misplaced.store.publishes.history(SPACE, SHOP, 0, 9)[1] == 3


def test_draft_calls_are_broken_and_its_name_is_taken(misplaced: Place) -> None:
    """Guard: neither 404 nor an empty project in its place."""
    with pytest.raises(Broken, match="not a folder"):
        misplaced.store.drafts.records(SPACE, MAIN, Kind.REDIRECTS, Query(), Span(0, 9))
    with pytest.raises(Broken):
        misplaced.store.projects.delete(SPACE, SHOP, ADA)
    with pytest.raises(AlreadyExists):
        misplaced.begin(SHOP)


def test_rollback_puts_the_folder_back(misplaced: Place) -> None:
    assert misplaced.store.publishes.roll_back(SPACE, SHOP, "2", ADA).number == 4
    assert (misplaced.fresh().targets(), misplaced.fresh().state()[1]) == ({"/a": "/new"}, 4)
    assert misplaced.store.releases.failures() == []


def test_removal_of_the_entry_removes_the_project(misplaced: Place) -> None:
    clone = misplaced.clone()
    git(clone, "rm", "-rq", "--cached", "shop")
    git(clone, "commit", "--quiet", "--message", "Remove")
    git(clone, "push", "--quiet", "origin", "release")
    with pytest.raises(NotFound):
        misplaced.fresh().targets()


def test_numbers_are_the_same_when_they_are_counted_again(misplaced: Place) -> None:
    misplaced.store.publishes.roll_back(SPACE, SHOP, "2", ADA)
    before = [
        (each.number, each.version, each.served) for each in misplaced.store.publishes.history(SPACE, SHOP, 0, 9)[0]
    ]
    for folder in ("manifests", "versions"):
        for file in (misplaced.paths.compiled / folder).iterdir():
            file.unlink()
    again = misplaced.fresh()
    assert [
        (each.number, each.version, each.served) for each in again.store.publishes.history(SPACE, SHOP, 0, 9)[0]
    ] == before


def test_file_whose_name_never_was_a_project_is_none(place: Place) -> None:
    place.push({"NOTES": "hello\n"})
    assert place.store.releases.failures() == []
    with pytest.raises(NotFound):
        place.store.releases.project(SPACE, "NOTES")


@pytest.mark.parametrize(
    "change",
    [
        "project.yaml as a link",
        "redirects.yaml as a link",
        "redirects.yaml as a folder",
        "an executable redirects.yaml",
    ],
)
def test_odd_entries_in_a_project_keep_the_last_good_version(place: Place, change: str) -> None:
    place.publish(put(redirect("/a")))
    clone = place.clone()
    path = clone / "shop" / ("project.yaml" if "project" in change else "redirects.yaml")
    text = path.read_text()
    if "executable" in change:
        git(clone, "update-index", "--chmod=+x", "shop/redirects.yaml")
    else:
        path.unlink()
        if "link" in change:
            (clone / "shop" / "real.yaml").write_text(text)
            path.symlink_to("real.yaml")
        else:
            path.mkdir()
            (path / "rules.yaml").write_text(text)
        git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", change)
    git(clone, "push", "--quiet", "origin", "release")
    assert (place.targets(), place.state()[1]) == ({"/a": "/new"}, 2)
    assert len(place.store.releases.failures()) == 1
