"""The mode `mirror`: what is published here is pushed, later if the upstream is away, and nothing there is overwritten."""

from pathlib import Path

import pytest

from tests.gitstore.fixtures import SHOP, Place, create_place, git, put, redirect
from tests.gitstore.upstream.upstream_bed import MIRROR, UpstreamBed, fault_of, sync, sync_well


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an empty upstream."""
    return UpstreamBed.create(tmp_path / "bed")


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a node with a project whose upstream is the mirror, not synced yet."""
    place = create_place(bed.folder / "node").begin(SHOP)
    bed.follow(place, MIRROR)
    return place


def test_publishes_are_pushed_with_their_history(bed: UpstreamBed, node: Place) -> None:
    sync_well(node)
    assert bed.tip == node.tip
    for number in range(3):
        node.publish(put(redirect(f"/n{number}")))
    assert bed.tip != node.tip
    assert sync_well(node).ahead == 0
    assert bed.tip == node.tip
    git(bed.path, "fsck", "--strict", "--full")
    assert not list((bed.path / "objects").glob("tmp_objdir-*"))


def test_a_publish_does_not_wait_for_a_mirror_that_is_away(bed: UpstreamBed, node: Place) -> None:
    sync_well(node)
    away = bed.path.rename(bed.folder / "away.git")
    node.publish(put(redirect("/a")))
    assert fault_of(node) == "upstream_unavailable"
    assert sync(node).failures == 2
    away.rename(bed.path)
    sync_well(node)
    assert bed.tip == node.tip


def test_a_branch_that_others_moved_is_not_overwritten(bed: UpstreamBed, node: Place) -> None:
    sync_well(node)
    (theirs,) = bed.commit({"README.md": "Theirs\n"})
    node.publish(put(redirect("/a")))
    assert fault_of(node) == "upstream_diverged"
    assert bed.tip == theirs
    git(bed.path, "update-ref", "refs/heads/release", f"{theirs}~1")
    sync_well(node)
    assert bed.tip == node.tip


def test_an_unrelated_history_is_not_overwritten(bed: UpstreamBed, node: Place) -> None:
    work = bed.folder / "work"
    git(bed.folder, "clone", "--quiet", str(bed.path), str(work))
    (work / "README.md").write_text("Another\n", "utf-8")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Another history")
    bed.push()
    before = bed.tip
    assert fault_of(node) == "upstream_diverged"
    assert bed.tip == before


def test_another_branch_can_be_named(bed: UpstreamBed, node: Place) -> None:
    bed.follow(node, MIRROR, branch="live/main")
    sync_well(node)
    assert git(bed.path, "rev-parse", "refs/heads/live/main") == node.tip
    assert bed.tip == ""


def test_a_repository_that_checks_pushes_by_a_hook_is_not_written_at_its_path(bed: UpstreamBed, node: Place) -> None:
    hook = bed.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    assert fault_of(node) == "upstream_refused"
    assert bed.tip == ""
