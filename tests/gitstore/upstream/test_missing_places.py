"""A branch or folder that a source does not have: it is created on the host only where that is asked for."""

from pathlib import Path
from typing import Any

import pytest

from gitstore.wire.client.remote_errors import RemoteMissing
from tests.gitstore.fixtures import SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, sync, sync_well

FILES = {
    "web/shop/project.yaml": "project: {}\n",
    "web/shop/redirects.yaml": yaml([("/a", "/b")]),
    "app/main.py": "1\n",
}
MISSING = "upstream_missing"


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return the repository of an application, with the branch release."""
    found = UpstreamBed.create(tmp_path / "bed")
    git(found.folder, "clone", "--quiet", str(found.path), "work")
    work = found.folder / "work"
    git(work, "commit", "--quiet", "--allow-empty", "--message", "First")
    git(work, "push", "--quiet", "origin", "HEAD:release")
    found.commit(FILES)
    return found


def refs(bed: UpstreamBed) -> str:
    """Return all refs of the upstream, with their commits."""
    return git(bed.path, "for-each-ref")


def follow(bed: UpstreamBed, **fields: Any) -> Place:
    """Return a node with an own publish and a draft, which is to follow a branch or folder."""
    place = create_place(bed.folder / "node").begin(SHOP)
    place.publish(put(redirect("/own")))
    place.save(put(redirect("/draft")))
    bed.follow(place, **{"mode": SOURCE, "drafts": "push", "proposals": "branches", **fields})
    return place


@pytest.mark.parametrize(
    ("fields", "words", "there"),
    [
        ({"branch": "relaese"}, ("branch relaese", "field branch"), "It has the branches: release"),
        ({"branch": "relaese", "path": "web"}, ("branch relaese", "field branch"), "It has the branches: release"),
        ({"path": "wbe"}, ("folder wbe", "field path"), "It has the folders: app, web"),
        ({"path": "web/shpo"}, ("folder web/shpo", "field path"), "It has the folders: web/shop"),
    ],
    ids=["branch", "branch-and-folder", "folder", "inner-folder"],
)
def test_a_typing_error_creates_nothing_on_the_host(
    bed: UpstreamBed, fields: dict[str, str], words: tuple[str, ...], there: str
) -> None:
    before, place = refs(bed), follow(bed, **fields)
    release = place.tip
    fault = sync(place).fault
    assert fault
    assert (fault.code, fault.problems) == (MISSING, (there,))
    assert all(word in fault.message for word in (*words, f"upstream of {SPACE}", "--create"))
    with pytest.raises(RemoteMissing, match="--create"):
        place.publish()
    assert (refs(bed), place.tip) == (before, release)
    assert not place.store.proposals.all(SPACE)


def test_a_branch_is_created_where_that_is_asked_for(bed: UpstreamBed) -> None:
    place = follow(bed, branch="redirects", creates=True)
    sync_well(place)
    place.publish()
    assert git(bed.path, "rev-parse", "refs/heads/redirects") == place.tip


def test_many_branches_are_counted_and_not_named(bed: UpstreamBed) -> None:
    for number in range(30):
        git(bed.path, "update-ref", f"refs/heads/b{number}", bed.tip)
    fault = sync(follow(bed, branch="none")).fault
    assert fault
    assert fault.problems == ("It has 31 branches.",)


@pytest.mark.parametrize("path", ["", "web"])
def test_a_repository_without_any_branch_takes_the_first_publish(tmp_path: Path, path: str) -> None:
    bed = UpstreamBed.create(tmp_path / "empty")
    place = create_place(bed.folder / "node")
    bed.follow(place, SOURCE, branch="main", path=path)
    sync_well(place)
    place.begin(SHOP).publish(put(redirect("/a")))
    tree = git(bed.path, "rev-parse", f"refs/heads/main:{path}")
    assert tree == place.git("rev-parse", "release^{tree}")


def test_a_mirror_creates_its_branch(bed: UpstreamBed) -> None:
    place = follow(bed, mode=MIRROR, branch="copy", proposals="none")
    sync_well(place)
    assert git(bed.path, "rev-parse", "refs/heads/copy") == place.tip


def test_a_branch_that_is_removed_on_the_host_is_not_created_again(bed: UpstreamBed) -> None:
    git(bed.path, "update-ref", "refs/heads/own", git(bed.path, "rev-list", "--max-parents=0", "release"))
    place = create_place(bed.folder / "node")
    bed.follow(place, SOURCE, branch="own")
    sync_well(place)
    git(bed.path, "update-ref", "-d", "refs/heads/own")
    before, fault = refs(bed), sync(place).fault
    assert fault
    assert (fault.code, refs(bed)) == (MISSING, before)
