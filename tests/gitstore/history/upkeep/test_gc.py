"""Clean-up of compiled files: unused ones are removed, those in use stay, and missing ones are rebuilt."""

import os
import time
from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.compiled.releases.release_file import release_path
from gitstore.compiled.segments.segment_store import SEGMENT_SUFFIX
from gitstore.git.atomic_io import TEMPORARY_PREFIX
from gitstore.history.upkeep.gc import KEPT_MANIFESTS, KEPT_RELEASES, MOST_PUT_OFF, clean_daily
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, put, redirect

PUBLISHES = 20


def publish_many(place: Place, count: int = PUBLISHES) -> None:
    """Publish one rule each time."""
    for number in range(count):
        place.publish(put(redirect(f"/rule{number}")))


def sources(store: Store, word: str) -> list[str]:
    """Return the sources that a version serves."""
    _, release = store.releases.read(SPACE, SHOP, word)
    return [release.redirect(at).record.source for at in range(release.listings[Kind.REDIRECTS].total)]


def test_many_publishes_leave_few_files(place: Place) -> None:
    publish_many(place)
    paths = place.paths
    assert len(list(paths.releases.iterdir())) <= KEPT_RELEASES + MOST_PUT_OFF + 1
    assert len(list(paths.manifests.iterdir())) <= KEPT_MANIFESTS + MOST_PUT_OFF + 1


def test_what_is_served_is_never_removed(place: Place) -> None:
    """Look for the file before anyone asks for the project, which would compile it again."""
    place.begin("quiet")
    tree = Store(place.root).releases.project(SPACE, "quiet").entry.tree
    assert tree
    publish_many(place)
    assert release_path(place.paths.releases, tree).exists()
    assert Store(place.root).releases.project(SPACE, "quiet").entry.tree == tree


def test_a_version_whose_file_was_removed_is_served_again(place: Place) -> None:
    publish_many(place)
    assert sources(place.store, "3") == ["/rule0", "/rule1"]


def test_rolling_back_to_a_version_whose_file_was_removed(place: Place) -> None:
    publish_many(place)
    place.store.publishes.roll_back(SPACE, SHOP, "3", ADA)
    assert sources(Store(place.root), str(PUBLISHES + 2)) == ["/rule0", "/rule1"]


def test_an_open_map_survives_the_removal_of_its_file(place: Place) -> None:
    place.publish(put(redirect("/first")))
    held = place.store.releases.project(SPACE, SHOP).release
    publish_many(place)
    assert held.redirect(0).record.source == "/first"


def test_half_written_files_and_old_segments_are_removed_once_a_day(place: Place) -> None:
    place.publish(put(redirect("/first")))
    paths = place.paths
    (paths.compiled / "cleaned").unlink(missing_ok=True)
    old_part, young_part = paths.segments / "ab" / "old.1", paths.segments / "ab" / "young.1"
    half = paths.repository / "objects" / f"{TEMPORARY_PREFIX}half"
    for file, days in ((old_part, 8), (young_part, 1), (half, 1)):
        age(file, days)
    clean_daily(paths)
    assert [file.exists() for file in (old_part, young_part, half)] == [False, True, False]
    age(old_part, 8)
    clean_daily(paths)
    assert old_part.exists()


def age(file: Path, days: int) -> None:
    """Set the age of a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")
    then = time.time() - days * 86_400
    os.utime(file, (then, then))


def test_published_segments_stay_packed_when_their_files_are_removed(place: Place) -> None:
    """Guard: a rollback to a publish unused for a week needs no YAML; a draft that was never published may."""
    place.publish(put(redirect("/first")))
    place.save(put(redirect("/draft")))
    place.store.revisions.lint(SPACE, SHOP, "draft")
    paths = place.paths
    packed, segments = (sorted(file.name for file in folder.glob("*/*")) for folder in (paths.archive, paths.segments))
    assert set(packed) < set(segments)
    for file in paths.segments.glob("*/*"):
        age(file, 8)
    (paths.compiled / "cleaned").unlink(missing_ok=True)
    clean_daily(paths)
    assert list(paths.segments.glob("*/*")) == []
    assert sorted(file.name for file in paths.archive.glob("*/*")) == packed


def test_packed_segments_of_another_format_and_the_oldest_above_the_limit_are_removed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [place.paths.archive / "ab" / f"{name}{SEGMENT_SUFFIX}" for name in ("oldest", "older", "young")]
    other = place.paths.archive / "ab" / "young.0"
    for file, days in zip([*files, other], (30, 20, 10, 0), strict=True):
        age(file, days)
    size = files[0].stat().st_blocks * 512
    monkeypatch.setattr("gitstore.history.upkeep.gc.KEPT_BYTES", 2 * size + len(packed(place)) * size)
    (place.paths.compiled / "cleaned").unlink(missing_ok=True)
    clean_daily(place.paths)
    assert [file.exists() for file in [*files, other]] == [False, True, True, False]


def packed(place: Place) -> list[Path]:
    """Return the packed segments of publishes, each smaller than a block of the disk."""
    return [file for file in place.paths.archive.glob("*/*") if len(file.stem) == 38]
