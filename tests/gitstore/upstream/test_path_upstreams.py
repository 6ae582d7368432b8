"""Upstreams at a path: all of it is in an allowed folder, of a format that is known, and no working tree is left behind."""

from pathlib import Path

import pytest

from gitstore.upstream.upstream_settings import UpstreamMode
from gitstore.wire.client.remote_errors import RemoteGarbage, RemoteRefused
from tests.gitstore.fixtures import SHOP, Place, create_place, git, put, redirect
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, sync, sync_well


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an empty upstream."""
    return UpstreamBed.create(tmp_path / "bed")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a repository outside of the allowed folder, with one commit on release."""
    path = tmp_path / "outside"
    git(tmp_path, "init", "--quiet", "--initial-branch=release", str(path))
    git(path, "commit", "--quiet", "--allow-empty", "--message", "Secret")
    return path / ".git"


def refusal(place: Place) -> str:
    """Sync, and return the message of the refusal."""
    fault = sync(place).fault
    assert fault is not None
    assert fault.code == "upstream_refused", fault
    return fault.message


@pytest.mark.parametrize("mode", [SOURCE, MIRROR])
@pytest.mark.parametrize(
    "link", [".git", "objects", "refs", "packed-refs", "refs/heads/release", "objects/pack", "alternates", "commondir"]
)
def test_a_repository_that_leads_out_of_the_allowed_folder_is_refused(
    bed: UpstreamBed, outside: Path, mode: UpstreamMode, link: str
) -> None:
    git(outside, "pack-refs", "--all", "--no-prune")
    before = git(outside, "for-each-ref")
    place = create_place(bed.folder.parent / "node").begin(SHOP)
    if link == ".git":
        path = bed.folder / "evil"
        path.mkdir()
        (path / ".git").symlink_to(outside)
    else:
        path = bed.path
        _lead_out(path, outside, link)
    bed.follow(place, mode, str(path))
    assert "upstream_folders" in refusal(place)
    assert git(outside, "for-each-ref") == before


def _lead_out(path: Path, outside: Path, link: str) -> None:
    """Make a part of a repository lead to another one."""
    if link == "alternates":
        (path / "objects/info/alternates").write_text(f"{outside}/objects\n", "utf-8")
    elif link == "commondir":
        (path / "commondir").write_text(f"{outside}\n", "utf-8")
    else:
        if (path / link).exists():
            (path / link).rename(path.with_name("old"))
        (path / link).symlink_to(outside / link)


def test_alternates_inside_of_the_allowed_folder_are_followed(bed: UpstreamBed) -> None:
    bed.node("first").begin(SHOP)
    git(bed.folder, "clone", "--quiet", "--bare", "--shared", str(bed.path), "shared.git")
    place = create_place(bed.folder.parent / "node")
    bed.follow(place, SOURCE, str(bed.folder / "shared.git"))
    assert sync_well(place).release == bed.tip


@pytest.mark.parametrize("mode", [SOURCE, MIRROR])
@pytest.mark.parametrize(
    ("name", "value"),
    [("extensions.objectformat", "sha256"), ("extensions.refstorage", "reftable"), ("extensions.new", "1")],
)
def test_a_repository_of_another_format_is_refused(bed: UpstreamBed, mode: UpstreamMode, name: str, value: str) -> None:
    config = bed.path / "config"
    git(bed.path, "config", "core.repositoryformatversion", "1")
    section, _, key = name.partition(".")
    config.write_text(config.read_text("utf-8") + f"[{section}]\n\t{key} = {value}\n", "utf-8")
    place = create_place(bed.folder.parent / "node").begin(SHOP)
    bed.follow(place, mode, creates=True)
    assert f"{key} = {value}" in refusal(place)
    assert not [*(bed.path / "refs/heads").iterdir(), *(bed.path / "objects/pack").iterdir()]


def test_a_repository_with_ids_of_sha_256_is_not_written(bed: UpstreamBed) -> None:
    git(bed.folder, "init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=release", "new.git")
    place = create_place(bed.folder.parent / "node").begin(SHOP)
    bed.follow(place, MIRROR, str(bed.folder / "new.git"))
    assert "objectformat = sha256" in refusal(place)
    assert not git(bed.folder / "new.git", "for-each-ref")


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("mode", [SOURCE, MIRROR])
def test_a_branch_that_is_checked_out_is_not_moved(bed: UpstreamBed, mode: UpstreamMode, *, is_linked: bool) -> None:
    bed.node("first").begin(SHOP)
    tree = _check_out(bed, is_linked=is_linked)
    upstream = bed.path if is_linked else tree
    place = create_place(bed.folder.parent / "node")
    bed.follow(place, SOURCE, str(upstream))
    before = sync_well(place).release
    bed.follow(place, mode, str(upstream))
    if mode is MIRROR:
        place.publish(put(redirect("/a")))
        assert "checked out" in refusal(place)
    else:
        with pytest.raises(RemoteRefused, match="checked out"):
            place.publish(put(redirect("/a")))
    assert git(tree, "rev-parse", "HEAD") == before
    assert not git(tree, "status", "--porcelain")
    git(tree, "checkout", "--quiet", "-b", "elsewhere")
    if mode is SOURCE:
        place.publish(put(redirect("/b")))
    else:
        sync_well(place)
    assert git(tree, "rev-parse", "release") == place.tip != before


def _check_out(bed: UpstreamBed, *, is_linked: bool) -> Path:
    tree = bed.folder / "tree"
    if is_linked:
        git(bed.path, "worktree", "add", "--quiet", str(tree), "release")
    else:
        git(bed.folder, "clone", "--quiet", str(bed.path), str(tree))
    return tree


@pytest.mark.parametrize("mode", [SOURCE, MIRROR])
@pytest.mark.parametrize(
    "damage",
    [
        b"ref: refs/heads/release\n",
        b"ref: refs/heads/../../../../etc/passwd\n",
        b"\xff\0garbage",
        b"",
        b"f" * 64,
        b"f" * 40,
    ],
    ids=["itself", "outside", "bytes", "empty", "sha-256", "missing"],
)
def test_a_damaged_branch_of_the_upstream_is_its_own_fault(bed: UpstreamBed, mode: UpstreamMode, damage: bytes) -> None:
    place = bed.node("node", mode).begin(SHOP)
    tip = sync_well(place).release
    ref = bed.path / "refs/heads/release"
    ref.write_bytes(damage)
    if mode is MIRROR:
        place.publish(put(redirect("/a")))
    state = sync(place)
    assert state.fault is not None
    assert state.fault.code in {"upstream_garbage", "upstream_diverged"}
    assert (state.fault.code == "upstream_diverged") == (mode is MIRROR and damage == b"f" * 40)
    assert ref.read_bytes() == damage
    assert place.targets() == ({"/a": "/new"} if mode is MIRROR else {})
    ref.write_text(f"{tip}\n", "ascii")
    assert sync_well(place).release == place.tip == bed.tip


def test_nothing_is_published_to_a_source_with_a_damaged_branch(bed: UpstreamBed) -> None:
    place = bed.node("node").begin(SHOP)
    before = place.tip
    (bed.path / "refs/heads/release").write_bytes(b"garbage")
    with pytest.raises(RemoteGarbage, match="Repair it there"):
        place.publish(put(redirect("/a")))
    assert place.tip == before


def test_a_damaged_list_of_packed_refs_is_the_fault_of_the_upstream(bed: UpstreamBed) -> None:
    place = bed.node("node").begin(SHOP)
    (bed.path / "packed-refs").write_bytes(b"garbage\n")
    fault = sync(place).fault
    assert fault is not None
    assert (fault.code, "up.git" in fault.message) == ("upstream_garbage", True)
