"""A folder of the upstream's repository: the same commits on each node, and pushes that keep everything beside it."""

import errno
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any

import pytest

from gitstore.errors import StoreError
from gitstore.git.packs.packing import pack_loose
from gitstore.upstream.remotes import cache_upkeep, projection
from gitstore.upstream.remotes.projection import CommitMap
from gitstore.upstream.upstream_settings import UpstreamMode, folder_cache, write_settings
from tests.gitstore.fixtures import SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, fault_of, sync, sync_well
from tests.gitstore.wire.client.http_host import PASSWORD, USER, hosting
from tests.opened_files import opened_files

PATH = "web/redirects"
RULES = f"{PATH}/shop/redirects.yaml"
PROJECT = {f"{PATH}/shop/project.yaml": "project: {}\n"}


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return the repository of an application, which has no folder yet."""
    found = UpstreamBed.create(tmp_path / "bed")
    work = found.folder / "work"
    git(found.folder, "clone", "--quiet", str(found.path), str(work))
    git(work, "checkout", "--quiet", "-b", "release")
    (work / "app.py").write_text("print(1)\n", "utf-8")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "The application")
    found.push()
    return found


def follow(bed: UpstreamBed, name: str, mode: UpstreamMode = SOURCE, url: str = "", **fields: Any) -> Place:
    """Return a data directory that follows the folder."""
    place = create_place(bed.folder / name)
    bed.follow(place, mode, url, path=PATH, **fields)
    return place


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a node that follows the folder, which has a project with a rule."""
    bed.commit(
        {**PROJECT, RULES: yaml([("/a", "/first")])}, {"app.py": "print(2)\n"}, {RULES: yaml([("/a", "/second")])}
    )
    place = follow(bed, "node")
    sync_well(place)
    return place


def cache_of(place: Place) -> Path:
    """Return the copy of the upstream's repository."""
    settings = place.store.upstreams.settings(SPACE)
    assert settings
    return folder_cache(place.repo, settings)


def split(bed: UpstreamBed, path: str = PATH) -> list[str]:
    """Return what C git makes of the commits that change the folder, oldest first."""
    made, before = list[str](), ""
    for commit in git(bed.path, "rev-list", "--first-parent", "--reverse", "release").split():
        tree = git(bed.path, "rev-parse", "--verify", f"{commit}:{path}") if has(bed, commit, path) else ""
        if tree != before:
            made.append(_copy(bed, commit, tree, made[-1:]))
        before = tree
    return made


def _copy(bed: UpstreamBed, commit: str, tree: str, parents: list[str]) -> str:
    whole = git(
        bed.path, "cat-file", "--batch", data=f"{commit}\n{commit}\n".encode()
    )  # the end of the last is cut off
    first, _, rest = whole.partition("\n")
    data = rest.encode()[: int(first.split(" ")[2])].decode()
    head, _, message = data.partition("\n\n")
    people = [line for line in head.splitlines() if line.startswith(("author ", "committer ", "encoding "))]
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), *people]
    text = "\n".join(lines) + f"\n\n{message}"
    return git(bed.path, "hash-object", "-t", "commit", "-w", "--stdin", data=text.encode())


def has(bed: UpstreamBed, commit: str, path: str) -> bool:
    """Tell whether a commit has a path."""
    return bool(git(bed.path, "ls-tree", commit, path))


def read(bed: UpstreamBed, path: str, at: str = "release") -> str:
    """Return a file of the upstream."""
    return git(bed.path, "cat-file", "blob", f"{at}:{path}")


def test_each_commit_that_changes_the_folder_is_one_here(bed: UpstreamBed, node: Place) -> None:
    assert node.git("rev-list", "--reverse", "release").split() == split(bed)
    assert node.targets() == {"/a": "/second"}
    assert node.state()[1] == 2
    node.fsck()
    assert not node.git("ls-tree", "-r", "release", "app.py")


def test_two_nodes_make_the_same_commits_whenever_they_fetch(bed: UpstreamBed, node: Place) -> None:
    bed.commit({RULES: yaml([("/a", "/third")])}, {"app.py": "print(3)\n"})
    sync_well(node)
    other = follow(bed, "other")
    sync_well(other)
    assert other.tip == node.tip
    assert other.state() == node.state()
    assert other.git("rev-list", "release") == node.git("rev-list", "release")


def test_a_commit_beside_the_folder_changes_nothing_here(bed: UpstreamBed, node: Place) -> None:
    before = node.tip
    bed.commit({"app.py": "print(4)\n"})
    state = sync_well(node)
    assert (state.release, state.tip, state.behind) == (before, before, 0)


def test_a_merge_on_the_host_is_one_commit_here(bed: UpstreamBed, node: Place) -> None:
    work = bed.work()
    git(work, "checkout", "--quiet", "-b", "side")
    for number in range(2):
        (work / RULES).write_text(yaml([("/a", f"/side{number}")]), "utf-8")
        git(work, "commit", "--quiet", "--all", "--message", f"Side {number}")
    git(work, "checkout", "--quiet", "-B", "release", "origin/release")
    git(work, "merge", "--quiet", "--no-ff", "--no-edit", "side")
    bed.push()
    sync_well(node)
    assert node.state()[1] == 3
    assert node.targets() == {"/a": "/side1"}
    assert node.git("rev-list", "--reverse", "release").split() == split(bed)


def test_a_publish_replaces_the_folder_alone(bed: UpstreamBed, node: Place) -> None:
    bed.commit({"app.py": "print(5)\n", "web/page.html": "x\n"})
    before = bed.tip
    published = node.publish(put(redirect("/b", "/new")))
    assert node.tip == published.version == split(bed)[-1], "the projection of what was pushed"
    assert git(bed.path, "rev-parse", "release^") == before
    changed = git(bed.path, "diff", "--name-only", before, "release").split()
    assert changed == [RULES]
    assert read(bed, "app.py") == "print(5)"
    assert git(bed.path, "log", "-1", "--format=%an %s", "release") == node.git(
        "log", "-1", "--format=%an %s", "release"
    )
    git(bed.path, "fsck", "--strict", "--full")
    other = follow(bed, "other")
    sync_well(other)
    assert other.state() == node.state()
    sync_well(node)
    assert not node.git("for-each-ref", "refs/heads/draft")


def test_a_publish_whose_record_fails_after_the_push_is_answered_as_done(
    bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(CommitMap, "add", fail)
        published = node.publish(put(redirect("/b")))
    assert published.version == node.tip == split(bed)[-1]
    sync_well(node)
    node.publish(put(redirect("/c")))
    assert split(bed)[-1] == node.tip


def test_the_same_publish_again_returns_it(node: Place) -> None:
    head = node.save(put(redirect("/b")))
    first = node.publish(head=head)
    again = node.publish(head=head)
    assert (first.version, first.number) == (again.version, again.number)


def test_a_lost_race_in_the_folder_is_merged_by_rule(bed: UpstreamBed, node: Place) -> None:
    node.save(put(redirect("/b", "/mine")))
    bed.commit({RULES: yaml([("/a", "/theirs")]), "app.py": "print(6)\n"})
    published = node.publish()
    assert node.targets() == {"/a": "/theirs", "/b": "/mine"}
    assert split(bed)[-1] == published.version == node.tip
    assert read(bed, "app.py") == "print(6)"


def test_publishes_of_two_nodes_in_turn_are_one_history(bed: UpstreamBed, node: Place) -> None:
    other = follow(bed, "other")
    sync_well(other)
    for number in range(6):
        (node, other)[number % 2].publish(put(redirect(f"/n{number}")))
        bed.commit({"app.py": f"print({number})\n"})
    sync_well(node)
    sync_well(other)
    assert node.state() == other.state()
    assert {f"/n{number}" for number in range(6)} <= set(node.targets())
    assert node.git("rev-list", "--reverse", "--first-parent", "release").split() == split(bed)


def test_a_lost_cache_is_made_again(bed: UpstreamBed, node: Place) -> None:
    published = node.publish(put(redirect("/b")))
    rmtree(cache_of(node))
    assert sync_well(node).tip == published.version
    (cache_of(node) / "waypost-projection").write_bytes(b"damaged" * 50)
    bed.commit({RULES: yaml([("/a", "/again")])})
    sync_well(node)
    assert node.tip == split(bed)[-1]


def test_a_damaged_cache_is_made_again_by_the_next_sync(bed: UpstreamBed, node: Place) -> None:
    (cache_of(node) / "objects" / node.tip[:2] / node.tip[2:]).unlink()
    bed.commit({"app.py": "print(8)\n"}, {RULES: yaml([("/a", "/again")])})
    assert fault_of(node) == "upstream_unavailable"
    sync_well(node)
    assert node.targets() == {"/a": "/again"}
    assert node.tip == split(bed)[-1]


def test_a_copy_that_has_grown_is_made_again(bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_upkeep, "_ROOM", 1 << 16)
    marker = cache_of(node) / "marker"
    marker.touch()
    bed.commit({RULES: yaml([("/a", "/third")])})
    sync_well(node)
    assert marker.exists()
    bed.commit({"app.bin": token_hex(1 << 18)})
    sync_well(node)
    pack_loose(cache_of(node))
    sync_well(node)
    assert not marker.exists()
    marker.touch()
    bed.commit({RULES: yaml([("/a", "/again")])})
    sync_well(node)
    assert marker.exists()
    assert node.targets() == {"/a": "/again"}
    assert node.tip == split(bed)[-1]


def test_the_copy_of_another_folder_is_never_read_after_a_kill_in_the_middle_of_a_change(
    bed: UpstreamBed, node: Place
) -> None:
    bed.commit({"site" + name.removeprefix(PATH): text for name, text in PROJECT.items()})
    sync_well(node)
    before, settings = cache_of(node), node.store.upstreams.settings(SPACE)
    assert settings
    write_settings(node.repo, replace(settings, path="site"))  # and nothing else of the change
    state = sync(node)
    assert state.fault
    assert state.fault.code == "upstream_diverged"
    assert state.tip != node.tip
    assert cache_of(node).exists()
    assert not before.exists()


def test_the_copies_of_folders_go_with_the_upstream(node: Place) -> None:
    assert cache_of(node).exists()
    node.store.upstreams.configure(SPACE, None)
    assert not list(node.repo.glob("waypost-folder*.git*"))


def test_a_sync_reads_what_is_new_and_not_the_whole_history(bed: UpstreamBed, node: Place) -> None:
    first, tip = git(bed.path, "rev-list", "--max-parents=0", "release"), bed.tip
    for number in range(250):
        tip = git(bed.path, "commit-tree", "-p", tip, "-m", f"Beside it {number}", f"{tip}^{{tree}}")
    git(bed.path, "update-ref", "refs/heads/release", tip)
    sync_well(node)
    (cache_of(node) / "objects" / first[:2] / first[2:]).unlink()
    bed.commit({"app.py": "print(7)\n"}, {RULES: yaml([("/a", "/new")])})
    sync_well(node)
    assert node.targets() == {"/a": "/new"}


def test_an_idle_poll_reads_the_end_of_the_projection_map_once(
    bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.follow(node, SOURCE, path=PATH, proposals="branches", drafts="push")
    (made,) = bed.commit({RULES: yaml([("/a", "/side")])}, push=False)
    git(bed.folder / "work", "push", "--quiet", "origin", f"{made}:refs/heads/side")
    node.save(put(redirect("/b")))
    sync_well(node)
    sync_well(node)
    map_file, drafts = cache_of(node) / "waypost-projection", node.repo / "waypost-upstream-drafts"
    monkeypatch.setattr(projection, "_NEWEST", len(map_file.read_bytes()) // 44 - 1)  # a longer map than its end
    before = drafts.stat().st_ino
    with opened_files() as opened:
        sync_well(node)
    assert opened.count(str(map_file)) == 1
    assert not [each for each in opened if each.endswith(".pack")], "no draft is packed again"
    assert drafts.stat().st_ino == before, "nor written"
    assert len(git(bed.path, "for-each-ref", "refs/heads/draft").splitlines()) == 1


def test_a_tip_without_the_folder_is_not_served(bed: UpstreamBed, node: Place) -> None:
    before = node.tip
    work = bed.work()
    git(work, "mv", "web", "site")
    git(work, "commit", "--quiet", "--message", "Move")
    bed.push()
    state = sync(node)
    assert state.fault
    assert (state.fault.code, PATH in state.fault.message) == ("upstream_invalid", True)
    assert (state.failures, state.reached_at >= state.synced_at) == (0, True), "the host is not at fault"
    assert (node.tip, node.targets()) == (before, {"/a": "/second"})
    with pytest.raises(StoreError):
        node.publish(put(redirect("/b")))
    git(work, "mv", "site", "web")
    git(work, "commit", "--quiet", "--message", "Back")
    bed.push()
    sync_well(node)
    assert node.targets() == {"/a": "/second"}


def test_an_invalid_tip_is_not_served(bed: UpstreamBed, node: Place) -> None:
    bed.commit({RULES: "redirects: [\n"})
    assert fault_of(node) == "upstream_invalid"
    assert node.targets() == {"/a": "/second"}


def test_an_empty_namespace_makes_the_folder(bed: UpstreamBed) -> None:
    place = follow(bed, "first", creates=True)
    sync_well(place)
    assert split(bed) == [place.tip]
    place.begin(SHOP).publish(put(redirect("/a")))
    assert split(bed)[-1] == place.tip
    assert read(bed, "app.py") == "print(1)"


def test_a_namespace_with_merges_does_not_make_the_folder(bed: UpstreamBed) -> None:
    place = create_place(bed.folder / "own").begin(SHOP)
    place.publish(put(redirect("/a")))
    bed.follow(place, SOURCE, path=PATH, creates=True)
    before = bed.tip
    assert fault_of(place) == "upstream_refused"
    assert bed.tip == before


def test_a_force_push_is_never_served(bed: UpstreamBed, node: Place) -> None:
    before = node.tip
    work = bed.work()
    git(work, "reset", "--quiet", "--hard", "HEAD~1")
    bed.push("--force")
    assert fault_of(node) == "upstream_rewound"
    (work / RULES).write_text(yaml([("/a", "/other")]), "utf-8")
    git(work, "commit", "--quiet", "--all", "--message", "Another")
    bed.push("--force")
    assert fault_of(node) == "upstream_diverged"
    assert node.tip == before


def test_a_large_repository_is_refused_with_a_clear_fault(bed: UpstreamBed) -> None:
    bed.commit({**PROJECT, RULES: yaml([("/a", "/b")])})
    work = bed.work()
    (work / "large.bin").write_bytes(b"".join(number.to_bytes(4) for number in range(0, 1 << 31, 8191)))
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Large")
    bed.push()
    place = follow(bed, "node")
    settings = place.store.upstreams.settings(SPACE)
    assert settings
    place.store.upstreams.configure(SPACE, replace(settings, rules=replace(settings.rules, most_bytes=50_000)))
    state = sync(place)
    assert state.fault
    assert state.fault.code == "upstream_garbage"
    assert "push_limit" in state.fault.message


def test_a_branch_of_the_repository_is_a_proposal(bed: UpstreamBed, node: Place) -> None:
    bed.follow(node, SOURCE, path=PATH, proposals="branches")
    files: Mapping[str, str] = {RULES: yaml([("/a", "/second"), ("/b", "/side")]), "app.py": "print(8)\n"}
    (made,) = bed.commit(files, push=False)
    git(bed.folder / "work", "push", "--quiet", "origin", f"{made}:refs/heads/side")
    (only_code,) = bed.commit({"app.py": "print(9)\n"}, push=False)
    git(bed.folder / "work", "push", "--quiet", "origin", f"{only_code}:refs/heads/code")
    sync_well(node)
    (verdict,) = node.store.upstreams.verdicts(SPACE)
    assert (verdict.branch.name, verdict.commit) == ("side", made)
    assert verdict.report
    assert verdict.report.proposal.base == node.tip
    assert verdict.report.projects[0].name == SHOP
    assert not verdict.problems


def test_a_mirror_puts_each_publish_into_the_folder(bed: UpstreamBed) -> None:
    place = follow(bed, "mirror", MIRROR)
    place.begin(SHOP)
    sync_well(place)
    for number in range(3):
        bed.commit({"app.py": f"print({number})\n"})
        place.publish(put(redirect(f"/n{number}")))
        state = sync_well(place)
        assert (state.tip, state.ahead, state.behind) == (place.tip, 0, 0)
        assert git(bed.path, "rev-parse", f"release:{PATH}") == place.git("rev-parse", "release^{tree}")
        assert read(bed, "app.py") == f"print({number})"
    assert f"Waypost-commit: {place.tip}" in git(bed.path, "log", "-1", "--format=%B", "release")
    rmtree(cache_of(place))
    before = bed.tip
    sync_well(place)
    assert bed.tip == before, "what was pushed is known without the cache"
    place.publish(put(redirect("/z")))
    sync_well(place)
    git(bed.path, "fsck", "--strict", "--full")


def test_a_mirror_does_not_overwrite_what_others_wrote_into_the_folder(bed: UpstreamBed) -> None:
    place = follow(bed, "mirror", MIRROR)
    place.begin(SHOP)
    sync_well(place)
    bed.commit({RULES: yaml([("/theirs", "/x")])})
    before = bed.tip
    place.publish(put(redirect("/a")))
    assert fault_of(place) == "upstream_diverged"
    assert bed.tip == before


@pytest.mark.usefixtures("web_server")
def test_a_folder_behind_http_is_followed_and_published_to(bed: UpstreamBed) -> None:
    git(bed.path, "config", "http.receivepack", "true")
    bed.commit({**PROJECT, RULES: yaml([("/a", "/first")])}, {"app.py": "print(2)\n"})
    with hosting(bed.folder) as host:
        place = follow(bed, "node", url=f"{host.url}/up.git", username=USER, password=PASSWORD)
        sync_well(place)
        published = place.publish(put(redirect("/b")))
        bed.commit({"app.py": "print(3)\n"})
        place.publish(put(redirect("/c")))
    assert split(bed)[-2:] == [published.version, place.tip]
    assert read(bed, "app.py") == "print(3)"
    git(bed.path, "fsck", "--strict", "--full")
