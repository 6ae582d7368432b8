"""The upstream's other branches and pull requests are proposals here; a bad one is refused, and changes nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.errors import NotAllowed, NotFound
from gitstore.layout import proposal_id
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.publishing import MergeRequest, Scopes
from gitstore.pushes.push import Scope
from gitstore.upstream.followed_branches import BRANCH_REFUSED, BRANCHES_FILE, FollowedBranch
from gitstore.upstream.upstream_settings import UpstreamSettings
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import SOURCE, UpstreamBed, fault_of, sync_well

RULES = "shop/redirects.yaml"
BASE = [("/a", "/first")]
ALL = Scope(everywhere=True)


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream with the project shop, and a rule."""
    found = UpstreamBed.create(tmp_path / "bed")
    found.node("first").begin(SHOP).publish(put(redirect("/a", "/first")))
    return found


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a node that follows all branches."""
    place = bed.node("second")
    bed.follow(place, SOURCE, proposals="branches")
    return place


def branch(bed: UpstreamBed, name: str, files: Mapping[str, str]) -> str:
    """Push a commit on release to another branch, and return it."""
    (made,) = bed.commit(files, push=False)
    git(bed.folder / "work", "push", "--quiet", "--force", "origin", f"{made}:refs/heads/{name}")
    return made


def followed(place: Place) -> dict[str, FollowedBranch]:
    """Sync, and return what is followed, by name there."""
    sync_well(place)
    return {each.name: each for each in place.store.upstreams.followed(SPACE).branches}


def heads(place: Place) -> dict[str, str]:
    """Return the branches of proposals with their commits, as C git sees them."""
    lines = place.git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads/upstream").splitlines()
    return dict(tuple(line.split(" ")) for line in lines)  # type: ignore[misc]  # two words a line


def test_a_branch_is_a_proposal_with_its_impact(bed: UpstreamBed, node: Place) -> None:
    commit = branch(bed, "fix/a", {RULES: yaml([*BASE, ("/b", "/new")])})
    found = followed(node)["fix/a"]
    assert (found.tip, found.head, found.pull, found.fault) == (commit, commit, 0, None)
    assert heads(node) == {"upstream/branch/fix/a": commit}
    report = node.store.proposals.report(SPACE, proposal_id(found.ref))
    assert report.state(0).value == "open"
    (verdict,) = node.store.upstreams.verdicts(SPACE)
    assert (verdict.commit, verdict.id, verdict.problems) == (commit, report.proposal.id, ())
    assert verdict.counts[SHOP][Kind.REDIRECTS].added == 1
    assert node.targets() == {"/a": "/first"}
    node.fsck()


def test_it_moves_and_goes_with_the_branch(bed: UpstreamBed, node: Place) -> None:
    branch(bed, "fix", {RULES: yaml([("/a", "/one")])})
    followed(node)
    forced = branch(bed, "fix", {RULES: yaml([("/a", "/two")])})
    assert followed(node)["fix"].head == forced
    assert heads(node) == {"upstream/branch/fix": forced}
    git(bed.path, "branch", "-D", "fix")
    below = branch(bed, "fix/below", {RULES: yaml([("/a", "/three")])})
    assert followed(node).keys() == {"fix/below"}
    assert heads(node) == {"upstream/branch/fix/below": below}


def test_a_branch_that_release_has_is_no_proposal(bed: UpstreamBed, node: Place) -> None:
    commit = branch(bed, "fix", {RULES: yaml([("/a", "/merged")])})
    followed(node)
    git(bed.path, "update-ref", "refs/heads/release", commit)
    assert not followed(node)
    assert not heads(node)
    assert not followed(node), "also at the sync after that"


def test_merged_here_it_is_published_to_the_upstream(bed: UpstreamBed, node: Place) -> None:
    commit = branch(bed, "fix", {RULES: yaml([("/a", "/merged")])})
    found = followed(node)["fix"]
    merged = node.store.proposals.merge(SPACE, MergeRequest(proposal_id(found.ref), ADA, Scopes(ALL, ALL, ALL)))
    assert bed.tip == merged.commit == node.tip
    assert git(bed.path, "rev-parse", f"{bed.tip}^2") == commit, "the host sees it as merged"
    assert not followed(node)


def test_pull_requests_are_followed_by_number(bed: UpstreamBed, node: Place) -> None:
    bed.follow(node, SOURCE, proposals="pull-requests")
    made = [branch(bed, f"side{number}", {RULES: yaml([("/a", f"/{number}")])}) for number in range(3)]
    for name, commit in zip(("pull/7/head", "merge-requests/12/head", "pull/7/merge"), made, strict=True):
        git(bed.path, "update-ref", f"refs/{name}", commit)
    found = followed(node)
    assert {(each.pull, each.head) for each in found.values()} == {(7, made[0]), (12, made[1])}
    assert heads(node) == {"upstream/pull/7": made[0], "upstream/pull/12": made[1]}


def test_a_branch_knows_its_pull_request(bed: UpstreamBed, node: Place) -> None:
    commit = branch(bed, "fix", {RULES: yaml([("/a", "/x")])})
    git(bed.path, "update-ref", "refs/pull/3/head", commit)
    assert followed(node)["fix"].pull == 3


def test_invalid_content_is_a_proposal_with_problems(bed: UpstreamBed, node: Place) -> None:
    branch(bed, "broken", {RULES: "redirects: [\n"})
    assert followed(node)["broken"].fault is None
    (verdict,) = node.store.upstreams.verdicts(SPACE)
    assert verdict.problems
    assert verdict.report
    assert verdict.report.state(0).value == "invalid"


@pytest.mark.parametrize("kind", ["file", "unrelated", "object", "large", "name"])
def test_a_hostile_branch_is_refused_and_nothing_else_is_affected(bed: UpstreamBed, node: Place, kind: str) -> None:
    name = "hostile"
    if kind == "file":
        branch(bed, name, {"evil.exe": "x"})
    elif kind == "large":
        limited = replace(settings(node).rules, most_bytes=200_000)
        node.store.upstreams.configure(SPACE, replace(settings(node), rules=limited))
        branch(bed, name, {RULES: "".join(f"# {number * 7919:x}\n" for number in range(300_000))})
    elif kind == "name":
        name = "\u202eevil"
        branch(bed, "plain", {RULES: yaml([("/a", "/shadow")])})
        git(bed.path, "update-ref", f"refs/heads/{name}", "refs/heads/plain")
        git(bed.path, "update-ref", "-d", "refs/heads/plain")
    else:
        tree = "HEAD^{tree}"
        if kind == "object":
            blob = git(bed.work(), "rev-parse", f"HEAD:{RULES}")
            tree = git(bed.path, "mktree", "--missing", data=f"100644 blob {blob}\t.git\n".encode())
        parents = ["-p", "refs/heads/release"] if kind == "object" else []
        made = git(bed.path, "commit-tree", *parents, "-m", "Hostile", tree.replace("HEAD", "refs/heads/release"))
        git(bed.path, "update-ref", "refs/heads/hostile", made)
    good = branch(bed, "good", {RULES: yaml([("/a", "/good")])})
    (moved,) = bed.commit({RULES: yaml([*BASE, ("/m", "/moved")])})
    found = followed(node)
    fault = found[name].fault
    assert fault, found
    assert (fault.code, found[name].head) == (BRANCH_REFUSED, "")
    assert found["good"].head == good
    assert heads(node) == {"upstream/branch/good": good}
    assert node.tip == moved
    (good_verdict,) = (each for each in node.store.upstreams.verdicts(SPACE) if each.branch.name == "good")
    assert not good_verdict.problems
    node.fsck()


def test_a_refused_branch_that_was_valid_is_no_proposal_any_more(bed: UpstreamBed, node: Place) -> None:
    branch(bed, "fix", {RULES: yaml([("/a", "/x")])})
    followed(node)
    branch(bed, "fix", {"evil.exe": "x"})
    assert followed(node)["fix"].head == ""
    assert not heads(node)


def test_names_do_not_shadow_refs_of_this_node(bed: UpstreamBed, node: Place) -> None:
    node.push({RULES: yaml([("/a", "/own")])}, to="topic")
    own = node.git("rev-parse", "refs/heads/topic")
    release = branch(bed, "draft/shop/main", {RULES: yaml([("/a", "/x")])})
    branch(bed, "topic", {RULES: yaml([("/a", "/y")])})
    branch(bed, "Topic", {RULES: yaml([("/a", "/z")])})
    found = followed(node)
    assert node.git("rev-parse", "refs/heads/topic") == own
    assert heads(node)["upstream/branch/draft/shop/main"] == release
    assert not node.git("for-each-ref", "refs/heads/draft")
    assert [each.fault is None for name, each in sorted(found.items()) if name.lower() == "topic"] == [True, False]


def test_ten_thousand_branches_are_bounded(bed: UpstreamBed, node: Place) -> None:
    commit = branch(bed, "side", {RULES: yaml([("/a", "/x")])})
    names = sorted(f"refs/heads/many/{number}" for number in range(10_000))
    (bed.path / "packed-refs").write_text("".join(f"{commit} {name}\n" for name in names), "utf-8")
    assert len(git(bed.path, "for-each-ref", "refs/heads/many").splitlines()) == 10_000
    (moved,) = bed.commit({RULES: yaml([("/a", "/moved")])})
    found = followed(node)
    assert len(found) == len(heads(node)) == 200
    fault = node.store.upstreams.followed(SPACE).fault
    assert fault
    assert fault.code == "upstream_too_many_branches"
    assert "10,001" in fault.message
    assert node.tip == moved


def test_nobody_moves_or_removes_it_here(bed: UpstreamBed, node: Place) -> None:
    branch(bed, "fix", {RULES: yaml([("/a", "/x")])})
    wanted = proposal_id(followed(node)["fix"].ref)
    before = heads(node)
    with pytest.raises(NotAllowed, match="follows the upstream"):
        node.store.proposals.delete(SPACE, wanted, ALL)
    bed.commit({RULES: yaml([*BASE, ("/z", "/z1")])})
    sync_well(node)
    with pytest.raises(NotAllowed, match="follows the upstream"):
        node.store.proposals.update(SPACE, UpdateRequest(wanted, ADA, ALL))
    assert heads(node) == before


def test_they_go_with_the_setting_and_come_back_without_the_file(bed: UpstreamBed, node: Place) -> None:
    commit = branch(bed, "fix", {RULES: yaml([("/a", "/x")])})
    followed(node)
    (node.repo / BRANCHES_FILE).unlink()
    assert followed(node)["fix"].head == commit
    node.store.upstreams.configure(SPACE, replace(settings(node), proposals="none"))
    assert not heads(node)
    sync_well(node)
    assert not heads(node)
    with pytest.raises(NotFound):
        node.store.proposals.read(SPACE, proposal_id("refs/heads/upstream/branch/fix"))


def test_a_release_that_is_not_served_does_not_stop_them(bed: UpstreamBed, node: Place) -> None:
    fix = branch(bed, "fix", {RULES: yaml([("/a", "/x")])})
    bed.commit({RULES: "redirects: [\n"})
    assert fault_of(node) == "upstream_invalid"
    assert heads(node) == {"upstream/branch/fix": fix}


def settings(place: Place) -> UpstreamSettings:
    """Return the settings of its upstream."""
    found = place.store.upstreams.settings(SPACE)
    assert found
    return found
