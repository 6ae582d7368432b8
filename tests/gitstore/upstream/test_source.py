"""The mode `source`: what arrives passes the gate, a publish is a push, a lost race merges by rule, nothing is forced."""

import subprocess
from pathlib import Path

import pytest

from gitstore.errors import BadRequest, Conflicts, Invalid, NotFound
from gitstore.layout import CommitId
from gitstore.store.store import Store
from gitstore.upstream import source_push
from gitstore.upstream.arrival import UPSTREAM_REF
from gitstore.upstream.synced_namespace import SyncedNamespace
from gitstore.wire.client.remote_errors import RemoteAway, RemoteError
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import (
    MIRROR,
    SOURCE,
    UpstreamBed,
    fault_of,
    file_sizes,
    many,
    sync,
    sync_well,
)

RULES = "shop/redirects.yaml"
BROKEN = "redirects: [\n"


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream with the history of one node: the project shop, with a rule."""
    found = UpstreamBed.create(tmp_path / "bed")
    first = found.node("first")
    first.begin(SHOP)
    first.publish(put(redirect("/a", "/first")))
    return found


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a second node that follows the upstream."""
    return bed.node("second")


def test_the_first_node_gives_an_empty_upstream_its_history_and_the_next_takes_it(
    bed: UpstreamBed, node: Place
) -> None:
    first = Place(bed.folder / "first", bed_store(bed, "first"))
    assert bed.tip == first.tip == node.tip
    assert node.state() == first.state() == (node.tip, 2)
    assert node.targets() == {"/a": "/first"}
    node.fsck()
    git(bed.path, "fsck", "--strict", "--full")


def test_a_commit_on_the_host_arrives_with_its_number(bed: UpstreamBed, node: Place) -> None:
    (commit,) = bed.commit({RULES: yaml([("/a", "/first"), ("/b", "/host")])})
    state = sync_well(node)
    assert (state.tip, state.release, state.ahead, state.behind) == (commit, commit, 0, 0)
    assert node.state() == (commit, 3)
    assert node.targets() == {"/a": "/first", "/b": "/host"}
    node.fsck()


def test_a_full_disk_while_commits_arrive_is_a_fault_and_leaves_nothing(bed: UpstreamBed, node: Place) -> None:
    (commit,) = bed.commit({RULES: many()})
    before = node.tip
    with file_sizes(16 << 10):
        assert fault_of(node) == "out_of_space"
    assert node.tip == before
    assert not list((node.repo / "objects").glob("tmp_objdir-*"))
    assert sync_well(node).release == commit == node.tip


def test_a_publish_is_on_the_upstream_before_it_is_answered(bed: UpstreamBed, node: Place) -> None:
    published = node.publish(put(redirect("/c")))
    assert bed.tip == published.version == node.tip
    assert sync_well(node).failures == 0
    node.fsck()
    git(bed.path, "fsck", "--strict", "--full")


def test_a_sync_that_finds_nothing_new_reads_no_history(node: Place) -> None:
    first = node.git("rev-list", "--max-parents=0", "release")
    (node.repo / "objects" / first[:2] / first[2:]).unlink()
    assert sync_well(node).release == node.tip


def test_a_lost_race_is_merged_by_rule_and_pushed(bed: UpstreamBed, node: Place) -> None:
    node.save(put(redirect("/c", "/mine")))
    (theirs,) = bed.commit({RULES: yaml([("/a", "/changed")])})
    published = node.publish()
    assert node.targets() == {"/a": "/changed", "/c": "/mine"}
    assert bed.tip == published.version
    assert git(bed.path, "rev-parse", f"{published.version}^1") == theirs
    assert node.state() == (published.version, 4)


def test_a_node_that_loses_many_races_is_first_at_last(
    bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node that publishes without a pause has nothing to fetch, so it is first again and again."""
    push, lost = source_push.push_now, list[str]()

    def push_late(namespace: SyncedNamespace, old: CommitId | None, new: CommitId) -> None:
        if len(lost) < 15:
            lost.extend(bed.commit({RULES: yaml([("/a", f"/changed-{len(lost)}")])}))
        push(namespace, old, new)

    monkeypatch.setattr(source_push, "push_now", push_late)
    node.save(put(redirect("/c", "/mine")))
    published = node.publish()
    assert bed.tip == published.version
    assert (len(lost), node.targets()) == (15, {"/a": "/changed-14", "/c": "/mine"})


def test_a_lost_race_over_the_same_field_is_a_conflict(bed: UpstreamBed, node: Place) -> None:
    node.save(put(redirect("/a", "/mine")))
    (theirs,) = bed.commit({RULES: yaml([("/a", "/theirs")])})
    with pytest.raises(Conflicts):
        node.publish()
    assert bed.tip == theirs == node.tip


def test_an_invalid_commit_on_the_way_keeps_its_number_and_is_never_served(bed: UpstreamBed, node: Place) -> None:
    invalid, valid = bed.commit({RULES: BROKEN}, {RULES: yaml([("/b", "/fixed")])})
    sync_well(node)
    assert node.state() == (valid, 4)
    assert node.targets() == {"/b": "/fixed"}
    records, _ = node.store.publishes.history(SPACE, SHOP, 0, 10)
    assert [(each.version, each.number, each.served) for each in records[:2]] == [(valid, 4, True), (invalid, 3, False)]
    with pytest.raises((Invalid, BadRequest, NotFound)):
        node.store.publishes.roll_back(SPACE, SHOP, "3", ADA)
    assert node.fresh().state() == (valid, 4)


def test_a_project_that_is_restored_after_an_invalid_commit_is_the_same_state(bed: UpstreamBed, node: Place) -> None:
    before = node.targets()
    text = (bed.work() / RULES).read_text("utf-8")
    _, valid = bed.commit({RULES: BROKEN}, {RULES: text})
    sync_well(node)
    assert (node.targets(), node.tip) == (before, valid)
    assert node.publish(put(redirect("/z"))).number == 5


@pytest.mark.parametrize(
    "files",
    [{RULES: BROKEN}, {RULES: yaml([("/a", "/a")])}, {"shop/secret.exe": "x"}, {"SHOP/project.yaml": "project: {}\n"}],
    ids=["yaml", "loop", "file", "name"],
)
def test_a_tip_that_does_not_pass_is_not_served(bed: UpstreamBed, node: Place, files: dict[str, str]) -> None:
    before = node.tip, node.targets()
    (tip,) = bed.commit(files)
    state = sync(node)
    assert state.fault is not None
    assert (state.fault.code, state.tip, state.release, state.behind) == ("upstream_invalid", tip, before[0], 1)
    assert state.fault.problems
    assert (node.tip, node.targets()) == before
    assert node.git("rev-parse", UPSTREAM_REF) == tip
    (fixed,) = bed.commit({**dict.fromkeys(files), RULES: yaml([("/a", "/b")])})
    assert sync_well(node).release == fixed == node.tip


@pytest.mark.parametrize("is_first", [False, True])
def test_a_project_of_a_long_history_is_checked_at_the_tip(bed: UpstreamBed, node: Place, is_first: bool) -> None:  # noqa: FBT001 - pytest gives it by name
    place = node
    bed.commit({RULES: BROKEN, "site/project.yaml": "project: {}\n"})
    _commit_many(bed)
    if is_first:
        place = create_place(bed.folder / "third")
        bed.follow(place, SOURCE)
    before = place.tip
    state = sync(place)
    assert state.fault
    assert state.fault.code == "upstream_invalid"
    assert len(state.fault.problems) == 1
    assert place.tip == before
    bed.commit({RULES: yaml([("/a", "/fixed")])})
    _commit_many(bed)
    sync_well(place)
    assert place.tip == bed.tip
    assert place.targets() == {"/a": "/fixed"}
    assert place.store.releases.project(SPACE, "site").release
    assert place.fresh().targets() == {"/a": "/fixed"}


@pytest.mark.parametrize("at_once", [False, True])
def test_a_file_of_a_refused_commit_is_refused_with_the_next_one_too(
    bed: UpstreamBed,
    node: Place,
    at_once: bool,  # noqa: FBT001 - pytest gives it by name
) -> None:
    before = node.tip
    bed.commit({f"shop/redirects/{name}.yaml": yaml([(f"/{name}1", "/y")]) for name in "mM"})
    if not at_once:
        assert fault_of(node) == "upstream_invalid"
    bed.commit({RULES: yaml([("/a", "/changed")])})
    state = sync(node)
    assert state.fault
    assert state.fault.code == "upstream_invalid"
    assert "shop/redirects/m.yaml" in " ".join(state.fault.problems)
    assert node.tip == before
    (fixed,) = bed.commit({"shop/redirects/M.yaml": None})
    assert sync_well(node).release == fixed == node.tip
    assert node.targets() == {"/a": "/changed", "/m1": "/y"}


def _commit_many(bed: UpstreamBed) -> None:
    """Add more commits than are checked one by one, which change nothing."""
    text = "".join(
        f"commit refs/heads/release\ncommitter Ada <ada@example.org> {1_700_000_000 + number} +0000\ndata 4\nMore\n"
        + ("from refs/heads/release^0\n" if number == 0 else "")
        for number in range(1_001)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=bed.path, input=text, text=True, check=True)


def test_nothing_is_published_over_a_tip_that_does_not_pass(bed: UpstreamBed, node: Place) -> None:
    (tip,) = bed.commit({RULES: BROKEN})
    node.save(put(redirect("/c")))
    with pytest.raises(RemoteError, match="does not pass"):
        node.publish()
    assert bed.tip == tip


@pytest.mark.parametrize("kind", ["rewound", "diverged"])
def test_a_force_push_on_the_upstream_is_never_served_and_loses_nothing(
    bed: UpstreamBed, node: Place, kind: str
) -> None:
    before = node.tip, node.state(), node.targets()
    work = bed.work()
    if kind == "rewound":
        git(work, "reset", "--quiet", "--hard", "HEAD~1")
    else:
        git(work, "commit", "--quiet", "--amend", "--message", "Another history")
    bed.push("--force")
    assert fault_of(node) == f"upstream_{kind}"
    assert (node.tip, node.state(), node.targets()) == before
    with pytest.raises(RemoteError):
        node.publish(put(redirect("/c")))
    assert bed.tip == git(work, "rev-parse", "HEAD"), "nothing may be forced back"
    git(bed.path, "update-ref", "refs/heads/release", before[0]) if kind == "rewound" else git(
        work, "push", "--quiet", "--force", str(bed.path), f"{before[0]}:release"
    )
    sync_well(node)
    assert node.publish(put(redirect("/d"))).number == before[1][1] + 1


def test_a_new_history_is_taken_with_a_commit_that_continues_from_release(bed: UpstreamBed, node: Place) -> None:
    before, work = node.state(), bed.work()
    release = node.tip
    git(work, "checkout", "--quiet", "--orphan", "other")
    (work / RULES).write_text(yaml([("/n", "/x")]), "utf-8")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Another history")
    git(work, "push", "--quiet", "--force", str(bed.path), "HEAD:release")
    state = sync(node)
    assert state.fault is not None
    assert "release as its first parent" in state.fault.message
    joined = git(work, "commit-tree", "HEAD^{tree}", "-p", release, "-p", "HEAD", "-m", "Continue from release")
    git(work, "push", "--quiet", str(bed.path), f"{joined}:release")
    sync_well(node)
    assert (node.tip, node.state()[1]) == (joined, before[1] + 1)
    assert node.publish(put(redirect("/d"))).number == before[1] + 2


def test_a_merge_the_wrong_way_round_is_refused(bed: UpstreamBed, node: Place) -> None:
    before, work = node.tip, bed.work()
    git(work, "checkout", "--quiet", "-b", "side", "HEAD~1")
    (work / "shop/note.md").write_text("side\n", "utf-8")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "On the side")
    git(work, "merge", "--quiet", "--no-edit", "--no-ff", "origin/release")
    bed.push()
    state = sync(node)
    assert state.fault is not None
    assert state.fault.code == "upstream_diverged"
    assert "first parent" in state.fault.message
    assert node.tip == before


def test_while_the_upstream_is_away_only_publishing_fails(bed: UpstreamBed, node: Place) -> None:
    away = bed.path.rename(bed.folder / "away.git")
    node.save(put(redirect("/c")))
    with pytest.raises(RemoteAway):
        node.publish()
    assert fault_of(node) == "upstream_unavailable"
    assert node.targets() == {"/a": "/first"}
    node.save(put(redirect("/d")))
    away.rename(bed.path)
    sync_well(node)
    published = node.publish()
    assert bed.tip == published.version
    assert set(node.targets()) == {"/a", "/c", "/d"}


def test_a_suspended_source_takes_no_publish(bed: UpstreamBed, node: Place) -> None:
    before = bed.tip
    bed.follow(node, SOURCE, is_suspended=True)
    with pytest.raises(RemoteAway, match="suspended"):
        node.publish(put(redirect("/c")))
    assert bed.tip == before == node.tip


def test_two_nodes_that_publish_in_turn_end_at_the_same_release(bed: UpstreamBed, node: Place) -> None:
    other = bed.node("third")
    for number in range(6):
        place = (node, other)[number % 2]
        place.publish(put(redirect(f"/n{number}")))
    sync_well(node)
    sync_well(other)
    assert node.tip == other.tip == bed.tip
    assert node.state() == other.state()
    assert set(node.targets()) == {"/a", *(f"/n{number}" for number in range(6))}
    other.fsck()


def test_a_namespace_with_publishes_of_its_own_does_not_take_another_history(bed: UpstreamBed, tmp_path: Path) -> None:
    other = UpstreamBed.create(tmp_path / "other")
    place = other.node("own")
    place.begin("own")
    before = place.tip
    bed.follow(place, SOURCE)
    assert fault_of(place) == "upstream_diverged"
    assert place.tip == before


def test_a_path_is_refused_unless_the_operator_allows_its_folder(bed: UpstreamBed, node: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    git(tmp_path, "init", "--quiet", "--bare", str(outside))
    link = bed.folder / "link.git"
    link.symlink_to(outside)
    for path in (outside, link):
        bed.follow(node, MIRROR, str(path))
        assert fault_of(node) == "upstream_refused"
    assert not git(outside, "for-each-ref")


def bed_store(bed: UpstreamBed, name: str) -> Store:
    """Open the data directory of a node again."""
    return Store(bed.folder / name)
