"""Packing of loose objects: few files and bytes, nothing lost in a crash, beside readers, publishers and C git."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitstore.errors import Broken
from gitstore.git.atomic_io import TEMPORARY_PREFIX
from gitstore.git.lock import hold
from gitstore.git.packs import packing
from gitstore.git.packs.new_pack import BLOB, hash_object, write_pack
from gitstore.git.packs.object_files import PackFile, open_object_files
from gitstore.git.packs.packing import (
    FEWEST_LOOSE,
    MOST_LOOSE,
    MOST_SECONDS,
    hold_packing,
    is_packing_due,
    pack_loose,
    select_merged,
)
from gitstore.git.repository import open_repository
from gitstore.git.transaction import update
from gitstore.layout import BlobId
from tests.gitstore.fixtures import Place, git, put, redirect
from tests.service import ROOT

CHANGES = 300
RULES = 60


def rows(number: int) -> str:
    """Return the rules after a number of changes, each of which changed one of them."""
    last = {at % RULES: at for at in range(number + 1)}
    return "".join(f"- source: /old/page-{rule}\n  target: /new/{last.get(rule, 0) * 7919}\n" for rule in range(RULES))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on a file system in memory, if there is one: the tests here sync thousands of files."""
    folder = Path("/dev/shm")  # noqa: S108 - the test creates a private folder there
    with TemporaryDirectory(dir=folder if folder.is_dir() else tmp_path) as name:
        yield Path(name)


@pytest.fixture
def repository(memory: Path) -> Path:
    """Return a repository of `CHANGES` commits, all objects of which are loose."""
    path = memory / "loose.git"
    git(memory, "init", "--quiet", "--bare", "--initial-branch=release", str(path))
    add_changes(path, 0, CHANGES)
    return path


def add_changes(repository: Path, first: int, end: int) -> None:
    """Add commits that change one rule each, as loose objects."""
    lines = []
    for at in range(first, end):
        text = rows(at)
        lines += [f"commit refs/heads/release\ncommitter A <a@b> {1_700_000_000 + at} +0000\ndata 5\nrule\n"]
        lines += ["from refs/heads/release^0\n" if at == first and first else ""]
        lines += [f"M 100644 inline shop/redirects.yaml\ndata {len(text)}\n{text}"]
    stream = "".join(each + "\n" if each.startswith("M") else each for each in lines)
    git(repository, "-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet", data=stream.encode())


def count(repository: Path) -> tuple[int, int]:
    """Return the number of a repository's files, and their bytes."""
    files = [file for file in repository.rglob("*") if file.is_file()]
    return len(files), sum(file.stat().st_size for file in files)


def objects(repository: Path) -> set[str]:
    """Return the ids of all objects."""
    listed = git(repository, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects")
    return set(listed.split())


def check(repository: Path) -> None:
    """Check a repository and each of its packs with C git."""
    assert git(repository, "fsck", "--strict", "--full", "--no-dangling", "--no-progress") == ""
    for index in (repository / "objects/pack").glob("*.idx"):
        git(repository, "verify-pack", str(index))


def write_unreached(repository: Path, *contents: bytes, age: float = 2 * MOST_SECONDS) -> None:
    """Write objects that no ref reaches, as `age` seconds ago."""
    then = time.time() - age
    with update(repository) as transaction:
        for name in map(transaction.write_blob, contents):
            os.utime(repository / "objects" / name[:2] / name[2:], (then, then))


def pack(repository: Path) -> None:
    """Pack a repository."""
    with hold_packing(repository) as is_held:
        assert is_held
        pack_loose(repository)


def packs(repository: Path) -> list[PackFile]:
    """Return the packs of a repository."""
    with open_object_files(repository) as files:
        return files.list_packs()


def test_a_history_is_packed_as_small_as_by_git(repository: Path) -> None:
    before = objects(repository)
    pack(repository)
    check(repository)
    assert objects(repository) == before
    files, size = count(repository)
    copy = repository.with_name("copy.git")
    shutil.copytree(repository, copy)
    git(copy, "gc", "--quiet", "--prune=now")
    assert size <= 1.5 * count(copy)[1]
    assert files < 40
    assert not list((repository / "objects").glob("??/*"))


def test_packs_of_one_history_are_merged_and_stay_small(memory: Path) -> None:
    """Each pack alone holds a whole copy of the newest file; merged, they are versions of one file."""
    repository = memory / "grown.git"
    git(memory, "init", "--quiet", "--bare", "--initial-branch=release", str(repository))
    for at in range(0, CHANGES, 20):
        add_changes(repository, at, at + 20)
        pack(repository)
    check(repository)
    found = packs(repository)
    assert len(found) <= 4
    assert sum(each.count for each in found) == len(objects(repository)) == 4 * CHANGES
    copy = repository.with_name("copy.git")
    shutil.copytree(repository, copy)
    git(copy, "gc", "--quiet", "--prune=now")
    assert count(repository)[1] <= 1.5 * count(copy)[1]


@given(st.lists(st.integers(1, 5_000), max_size=40), st.integers(1, 5_000))
def test_packs_that_stay_are_each_larger_than_the_merged_one(counts: list[int], new: int) -> None:
    found = [PackFile(f"pack-{at}", size, 0, 0.0, is_cruft=False) for at, size in enumerate(sorted(counts))]
    merged = select_merged(found, new)
    total = new + sum(each.count for each in merged)
    assert merged == found[: len(merged)]
    assert all(each.count * 2 > total for each in found[len(merged) :])


@given(st.lists(st.binary(max_size=400), unique=True, min_size=1, max_size=30), st.data())
@settings(max_examples=25, deadline=None)
def test_any_objects_are_read_as_they_were_written(contents: list[bytes], data: st.DataObject) -> None:
    """A law, with C git as the reader: whatever the groups are."""
    stored = {hash_object(BLOB, content): content for content in contents}
    order = data.draw(st.permutations(list(stored)))
    cut = data.draw(st.integers(0, len(order)))
    with TemporaryDirectory() as name:
        path = Path(name) / "any.git"
        git(Path(name), "init", "--quiet", "--bare", str(path))
        write_pack(path / "objects/pack", [order[:cut], order[cut:]], lambda object_id: (BLOB, stored[object_id]))
        check(path)
        with open_repository(path) as opened:
            assert {object_id: opened.blob(BlobId(object_id.hex())) for object_id in stored} == stored


def test_chains_of_deltas_stay_as_short_as_those_of_git(memory: Path) -> None:
    """The newest version needs no delta, and no version more than 50."""
    path = memory / "deep.git"
    git(memory, "init", "--quiet", "--bare", str(path))
    stored = {hash_object(BLOB, rows(at).encode()): rows(at).encode() for at in range(CHANGES)}
    name = write_pack(path / "objects/pack", [list(stored)], lambda object_id: (BLOB, stored[object_id]))
    shown = git(path, "verify-pack", "-v", f"objects/pack/{name}.idx").splitlines()
    listed = {words[0]: words for words in map(str.split, shown) if len(words) > 4 and words[1] == "blob"}
    assert len(listed) == CHANGES
    depths = {name: int(words[5]) if len(words) > 5 else 0 for name, words in listed.items()}
    assert max(depths.values()) == 50
    assert depths[next(iter(stored)).hex()] == 0
    assert list(depths.values()).count(0) == 1


def test_number_and_age_of_loose_objects_make_a_packing_due(memory: Path) -> None:
    def due(number: int, age: float) -> bool:
        path = memory / f"{number}-{age}.git"
        for at in range(256):
            (path / f"objects/{at:02x}").mkdir(parents=True)
        for at in range(number):
            file = path / f"objects/{at % 256:02x}/{at:038x}"
            file.write_bytes(b"")
            os.utime(file, (1_000_000 - age, 1_000_000 - age))
        return is_packing_due(path, 1_000_000)

    assert due(2 * MOST_LOOSE, 0)
    assert not due(FEWEST_LOOSE * 2, 0)
    assert due(FEWEST_LOOSE * 6, MOST_SECONDS + 1)
    assert not due(FEWEST_LOOSE // 2, MOST_SECONDS + 1)


def test_an_open_reader_finds_each_object_after_it_was_packed(repository: Path) -> None:
    with open_repository(repository) as reader, open_repository(repository) as late:
        commits = [info.id for info in reader.first_parents(reader.release())]
        late.commit(commits[0])
        pack(repository)
        for commit in commits:
            assert late.has(commit)
            assert late.files(late.commit(commit).tree)


def test_a_writer_that_holds_the_lock_keeps_its_files(repository: Path) -> None:
    """Only the removal of files needs the lock; the next call removes them."""
    before = sorted((repository / "objects").glob("??/*"))
    with hold(repository):
        pack(repository)
    assert sorted((repository / "objects").glob("??/*")) == before
    assert list((repository / "objects/pack").glob("*.pack"))
    pack(repository)
    assert not list((repository / "objects").glob("??/*"))


@pytest.mark.parametrize("event", ["used again", "pack removed"])
def test_a_file_that_is_needed_again_stays(repository: Path, monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """Guard: a draft is discarded after the pack is written, git drops its objects from packs, and a writer uses them again."""
    files = sorted((repository / "objects").glob("??/*"))
    write = packing.write_objects

    def write_then(*given: Any) -> str:
        name = write(*given)
        if event == "used again":
            os.utime(files[0])
        else:
            (repository / f"objects/pack/{name}.idx").unlink()
        return name

    monkeypatch.setattr(packing, "write_objects", write_then)
    pack(repository)
    assert sorted((repository / "objects").glob("??/*")) == (files[:1] if event == "used again" else files)


def test_a_folder_that_cannot_be_parsed_is_packed_like_any_object(repository: Path) -> None:
    """Plain git accepts it in a push."""
    damaged = git(repository, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", data=b"no mode")
    path = repository / "objects" / damaged[:2] / damaged[2:]
    os.utime(path, (1, 1))
    pack(repository)
    assert not list((repository / "objects").glob("??/*"))
    assert git(repository, "cat-file", "-t", damaged) == "tree"


def test_a_second_process_does_not_pack_at_the_same_time(repository: Path) -> None:
    with hold_packing(repository) as first, hold_packing(repository) as second:
        assert (first, second) == (True, False)


def test_objects_that_a_publish_may_be_about_to_use_stay_loose(repository: Path) -> None:
    """`git repack -ad` drops unreachable objects from packs, but keeps loose ones."""
    write_unreached(repository, b"new", age=0)
    write_unreached(repository, b"old")
    pack(repository)
    left = ["objects/" + "/".join(file.parts[-2:]) for file in (repository / "objects").glob("??/*")]
    new = git(repository, "hash-object", "--stdin", data=b"new")
    assert left == [f"objects/{new[:2]}/{new[2:]}"]


def test_packs_of_others_stay(repository: Path) -> None:
    """A pack with `.keep` belongs to someone: neither merged nor removed."""
    git(repository, "repack", "-adq")
    kept = next((repository / "objects/pack").glob("*.pack"))
    kept.with_suffix(".keep").touch()
    write_unreached(repository, b"new")
    pack(repository)
    assert kept.exists()
    assert len(list(kept.parent.glob("*.pack"))) == 2
    check(repository)


def test_a_damaged_object_stays_as_it_is(repository: Path) -> None:
    blob = git(repository, "rev-parse", "release:shop/redirects.yaml")
    file = repository / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"damaged")
    pack(repository)
    assert [each.name for each in (repository / "objects").glob("??/*")] == [blob[2:]]
    with open_repository(repository) as reader, pytest.raises(Broken):
        reader.blob(BlobId(blob))
    file.unlink()
    git(repository, "hash-object", "-w", "--stdin", data=rows(CHANGES - 1).encode())
    check(repository)


def test_a_damaged_pack_is_not_merged(repository: Path) -> None:
    """Its intact objects stay readable, and it is no reason to leave others loose."""
    git(repository, "repack", "-adq")
    damaged = next((repository / "objects/pack").glob("*.pack"))
    damaged.chmod(0o644)
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 255
    damaged.write_bytes(content)
    write_unreached(repository, *(b"%d" % at for at in range(2 * CHANGES)))
    pack(repository)
    assert damaged.read_bytes() == content
    assert not list((repository / "objects").glob("??/*"))


@contextmanager
def driver() -> "Iterator[Callable[[Path, int, int], int]]":
    """Start a process that packs in children; yield the function that packs in one."""
    command = (sys.executable, "-m", "tests.gitstore.git.packs.packing_driver")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:

        def run(path: Path, kill_at: int, most_bytes: int) -> int:
            assert process.stdin
            assert process.stdout
            print(json.dumps([str(path), kill_at, most_bytes]), file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield run
        assert process.stdin
        process.stdin.close()


def test_a_kill_at_any_moment_loses_nothing(repository: Path) -> None:
    """Killed before each change on disk; the next one continues, and leaves no file of the killed one."""
    with driver() as run:
        git(repository, "repack", "-dq")
        write_unreached(repository, *(b"%d" % number for number in range(20)))
        before = objects(repository)
        codes = []
        for at in (*range(1, 24), 30, 100, 1_200):
            path = repository.with_name(f"killed-{at}.git")
            shutil.copytree(repository, path)
            codes.append(run(path, at, 0))
            assert objects(path) == before
            check(path)
            assert run(path, 0, 0) == 0
            assert objects(path) == before
            assert not list(path.rglob(f"{TEMPORARY_PREFIX}*"))
            assert not list((path / "objects").glob("??/*"))
            packs = list((path / "objects/pack").iterdir())
            assert {file.stem for file in packs if file.suffix == ".idx"} == {file.stem for file in packs}
            shutil.rmtree(path)
    assert codes.count(-9) > 15


def test_a_full_disk_leaves_everything_as_it_was(repository: Path) -> None:
    before = objects(repository), count(repository)
    with driver() as run:
        for most in (1, 100, 10_000, 20_000):
            assert run(repository, 0, most) == 1
            (repository / "waypost-packing.lock").unlink()
            assert (objects(repository), count(repository)) == before
        assert run(repository, 0, 0) == 0
    check(repository)
    assert objects(repository) == before[0]


def test_publishers_and_readers_go_on_beside_packing_and_git(place: Place) -> None:
    """Each read is answered and each publish succeeds, while packing and `git gc` replace files again and again."""

    def read() -> None:
        with open_repository(place.repo) as reader:
            for commit in reader.first_parents(reader.release()):
                assert reader.has(commit.id)
                assert all(reader.blob(BlobId(entry.id)) for _, entry in reader.files(commit.tree))

    def pack_again() -> None:
        # C git has packed the same object: the next one begins again. A process that it starts holds the lock until then.
        with suppress(FileNotFoundError), hold_packing(place.repo) as is_held:
            if is_held:
                pack_loose(place.repo)

    def maintain() -> None:
        for command in ("repack -adq", "gc -q", "pack-refs --all"):
            with suppress(subprocess.CalledProcessError):  # git met a pack that was merged meanwhile
                place.git(*command.split())

    with repeated(read, read, pack_again, maintain):
        for number in range(8):
            place.publish(put(redirect(f"/{number}")))
    place.fsck()
    assert len(place.fresh().items()) == 8


@contextmanager
def repeated(*works: Callable[[], None]) -> Iterator[None]:
    """Repeat each function in a thread of its own; raise their exceptions at the end."""
    done = threading.Event()

    def repeat(work: Callable[[], None]) -> None:
        while not done.is_set():
            work()

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(repeat, work) for work in works]
        try:
            yield
        finally:
            done.set()
        for future in futures:
            future.result()


def test_unfinished_files_of_dead_processes_are_removed(repository: Path) -> None:
    """Guards: what is a day old goes, what is younger may be in use, and a pack that lost its index may be the only one."""
    folder = repository / "objects/pack"
    old = [
        folder / name
        for name in ("tmp_pack_a", ".tmp-12-pack-b.pack", f"pack-{'c' * 40}.mtimes", f"pack-{'c' * 40}.rev")
    ]
    old += [repository / "objects" / number / "tmp_obj_x" for number in ("00", "ff")]
    kept = [folder / "tmp_idx_a", folder / f"pack-{'d' * 40}.pack", folder / f"pack-{'d' * 40}.mtimes"]
    for file in (*old, *kept):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    for file in (*old, *kept[1:]):
        os.utime(file, (0, 0))
    with hold_packing(repository):
        pack_loose(repository)
    assert [file.exists() for file in (*old, *kept)] == [False] * len(old) + [True] * len(kept)


def test_a_pack_whose_removal_was_killed_is_removed(repository: Path) -> None:
    """Guard: it has no index any more, and so no C git and no reader knows of it."""
    git(repository, "repack", "-dq")
    pack = next((repository / "objects/pack").glob("*.pack"))
    with open_object_files(repository) as files:
        files.note_removal([pack.stem])
        pack_loose(repository)
        assert pack.exists()
        files.note_removal([pack.stem])
        files.hide_pack(pack.stem)
        files.remove_leftovers()
    assert not list(pack.parent.glob(f"{pack.stem}.*"))


def test_refs_that_name_no_commit_do_not_stop_packing(repository: Path) -> None:
    """Guards: a symbolic ref with a tab, as C git reads it, and the empty file that a power cut leaves."""
    (repository / "refs/heads/tab").write_text("ref:\trefs/heads/release\n")
    (repository / "refs/heads/empty").touch()
    with hold_packing(repository):
        pack_loose(repository)
    assert not list((repository / "objects").glob("??/*"))


def test_a_repository_without_a_folder_for_packs_is_packed(place: Place) -> None:
    """Copies of a repository may lack empty folders, which C git does not mind."""
    place.publish(put(redirect("/a")))
    (place.repo / "objects" / "pack").rmdir()
    pack_loose(place.repo)
    assert place.git("fsck", "--full", "--strict") == ""
    assert list((place.repo / "objects" / "pack").glob("*.idx"))
