"""The backup of one namespace and its restoration: the same refs, objects, settings and records, or an error."""

import shutil
from pathlib import Path

import pytest

from gitstore.care.backup_files import CONTENTS, BackupReader, open_backup, open_new_backup
from gitstore.care.namespace_backup import BUNDLE, save_namespace
from gitstore.care.namespace_restore import restore_namespace
from gitstore.compiled.indexes.served_record import read_served
from gitstore.directory import DataDirectory
from gitstore.errors import AlreadyExists, BadRequest, Broken
from gitstore.git.packs.packing import pack_loose
from gitstore.history.refusals import REFUSALS_FILE
from gitstore.store.store import Store
from tests.gitstore.care.damaged import Patient, flip
from tests.gitstore.fixtures import SHOP, SPACE, Place, git, put, redirect

FOLDER = f"repos/{SPACE}"


def save(place: Place, target: Path) -> BackupReader:
    with open_new_backup(target) as writer:
        writer.finish({"namespaces": [save_namespace(place.paths, FOLDER, writer).facts()]})
    return open_backup(target)


def load(reader: BackupReader, root: Path) -> tuple[Place, list[str]]:
    directory = DataDirectory(root)
    directory.create()
    notes = restore_namespace(reader, reader.facts["namespaces"][0], directory.namespace(SPACE))
    return Place(root, Store(root)), notes


def objects_of(repository: Path) -> list[str]:
    return sorted(line.split()[0] for line in git(repository, "rev-list", "--objects", "--all").splitlines())


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
@pytest.mark.parametrize("packing", ["none", "git", "ref-deltas", "own", "several"])
def test_a_restored_namespace_is_equal(patient: Patient, tmp_path: Path, name: str, packing: str) -> None:
    place = patient.place
    if packing == "git":
        git(place.repo, "repack", "-adfq", "--depth=50")
    elif packing == "ref-deltas":
        git(place.repo, "-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq")
    elif packing == "own":
        pack_loose(place.repo)
    elif packing == "several":
        git(place.repo, "repack", "-adfq")
        place.publish(put(redirect("/second", "/pack")))
        git(place.repo, "repack", "-dq")
    (place.repo / REFUSALS_FILE).write_text(f"\n{place.tip} {SHOP}\n", encoding="utf-8")
    git(place.repo, "tag", "-a", "v1", "-m", "A tag")
    restored, notes = load(save(place, tmp_path / name), tmp_path / "copy")
    assert notes == []
    assert git(restored.repo, "for-each-ref") == git(place.repo, "for-each-ref")
    assert objects_of(restored.repo) == objects_of(place.repo)
    assert git(restored.repo, "config", "--list", "--local") == git(place.repo, "config", "--list", "--local")
    for part in ("description", "HEAD", REFUSALS_FILE):
        assert (restored.repo / part).read_bytes() == (place.repo / part).read_bytes()
    assert read_served(restored.paths) == read_served(place.paths) == place.tip
    restored.fsck()
    assert restored.targets() == place.targets()
    assert restored.state() == place.state()


def test_stock_git_reads_the_bundle(patient: Patient, tmp_path: Path) -> None:
    reader = save(patient.place, tmp_path / "backup")
    bundle = tmp_path / "backup" / FOLDER / BUNDLE
    git(patient.repo, "bundle", "verify", "--quiet", str(bundle))
    git(tmp_path, "clone", "--quiet", str(bundle), "clone")
    assert (tmp_path / "clone" / SHOP / "project.yaml").exists()
    assert f"{FOLDER}/{BUNDLE}" in reader.names()


def test_unreachable_objects_are_left_out(patient: Patient, tmp_path: Path) -> None:
    lost = git(patient.repo, "hash-object", "-w", "--stdin", data=b"lost")
    git(patient.repo, "branch", "-D", f"draft/{SHOP}/main")
    restored, _ = load(save(patient.place, tmp_path / "backup"), tmp_path / "copy")
    with pytest.raises(Exception, match="exit status"):
        git(restored.repo, "cat-file", "-e", lost)
    restored.fsck()


def test_hooks_and_settings_that_name_programs_are_not_restored(patient: Patient, tmp_path: Path) -> None:
    git(patient.repo, "config", "core.hooksPath", "/tmp/evil")  # noqa: S108 - never used
    git(patient.repo, "config", "uploadpack.packObjectsHook", "/tmp/evil")  # noqa: S108 - never used
    git(patient.repo, "config", "include.path", "/tmp/evil")  # noqa: S108 - never used
    git(patient.repo, "config", "receive.denyDeletes", "true")
    (patient.repo / "hooks").mkdir(exist_ok=True)
    (patient.repo / "hooks" / "pre-receive").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    restored, notes = load(save(patient.place, tmp_path / "backup"), tmp_path / "copy")
    assert sorted(note.split()[3].lower() for note in notes) == [
        "core.hookspath",
        "include.path",
        "uploadpack.packobjectshook",
    ]
    assert git(restored.repo, "config", "receive.denyDeletes") == "true"
    assert "evil" not in (restored.repo / "config").read_text(encoding="utf-8")
    assert not (restored.repo / "hooks" / "pre-receive").exists()


def test_a_restored_repository_that_is_moved_back_is_noticed(patient: Patient, tmp_path: Path) -> None:
    restored, _ = load(save(patient.place, tmp_path / "backup"), tmp_path / "copy")
    restored.state()
    git(restored.repo, "update-ref", "refs/heads/release", "release~1")
    fault = restored.fresh().store.releases.faults(SPACE).faults[0]
    assert fault.code == "release_rewound"


def test_a_release_that_was_moved_back_is_restored_as_such(patient: Patient, tmp_path: Path) -> None:
    served = patient.place.tip
    git(patient.repo, "update-ref", "refs/heads/release", "release~1")
    restored, _ = load(save(patient.place, tmp_path / "backup"), tmp_path / "copy")
    assert read_served(restored.paths) == served
    git(restored.repo, "cat-file", "-e", served)


@pytest.mark.parametrize("kind", ["missing", "damaged"])
def test_a_damaged_repository_is_not_saved_as_a_good_one(patient: Patient, tmp_path: Path, kind: str) -> None:
    blob = git(patient.repo, "rev-parse", "release:shop/redirects.yaml")
    path = patient.repo / "objects" / blob[:2] / blob[2:]
    if kind == "missing":
        path.unlink()
    else:
        flip(path, 40)
    with pytest.raises(Broken, match=blob):
        save(patient.place, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == [patient.root], "something is left of the backup"


def test_a_damaged_pack_is_not_saved_as_a_good_one(patient: Patient, tmp_path: Path) -> None:
    flip(patient.pack(), patient.pack().stat().st_size // 2)
    with pytest.raises(Broken):
        save(patient.place, tmp_path / "backup")


def test_a_damaged_file_in_a_pack_is_not_saved_as_a_good_one(patient: Patient, tmp_path: Path) -> None:
    """It is not read for the backup, only copied."""
    git(patient.repo, "repack", "-adq")
    rows = [row.split() for row in git(patient.repo, "verify-pack", "-v", str(patient.pack())).splitlines()]
    offset = next(int(row[4]) for row in rows if len(row) > 4 and row[1] == "blob")
    flip(patient.pack(), offset + 8)
    with pytest.raises(Broken):
        save(patient.place, tmp_path / "backup")


def test_deltas_stay_deltas(patient: Patient, tmp_path: Path) -> None:
    text = "".join(f"# line {number * 7919}\n" for number in range(2_000))
    for number in range(20):
        patient.place.push({"README.md": f"{text}{number}\n"})
    git(patient.repo, "repack", "-adfq", "--depth=50")
    save(patient.place, tmp_path / "backup")
    bundle = tmp_path / "backup" / FOLDER / BUNDLE
    assert bundle.stat().st_size < 1.2 * patient.pack().stat().st_size


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
def test_any_flipped_bit_of_a_backup_is_noticed(patient: Patient, tmp_path: Path, name: str) -> None:
    save(patient.place, tmp_path / name)
    files = [path for path in tmp_path.glob(f"{name}/**/*") if path.is_file()] or [tmp_path / name]
    for number, path in enumerate(files):
        before = path.read_bytes()
        for at in _samples(path, name):
            flip(path, at)
            with pytest.raises((Broken, BadRequest)):
                load(open_backup(tmp_path / name), tmp_path / f"copy-{number}-{at}")
            path.write_bytes(before)


def _samples(path: Path, name: str) -> list[int]:
    """Return places to damage: in an archive, those of a file's bytes, as its padding has none."""
    if name.endswith(".tar"):
        return [path.read_bytes().index(b"# v2 git bundle") + 400]
    size = path.stat().st_size
    # In the list of contents, a flipped letter of a message changes nothing that is restored.
    return [1] if path.name == CONTENTS else [0, size // 2, size - 1]


def test_a_truncated_backup_is_noticed(patient: Patient, tmp_path: Path) -> None:
    save(patient.place, tmp_path / "backup.tar")
    data = (tmp_path / "backup.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: len(data) // 2])
    with pytest.raises(Broken, match="no complete backup"):
        open_backup(tmp_path / "cut.tar")
    (tmp_path / "other").mkdir()
    with pytest.raises(Broken, match="no complete backup"):
        open_backup(tmp_path / "other")


def test_paths_outside_of_the_backup_are_refused(patient: Patient, tmp_path: Path) -> None:
    save(patient.place, tmp_path / "backup")
    contents = tmp_path / "backup" / CONTENTS
    contents.write_text(contents.read_text().replace(f'"{FOLDER}/HEAD"', '"../../etc/passwd"'))
    with pytest.raises(Broken):
        open_backup(tmp_path / "backup")


def test_a_backup_never_replaces_anything(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(AlreadyExists):
        save(patient.place, tmp_path / "there")
    with pytest.raises(BadRequest):
        save(patient.place, tmp_path / "nowhere" / "backup")


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
def test_a_second_attempt_replaces_the_first(patient: Patient, tmp_path: Path, name: str) -> None:
    """As where the namespace was archived while it was saved."""
    with open_new_backup(tmp_path / name) as writer:
        save_namespace(patient.place.paths, FOLDER, writer)
        patient.place.publish(put(redirect("/second")))
        writer.forget(FOLDER)
        assert writer.files == {}
        writer.finish({"namespaces": [save_namespace(patient.place.paths, FOLDER, writer).facts()]})
    restored, _ = load(open_backup(tmp_path / name), tmp_path / "copy")
    assert "/second" in restored.targets()


def test_borrowed_objects_are_in_the_backup(patient: Patient, tmp_path: Path) -> None:
    lender = tmp_path / "lender.git"
    shutil.copytree(patient.repo, lender)
    for path in (*patient.object_files(), *patient.repo.glob("objects/pack/*")):
        path.unlink()
    (patient.repo / "objects" / "info" / "alternates").write_text(f"{lender}/objects\n", encoding="utf-8")
    restored, _ = load(save(patient.place, tmp_path / "backup"), tmp_path / "copy")
    shutil.rmtree(lender)
    restored.fsck()


def test_a_backup_beside_publishes_and_packing_has_the_refs_of_one_moment(patient: Patient, tmp_path: Path) -> None:
    """Objects that become packed, and refs that go, while objects are read, do not matter."""
    place = patient.place
    for number in range(3):
        place.publish(put(redirect(f"/more-{number}")))
        git(place.repo, "gc", "--quiet", "--prune=now")
        restored, _ = load(save(place, tmp_path / f"backup-{number}"), tmp_path / f"copy-{number}")
        assert restored.state() == place.state()
