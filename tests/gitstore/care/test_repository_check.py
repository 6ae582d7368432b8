"""The check of a repository: it names each damage that C git finds, and repairs lose nothing."""

import os
import re
import shutil
import time
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest

from gitstore.care.findings import REMOVED, Severity
from gitstore.git.object_log import FILE_NAME, ObjectLog
from tests.gitstore.care.damaged import Patient, flip, overwrite
from tests.gitstore.fixtures import git, put, redirect, seeded_random
from tests.rounds import rounds

FLIPS = rounds(16, 40)
HOUR, DAY = 3_600, 86_400


def names(patient: Patient) -> list[str]:
    return [each.place for each in patient.check()]


def test_a_healthy_repository_has_no_findings(patient: Patient) -> None:
    assert patient.check() == []
    assert patient.fsck()


def test_each_flipped_bit_that_git_finds_is_found(healthy: Path, tmp_path: Path) -> None:
    random, found = seeded_random(), 0
    for number in range(FLIPS):
        root = tmp_path / str(number)
        shutil.copytree(healthy, root)
        patient = Patient(root)
        files = [*patient.object_files(), patient.pack(), patient.pack(".idx"), *patient.repo.glob("refs/heads/**/*")]
        path = random.choice([each for each in files if each.is_file()])
        flip(path, random.randrange(path.stat().st_size))
        if not patient.fsck():
            found += 1
            findings = [each for each in patient.check() if each.is_open]
            assert findings, f"nothing found in {path}"
            assert any(_names(each.place, path) for each in findings), (path, findings)
        shutil.rmtree(root)
    assert found > FLIPS / 2


def _names(place: str, path: Path) -> bool:
    """Tell whether a finding names the damaged file, or the object in it."""
    if path.parent.name == "pack":
        return place.startswith(("object ", "objects/pack/"))
    if "objects" in path.parts:
        return path.parent.name + path.name in place.replace("/", "")
    return str(path).endswith(place)


def test_a_missing_object_is_named_with_the_path_that_needs_it(patient: Patient) -> None:
    blob = git(patient.repo, "rev-parse", "release:shop/redirects.yaml")
    (patient.repo / "objects" / blob[:2] / blob[2:]).unlink()
    found = patient.check()
    assert [(each.code, each.place) for each in found] == [("object_missing", f"object {blob}")]
    assert "shop/redirects.yaml in commit" in found[0].meaning
    assert "refs/heads/" in found[0].meaning
    assert found[0].severity is Severity.ERROR


def test_a_damaged_file_is_named_with_its_path_too(patient: Patient) -> None:
    blob = git(patient.repo, "rev-parse", "release:shop/redirects.yaml")
    overwrite(patient.repo / "objects" / blob[:2] / blob[2:], b"")
    (found,) = patient.check()
    assert (found.code, found.place) == ("object_damaged", f"object {blob}")
    assert "shop/redirects.yaml" in found.meaning


def test_an_object_that_is_in_the_log_is_written_again(patient: Patient) -> None:
    blob = git(patient.repo, "rev-parse", "release:shop/redirects.yaml")
    path = patient.repo / "objects" / blob[:2] / blob[2:]
    log = ObjectLog(patient.repo)
    log.append(blob, path.read_bytes())
    log.close()
    path.unlink()
    (found,) = patient.check()
    assert FILE_NAME in found.action
    assert blob in patient.repair()[0]
    assert patient.fsck()
    assert patient.check() == []


def test_a_lost_index_is_built_again(patient: Patient) -> None:
    before = patient.place.targets()
    patient.pack(".idx").unlink()
    assert "pack_unreadable" in patient.codes()
    patient.repair()
    assert patient.fsck()
    assert patient.check() == []
    assert patient.place.targets() == before


@pytest.mark.parametrize("at", [4, 9, 1_040, -30])
def test_a_damaged_index_is_built_again(patient: Patient, at: int) -> None:
    flip(patient.pack(".idx"), at)
    assert patient.codes() & {"pack_unreadable", "pack_damaged"}
    patient.repair()
    assert patient.fsck()
    assert patient.check() == []


def test_an_object_under_another_id_is_named(patient: Patient) -> None:
    """Its bytes are those of an object, and all checksums of files hold."""
    path = patient.pack(".idx")
    data = bytearray(path.read_bytes())
    at = 8 + 4 * 256
    data[at + 19] ^= 1
    data[-20:] = sha1(data[:-20], usedforsecurity=False).digest()
    overwrite(path, bytes(data))
    changed = data[at : at + 20].hex()
    assert any(each.code == "object_damaged" and changed in each.place for each in patient.check())


def test_a_damaged_pack_keeps_all_objects_that_can_be_read(patient: Patient) -> None:
    pack = patient.pack()
    total = len(git(patient.repo, "verify-pack", "-v", str(pack)).splitlines())
    flip(pack, pack.stat().st_size - 21)  # the last byte of the last entry
    assert "pack_damaged" in patient.codes()
    removed = patient.repair()
    assert any("readable objects" in each for each in removed)
    assert len(git(patient.repo, "verify-pack", "-v", str(patient.pack())).splitlines()) > total / 2
    assert list((patient.root / REMOVED).rglob(pack.name)), "the damaged pack is gone"


def test_a_truncated_pack_is_named(patient: Patient) -> None:
    pack = patient.pack()
    overwrite(pack, pack.read_bytes()[:200])
    found = patient.check()
    assert f"objects/pack/{pack.name}" in {each.place for each in found}
    assert any(each.code == "object_damaged" for each in found)


def test_a_lost_pack_is_named_with_what_it_had(patient: Patient) -> None:
    pack = patient.pack()
    pack.unlink()
    found = patient.check()
    assert f"objects/pack/{pack.name}" in {each.place for each in found}
    assert any(each.code == "object_missing" and each.severity is Severity.ERROR for each in found)


@pytest.mark.parametrize("text", ["", "garbage\n", "0" * 39])
def test_a_damaged_release_is_set_to_the_served_commit(patient: Patient, text: str) -> None:
    tip = patient.place.tip
    (patient.repo / "refs/heads/release").write_text(text, encoding="utf-8")
    (found,) = [each for each in patient.check() if each.code == "ref_damaged"]
    assert found.place == "refs/heads/release"
    patient.repair()
    assert patient.place.tip == tip
    assert patient.check() == []


def test_a_lost_release_is_set_to_the_served_commit(patient: Patient) -> None:
    tip = patient.place.tip
    (patient.repo / "refs/heads/release").unlink()
    (patient.repo / "packed-refs").unlink()
    assert "release_missing" in patient.codes()
    patient.repair()
    assert patient.place.tip == tip


def test_a_damaged_ref_of_a_draft_is_moved_away(patient: Patient) -> None:
    ref = patient.repo / "refs/heads/draft/shop/main"
    ref.write_text("nothing\n", encoding="utf-8")
    assert "refs/heads/draft/shop/main" in names(patient)
    patient.repair()
    assert not ref.exists()
    assert [path.read_text() for path in (patient.root / REMOVED).rglob("main")] == ["nothing\n"]


@pytest.mark.parametrize("name", ["refs/heads/release", "refs/heads/draft/shop/main", "refs/notes/waypost"])
@pytest.mark.parametrize("value", ["blob", "folder", "another ref", "a ref that is not there"])
def test_a_branch_that_names_no_commit_is_named(patient: Patient, name: str, value: str) -> None:
    revision = {"blob": "release:shop/project.yaml", "folder": "release^{tree}"}
    text = git(patient.repo, "rev-parse", revision[value]).strip() if value in revision else ""
    ref = patient.repo / name
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(text or f"ref: refs/heads/{'main' if value == 'another ref' else 'nowhere'}\n", encoding="utf-8")
    assert name in names(patient)
    patient.repair()
    assert name not in names(patient)


def test_damaged_lines_of_packed_refs_are_named_and_the_others_kept(patient: Patient) -> None:
    packed = patient.repo / "packed-refs"
    tip = git(patient.repo, "rev-parse", "release~1")
    packed.write_text(f"{tip} refs/heads/other\nbroken line\n", encoding="utf-8")
    assert "packed-refs" in names(patient)
    patient.repair()
    assert git(patient.repo, "rev-parse", "other") == tip
    assert patient.fsck()


def test_a_ref_to_a_missing_object_is_named(patient: Patient) -> None:
    (patient.repo / "refs/heads/lost").write_text("1" * 40 + "\n", encoding="utf-8")
    (found,) = patient.check()
    assert found.place == f"object {'1' * 40}"
    assert "refs/heads/lost" in found.meaning


@pytest.mark.parametrize("name", ["refs/heads/release.lock", "packed-refs.lock", "config.lock", "HEAD.lock"])
def test_a_stale_lock_is_named_and_moved_away(patient: Patient, name: str) -> None:
    lock = patient.repo / name
    lock.touch()
    assert patient.check() == [], "a new lock is that of a running git"
    _age(lock, HOUR)
    assert [(each.code, each.place) for each in patient.check()] == [("stale_lock", name)]
    patient.repair()
    assert not lock.exists()


@pytest.mark.parametrize("name", ["objects/tmp_obj_x", "objects/pack/tmp_pack_x", "objects/pack/.tmp-1-pack-x.pack"])
def test_leftovers_are_named_and_moved_away(patient: Patient, name: str) -> None:
    left = patient.repo / name
    left.write_bytes(b"half")
    assert patient.check() == [], "a new one is being written"
    _age(left, 2 * DAY)
    assert [(each.code, each.place) for each in patient.check()] == [("leftover", name)]
    patient.repair()
    assert not left.exists()
    assert [path.read_bytes() for path in (patient.root / REMOVED).rglob(left.name)] == [b"half"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("HEAD", "head_damaged"), ("config", "config_damaged")],
)
def test_the_files_of_the_layout_are_written_again(patient: Patient, name: str, code: str) -> None:
    for damage in (Path.unlink, lambda path: path.write_bytes(b"\0\0[")):
        damage(patient.repo / name)
        assert code in patient.codes()
        patient.repair()
        assert patient.fsck()
        assert patient.check() == []


def test_lost_folders_are_named(patient: Patient) -> None:
    shutil.rmtree(patient.repo / "refs")
    assert {"folder_missing"} <= patient.codes()
    shutil.rmtree(patient.repo)
    assert patient.codes() == {"repository_missing"}


def test_a_release_that_was_moved_back_is_named_and_left_alone(patient: Patient) -> None:
    git(patient.repo, "update-ref", "refs/heads/release", "release~1")
    tip = patient.place.tip
    assert "release_rewound" in patient.codes()
    patient.repair()
    assert patient.place.tip == tip


@pytest.mark.parametrize(
    "write",
    [
        lambda repo: git(repo, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=b"tree x\n\nno\n"),
        lambda repo: git(
            repo, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=b"100644 .git\0" + b"1" * 20
        ),
        lambda repo: git(repo, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=b"no tree"),
    ],
)
def test_malformed_objects_are_named_as_by_git(patient: Patient, write: Callable[[Path], str]) -> None:
    object_id = write(patient.repo)
    assert not patient.fsck()
    (found,) = patient.check()
    assert (found.code, found.place) == ("object_malformed", f"object {object_id}")


def test_a_damaged_cache_of_git_is_moved_away(patient: Patient) -> None:
    git(patient.repo, "multi-pack-index", "write")
    flip(patient.pack("multi-pack-index"), 40)
    assert patient.codes() == {"cache_damaged"}
    patient.repair()
    assert patient.fsck()


@pytest.mark.parametrize("folder", ["manifests", "releases"])
def test_damaged_compiled_files_are_named_and_built_again(patient: Patient, folder: str) -> None:
    before = patient.place.targets()
    for path in (patient.place.paths.compiled / folder).iterdir():
        flip(path, path.stat().st_size - 3)
    assert patient.codes() == {"compiled_damaged"}
    patient.repair()
    assert patient.place.targets() == before
    assert patient.check() == []


def test_a_damaged_record_of_the_served_commit_is_named_and_written_again(patient: Patient) -> None:
    patient.place.paths.served.write_bytes(b"nothing")
    assert patient.codes() == {"served_damaged"}
    patient.repair()
    assert patient.check() == []
    git(patient.repo, "update-ref", "refs/heads/release", "release~1")
    assert "release_rewound" in patient.codes()


def test_a_lost_marker_is_written_again(patient: Patient) -> None:
    patient.place.paths.marker.unlink()
    assert patient.codes() == {"marker_missing"}
    patient.repair()
    assert patient.place.paths.marker.exists()


def test_an_invalid_push_is_named_with_its_project(patient: Patient) -> None:
    patient.place.push({"shop/redirects.yaml": "redirects: nothing\n"})
    patient.place.store.releases.project("acme", "shop")
    (found,) = [each for each in patient.check() if each.is_open]
    assert (found.code, found.namespace) == ("invalid_content", "acme")
    assert "shop, publish" in found.place


def test_nothing_is_reported_or_harmed_beside_publishes(patient: Patient) -> None:
    for number in range(3):
        patient.place.publish(put(redirect(f"/beside-{number}")))
        assert [each for each in patient.check() if each.is_open] == []


def _age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_the_places_are_paths_in_the_repository(patient: Patient) -> None:
    flip(patient.object_files()[0], 30)
    assert all(re.match(r"objects?[ /]", place) for place in names(patient))
