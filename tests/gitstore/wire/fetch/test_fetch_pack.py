"""Packs of fetches: what they hold, against C git on random histories, and how they are kept."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from gitstore.errors import Broken
from gitstore.git.repository_creation import init_repository
from gitstore.wire.fetch import fetch_pack
from gitstore.wire.fetch.fetch_pack import MadePack, PackOrder, make_pack
from gitstore.wire.fetch.pack_file import PackFile
from gitstore.wire.packs import kept_packs, release_list, sent_pack
from gitstore.wire.packs.id_lists import read_list
from gitstore.wire.packs.kept_packs import MOST_KEPT, MOST_SECONDS, remove_old
from gitstore.wire.packs.selection import ObjectFilter
from gitstore.wire.packs.sent_pack import PackFormat
from tests.gitstore.wire.fetch.histories import listed, make_repository, run, tips

SEEDS = range(3)
CLONES = "clones"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of kept packs, in compiled files."""
    (tmp_path / "compiled").mkdir()
    return tmp_path / "compiled" / CLONES


def ids_in(pack: Path, target: Path, *, thin: bool = False) -> set[bytes]:
    """Return the ids of a pack's objects, as C git reads it into a repository, strictly."""
    if not target.exists():
        subprocess.run(("git", "init", "-q", "--bare", str(target)), check=True)
    options = ("--fix-thin",) if thin else ("--strict",)
    name = run(target, "index-pack", *options, "--stdin", data=pack.read_bytes()).split()[1].decode()
    shown = run(target, "show-index", data=(target / "objects" / "pack" / f"pack-{name}.idx").read_bytes())
    return {bytes.fromhex(line.split()[1].decode()) for line in shown.splitlines()}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fewest", [1, 30, 1_000_000])
@pytest.mark.parametrize("form", [PackFormat(), PackFormat(has_offsets=False)])
def test_a_clone_has_exactly_what_is_reachable(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, fewest: int, form: PackFormat
) -> None:
    """Its objects are copied or written: most are in one pack, the others loose."""
    monkeypatch.setattr(sent_pack, "_FEWEST_COPIED", fewest)
    repository = make_repository(tmp_path / "made.git", seed)
    run(repository, "repack", "-adq", "--depth=20", "--window=20")
    run(repository, "update-ref", "refs/heads/release", _commit(repository, "loose"))
    for names in (("release",), ("release", "one", "two", "v1")):
        order = PackOrder(tips(repository, *names), format=form)
        made = make_pack(repository, folder, order)
        assert ids_in(made.path, tmp_path / f"copy-{len(names)}.git") == listed(repository, *names)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fetch_has_all_that_the_client_lacks(tmp_path: Path, folder: Path, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a repeatable choice, no secret
    repository = make_repository(tmp_path / "made.git", seed)
    commits = run(repository, "rev-list", "--all").decode().split()
    for turn in range(8):
        wants, haves = rng.sample(commits, 2), rng.sample(commits, 2)
        order = PackOrder(tips(repository, *wants), tips(repository, *haves), format=PackFormat(is_thin=turn % 2 == 0))
        client = tmp_path / f"client-{turn}.git"
        held = make_pack(repository, folder, PackOrder(tips(repository, *haves)))
        known = ids_in(held.path, client)
        made = make_pack(repository, folder, order)
        assert not made.is_kept
        sent = ids_in(made.path, client, thin=turn % 2 == 0)
        assert sent | known >= listed(repository, *wants)
        assert sent <= listed(repository, *wants, *haves)
        run(client, "fsck", "--strict")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (ObjectFilter(0), "blob:none"),
        (ObjectFilter(500), "blob:limit=500"),
        (ObjectFilter(depth=0), "tree:0"),
        (ObjectFilter(depth=2), "tree:2"),
        (ObjectFilter(depth=3), "tree:3"),
    ],
)
def test_a_filter_leaves_out_what_c_git_leaves_out(
    tmp_path: Path, folder: Path, seed: int, chosen: ObjectFilter, words: str
) -> None:
    repository = make_repository(tmp_path / "made.git", seed)
    made = make_pack(repository, folder, PackOrder(tips(repository, "release"), filter=chosen))
    found = ids_in(made.path, tmp_path / "copy.git", thin=True)
    assert found == listed(repository, "release", f"--filter={words}")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kept_pack_begins_the_next_one(tmp_path: Path, folder: Path, seed: int) -> None:
    repository = make_repository(tmp_path / "made.git", seed)
    first = make_pack(repository, folder, PackOrder(tips(repository, "release")))
    body = first.path.read_bytes()[12:-20]
    run(repository, "update-ref", "refs/heads/release", _commit(repository, "new"))
    second = make_pack(repository, folder, PackOrder(tips(repository, "release")))
    assert second.is_kept
    assert second.path.read_bytes()[12 : 12 + len(body)] == body
    assert ids_in(second.path, tmp_path / "copy.git") == listed(repository, "release")
    assert set(read_list(second.path.with_suffix(".ids")).ids) == listed(repository, "release")
    assert make_pack(repository, folder, PackOrder(tips(repository, "release"))) == second


def test_a_kept_pack_of_a_ref_that_is_gone_begins_no_other_one(tmp_path: Path, folder: Path) -> None:
    repository = make_repository(tmp_path / "made.git", 1)
    run(repository, "update-ref", "refs/heads/draft", _commit(repository, "discarded"))
    make_pack(repository, folder, PackOrder(tips(repository, "release", "draft")))
    run(repository, "update-ref", "refs/heads/release", _commit(repository, "new"))
    made = make_pack(repository, folder, PackOrder(tips(repository, "release")))
    assert ids_in(made.path, tmp_path / "copy.git") == listed(repository, "release")


def test_commits_that_undo_each_other_lose_nothing(tmp_path: Path, folder: Path) -> None:
    """A state comes again after the next one, which has a folder in common with it that is new in both."""
    repository = tmp_path / "made.git"
    init_repository(repository)
    for turn, content in enumerate((b"x", b"y", b"x", b"y")):
        files = ((b"kept/file", b"same"), (b"changed", content)) if turn else ((b"other", b"x"),)
        stream = b"commit refs/heads/release\ncommitter G <g@x> %d +0000\ndata 1\nx\n" % (1_700_000_000 + turn)
        stream += b"from refs/heads/release^0\ndeleteall\n" if turn else b""
        stream += b"".join(b"M 100644 inline %b\ndata %d\n%b\n" % (path, len(data), data) for path, data in files)
        run(repository, "fast-import", "--quiet", data=stream)
    made = make_pack(repository, folder, PackOrder(tips(repository, "release")))
    assert ids_in(made.path, tmp_path / "copy.git") == listed(repository, "release")


def test_a_pack_that_has_grown_by_a_third_is_made_anew(tmp_path: Path, folder: Path) -> None:
    repository = make_repository(tmp_path / "made.git", 1)
    made = make_pack(repository, folder, PackOrder(tips(repository, "release")))
    added = []
    before = run(repository, "rev-parse", "release").decode().strip()
    stream = [
        b"commit refs/heads/release\ncommitter G <g@x> %d +0000\ndata 1\nx\n%bM 100644 inline new-%d.yaml\ndata 1\nx\n"
        % (1_700_001_000 + number, b"" if number else b"from refs/heads/release^0\n", number)
        for number in range(150)
    ]
    run(repository, "-c", "fastimport.unpackLimit=10000", "fast-import", "--quiet", data=b"".join(stream))
    for commit in run(repository, "rev-list", "--reverse", f"{before}..release").decode().split()[::10]:
        run(repository, "update-ref", "refs/heads/release", commit)
        made = make_pack(repository, folder, PackOrder(tips(repository, "release")))
        added.append(read_list(made.path.with_suffix(".ids")).contents.added)
    assert added[0] > 0
    assert 0 in added[1:]
    assert ids_in(made.path, tmp_path / "copy.git") >= listed(repository, "release~10")


def test_the_list_of_the_release_branch_saves_the_look_at_its_history(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "made.git", 2)
    assert release_list.is_list_due(repository)
    release_list.update_list(repository)
    assert not release_list.is_list_due(repository)
    run(repository, "update-ref", "refs/heads/release", _commit(repository, "new"))
    monkeypatch.setattr(fetch_pack._PackMaker, "_select", _not_needed)
    made = make_pack(repository, folder, PackOrder(tips(repository, "release", "one", "two", "v1")))
    assert ids_in(made.path, tmp_path / "copy.git") == listed(repository, "release", "one", "two", "v1")
    run(repository, "repack", "-dq")
    assert release_list.is_list_due(repository)
    release_list.update_list(repository)
    assert set(read_list(repository / release_list.FILE_NAME).ids) == listed(repository, "release")


def _not_needed(*_: object) -> None:
    raise AssertionError("the whole history was read")


def test_a_list_of_a_branch_that_was_moved_back_is_not_used(tmp_path: Path, folder: Path) -> None:
    repository = make_repository(tmp_path / "made.git", 3)
    before = run(repository, "rev-parse", "release~1").decode().strip()
    release_list.update_list(repository)
    run(repository, "update-ref", "refs/heads/release", before)
    made = make_pack(repository, folder, PackOrder((bytes.fromhex(before),)))
    assert ids_in(made.path, tmp_path / "copy.git") == listed(repository, "release")
    run(repository, "repack", "-adq")
    release_list.update_list(repository)
    assert set(read_list(repository / release_list.FILE_NAME).ids) == listed(repository, "release")


def test_packs_beyond_the_limits_are_removed(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_repository(tmp_path / "made.git", 1)
    commits = run(repository, "rev-list", "--max-count=7", "release").decode().split()
    for commit in commits:
        make_pack(repository, folder, PackOrder((bytes.fromhex(commit),)))
    assert len(list(folder.glob("*.pack"))) == len(list(folder.glob("*.ids"))) == MOST_KEPT
    monkeypatch.setattr(kept_packs, "MOST_BYTES", sum(path.stat().st_size for path in folder.glob("*.pack")) - 1)
    remove_old(folder)
    assert len(list(folder.glob("*.pack"))) == MOST_KEPT - 1
    (folder / "left.tmp").write_bytes(b"x")
    remove_old(folder, now=time.time() + MOST_SECONDS + 10)
    assert {path.name for path in folder.iterdir()} == {"lock"}


def test_a_pack_larger_than_the_limit_is_not_kept(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "made.git", 1)
    monkeypatch.setattr(fetch_pack, "MOST_BYTES", 100)
    made = make_pack(repository, folder, PackOrder(tips(repository, "release")))
    assert not made.is_kept
    file = PackFile(made, 0)
    assert not made.path.exists()
    data = b"".join(iter(file.read, b""))
    file.close()
    (tmp_path / "sent").write_bytes(data)
    assert ids_in(tmp_path / "sent", tmp_path / "copy.git") == listed(repository, "release")


def test_a_damaged_pack_is_never_sent(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last object is changed, and its checksum no more right: whether the pack is copied as a whole or in part."""
    monkeypatch.setattr(sent_pack, "_FEWEST_COPIED", 1)
    repository = make_repository(tmp_path / "made.git", 1)
    run(repository, "repack", "-adq")
    (pack,) = (repository / "objects" / "pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[-30] ^= 1
    pack.chmod(0o644)
    pack.write_bytes(data)
    everything = PackOrder(tips(repository, "release", "one", "two", "v1"))
    for order in (everything, everything._replace(format=PackFormat(has_offsets=False))):
        with pytest.raises(Broken):
            make_pack(repository, folder, order)
    assert {path.name for path in folder.iterdir()} == {"lock"}


def test_the_lines_of_a_pack_fit_their_band(tmp_path: Path) -> None:
    (tmp_path / "pack").write_bytes(os.urandom(3_000_000))
    whole = (tmp_path / "pack").read_bytes()
    for most in (996, 65_516):
        file = PackFile(MadePack(tmp_path / "pack", is_kept=True), most)
        framed, data = b"".join(iter(file.read, b"")), b""
        file.close()
        while framed:
            size = int(framed[:4], 16)
            assert size <= most + 4
            assert framed[4:5] == b"\1"
            data, framed = data + framed[5:size], framed[size:]
        assert data == whole
        (tmp_path / "pack").write_bytes(whole)  # without a right checksum it was dropped


def _commit(repository: Path, text: str) -> str:
    """Write a commit on release with a new file; return its id."""
    blob = run(repository, "hash-object", "-w", "--stdin", data=text.encode()).decode().strip()
    tree = run(repository, "ls-tree", "release") + f"100644 blob {blob}\tnew-{text}.yaml\n".encode()
    made = run(repository, "mktree", data=tree).decode().strip()
    person = ("-c", "user.name=G", "-c", "user.email=g@x")
    return run(repository, *person, "commit-tree", "-m", text, "-p", "release", made).decode().strip()
