"""Publish numbers that commits of a source name: they move nothing."""

from pathlib import Path

import pytest

from tests.gitstore.fixtures import SHOP, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import SOURCE, UpstreamBed, sync, sync_well

CLAIM = "Highest-publish-number: shop {}"


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream with the history of one node: the project shop, with a rule."""
    found = UpstreamBed.create(tmp_path / "bed")
    first = found.node("first").begin(SHOP)
    first.publish(put(redirect("/a")))
    return found


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a second node that follows the upstream."""
    return bed.node("second")


def commit(bed: UpstreamBed, number: int, *words: str) -> None:
    """Commit on the host, with a message that names a publish number."""
    git(bed.work(), "commit", "--quiet", "--message", f"On the host\n\n{CLAIM.format(number)}", *words)
    bed.push()


def test_a_change_that_names_a_number_gets_the_next_one(bed: UpstreamBed, node: Place) -> None:
    (bed.work() / "shop/redirects.yaml").write_text(yaml([("/a", "/host")]), "utf-8")
    git(bed.folder / "work", "add", "--all")
    git(bed.folder / "work", "commit", "--quiet", "--message", f"Squashed\n\n{CLAIM.format(999_999_999_999_999)}\n")
    bed.push()
    sync_well(node)
    assert node.state()[1] == 3
    assert node.publish(put(redirect("/b"))).number == 4


def test_a_commit_without_changes_that_names_a_number_is_refused(bed: UpstreamBed, node: Place) -> None:
    before = node.tip
    commit(bed, 7, "--allow-empty")
    fault = sync(node).fault
    assert fault
    assert fault.code == "upstream_invalid"
    assert "Highest-publish-number" in fault.problems[0]
    assert node.tip == before
    git(bed.folder / "work", "commit", "--quiet", "--amend", "--allow-empty", "--message", "Nothing")
    bed.push("--force")
    sync_well(node)
    assert node.publish(put(redirect("/b"))).number == 3


@pytest.mark.parametrize(("number", "is_taken"), [(7, True), (10**9 + 1, False)])
def test_a_first_history_begins_with_numbers_within_a_bound(tmp_path: Path, number: int, is_taken: bool) -> None:  # noqa: FBT001 - a parameter of the test
    bed = UpstreamBed.create(tmp_path / "bed")
    git(bed.folder, "clone", "--quiet", str(bed.path), "work")
    work = bed.folder / "work"
    (work / "shop").mkdir()
    (work / "shop/redirects.yaml").write_text(yaml([("/a", "/host")]), "utf-8")
    (work / "shop/project.yaml").write_text("project: {title: Shop}\n", "utf-8")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", f"First\n\n{CLAIM.format(number)}")
    bed.push()
    place = create_place(bed.folder / "node")
    bed.follow(place, SOURCE)
    fault = sync(place).fault
    if is_taken:
        assert place.state()[1] == number + 1
    else:
        assert fault
        assert "Highest-publish-number" in fault.problems[0]
