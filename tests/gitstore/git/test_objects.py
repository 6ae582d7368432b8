"""Objects on disk: neither a kill nor a power cut leaves half of one, and all are durable before a ref moves."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest
from dulwich.refs import DiskRefsContainer

from gitstore.errors import OutOfSpace
from gitstore.git.atomic_io import TEMPORARY_PREFIX
from gitstore.git.object_log import FILE_NAME, read_log
from gitstore.git.objects import ObjectWriter
from gitstore.layout import BlobId
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, put, redirect


def _path(place: Place, blob: BlobId) -> Path:
    return place.repo / "objects" / blob[:2] / blob[2:]


def test_object_is_what_git_writes(place: Place) -> None:
    """C git reads the bytes back, under the same id as its own."""
    blob = ObjectWriter(place.repo).write_blob(b"hello\n")
    assert blob == place.git("hash-object", "--stdin", data=b"hello\n")
    assert place.git("cat-file", "blob", blob) == "hello"


def test_lock_that_a_kill_left_round_an_object_does_not_block_it(place: Place) -> None:
    """Guard: our own writer. dulwich's `add_object` raises FileLocked for this object permanently."""
    blob = BlobId(place.git("hash-object", "--stdin", data=b"blocked\n"))
    lock = _path(place, blob).with_name(f"{blob[2:]}.lock")
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    assert ObjectWriter(place.repo).write_blob(b"blocked\n") == blob
    assert place.git("cat-file", "blob", blob) == "blocked"


def test_empty_object_of_a_power_cut_is_written_again(place: Place) -> None:
    """Guard: the bytes are checked, not only the name."""
    blob = BlobId(place.git("hash-object", "--stdin", data=b"cut\n"))
    _path(place, blob).parent.mkdir(exist_ok=True)
    _path(place, blob).touch()
    ObjectWriter(place.repo).write_blob(b"cut\n")
    assert place.git("cat-file", "blob", blob) == "cut"


def test_object_that_is_used_again_counts_as_new(place: Place) -> None:
    """Guard: its time is set to now, as git does. Else `git prune` may take it as old garbage before the ref moves."""
    writer = ObjectWriter(place.repo)
    blob = writer.write_blob(b"old\n")
    os.utime(_path(place, blob), (0, 0))
    writer.write_blob(b"old\n")
    place.git("prune", "--expire=1.hour.ago")
    assert place.git("cat-file", "blob", blob) == "old"


def test_object_that_git_removes_before_the_ref_moves_is_written_again(place: Place) -> None:
    """Guard: `git repack -ad` drops a discarded draft's objects from its pack, after it removed their files."""
    ObjectWriter(place.repo).write_blob(b"again\n")
    writer = ObjectWriter(place.repo)
    blob = writer.write_blob(b"again\n")
    _path(place, blob).unlink()
    writer.sync()
    assert place.git("cat-file", "blob", blob) == "again"


def test_full_disk_is_reported_and_leaves_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer raises OutOfSpace, and leaves neither a temporary file nor an object."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    before = sorted((place.repo / "objects").rglob("*"))
    with pytest.raises(OutOfSpace):
        ObjectWriter(place.repo).write_blob(b"too much\n")
    after = sorted(path for path in (place.repo / "objects").rglob("*") if path.is_file())
    assert after == [path for path in before if path.is_file()]


def test_everything_is_durable_before_the_ref_moves(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: `sync` before the move. The log has each object, and is synced once before the ref.

    The reply is sent once the name of the ref is durable too.
    """
    reported = _record(monkeypatch)
    before = {path for path in (place.repo / "objects").rglob("*") if path.is_file()}
    head = place.save(put(redirect("/a")))
    new = {path for path in (place.repo / "objects").rglob("*") if path.is_file()} - before
    assert len(new) == 4, "the file, two folders and the commit"
    moved = reported.index("move")
    logged = {object_id for object_id, _ in read_log(place.repo / FILE_NAME)}
    assert {path.parent.name + path.name for path in new} <= logged
    size = (place.repo / FILE_NAME).stat().st_size
    assert reported[:moved] == [f"{place.repo / FILE_NAME} {size}"]
    after = reported[moved:]
    for folder in ("refs/heads/draft/shop", "refs/heads/draft", "refs/heads"):
        assert str(place.repo / folder) in after
    assert place.git("rev-parse", "draft/shop/main") == head


def _record(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the syncs and moves in the repository, in order: the path, for the log with its size, and `move`."""
    reported: list[str] = []
    real = {name: getattr(os, name) for name in ("fsync", "fdatasync")}
    real_move = DiskRefsContainer.set_if_equals

    def sync(name: str, handle: int) -> None:
        real[name](handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        reported.append(f"{path} {os.fstat(handle).st_size}" if path.name == FILE_NAME else str(path))

    def move(container: DiskRefsContainer, *arguments: object) -> bool:
        reported.append("move")
        return real_move(container, *arguments)  # type: ignore[arg-type] # passed on unchanged

    for name in real:
        monkeypatch.setattr(os, name, partial(sync, name))
    monkeypatch.setattr(DiskRefsContainer, "set_if_equals", move)
    return reported


def test_no_call_writes_a_pack(place: Place) -> None:
    """Guard: loose objects only. dulwich's `add_objects` writes a pack per call, and thousands of packs are slow."""
    for number in range(3):
        place.publish(put(redirect(f"/{number}")))
    place.store.publishes.roll_back(SPACE, SHOP, "1", ADA)
    assert list((place.repo / "objects/pack").glob("*")) == []


def test_git_does_not_mind_what_a_kill_leaves(place: Place) -> None:
    """A half-written object is a temporary file to Git too: fsck ignores it, and gc removes it."""
    blob = ObjectWriter(place.repo).write_blob(b"hello\n")
    half = _path(place, blob).with_name(f"{TEMPORARY_PREFIX}0123456789abcdef")
    half.write_bytes(b"x")
    reported = subprocess.run(["git", "fsck"], cwd=place.repo, capture_output=True, text=True, check=True)
    assert half.name not in reported.stderr
    os.utime(half, (0, 0))
    place.git("gc", "--quiet", "--prune=now")
    assert not half.exists()
