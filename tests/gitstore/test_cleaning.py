"""Compiled files that nothing needs go; those in use stay, and those that are missed come back."""

import os
import time
from pathlib import Path

import pytest

from content.vocabulary import Kind
from gitstore.cleaning import KEPT_MANIFESTS, KEPT_RELEASES, clean_daily
from gitstore.durable import TEMPORARY_PREFIX
from gitstore.part_store import PART_SUFFIX
from gitstore.release import release_path
from gitstore.store import Store
from tests.gitstore.places import ADA, SHOP, SPACE, Place, put, redirect

PUBLISHES = 20


def publish_many(place: Place, count: int = PUBLISHES) -> None:
    """Publishes of one rule each."""
    for number in range(count):
        place.publish(put(redirect(f"/rule{number}")))


def sources(store: Store, word: str) -> list[str]:
    """What a version serves."""
    _, release = store.release(SPACE, SHOP, word)
    return [release.redirect(at).record.source for at in range(release.listings[Kind.REDIRECTS].total)]


def test_many_publishes_leave_few_files(place: Place) -> None:
    publish_many(place)
    paths = place.paths
    assert len(list(paths.releases.iterdir())) <= KEPT_RELEASES + 1
    assert len(list(paths.manifests.iterdir())) <= KEPT_MANIFESTS + 1


def test_what_is_served_is_never_removed(place: Place) -> None:
    place.begin("quiet")
    publish_many(place)
    quiet = Store(place.root).project(SPACE, "quiet")
    assert quiet.entry.tree
    assert release_path(place.paths.releases, quiet.entry.tree).exists()


def test_a_version_whose_file_was_removed_is_served_again(place: Place) -> None:
    publish_many(place)
    assert sources(place.store, "3") == ["/rule0", "/rule1"]


def test_rolling_back_to_a_version_whose_file_was_removed(place: Place) -> None:
    publish_many(place)
    place.store.roll_back(SPACE, SHOP, "3", ADA)
    assert sources(Store(place.root), str(PUBLISHES + 2)) == ["/rule0", "/rule1"]


def test_a_map_that_is_held_survives_the_removal_of_its_file(place: Place) -> None:
    place.publish(put(redirect("/first")))
    held = place.store.project(SPACE, SHOP).release
    publish_many(place)
    assert held.redirect(0).record.source == "/first"


def test_half_written_files_and_old_parts_go_once_a_day(place: Place) -> None:
    place.publish(put(redirect("/first")))
    paths = place.paths
    (paths.compiled / "cleaned").unlink(missing_ok=True)
    old_part, young_part = paths.parts / "ab" / "old.1", paths.parts / "ab" / "young.1"
    half = paths.repository / "objects" / f"{TEMPORARY_PREFIX}half"
    for file, days in ((old_part, 8), (young_part, 1), (half, 1)):
        age(file, days)
    clean_daily(paths)
    assert [file.exists() for file in (old_part, young_part, half)] == [False, True, False]
    age(old_part, 8)
    clean_daily(paths)
    assert old_part.exists()


def age(file: Path, days: int) -> None:
    """Make a file that is so old."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")
    then = time.time() - days * 86_400
    os.utime(file, (then, then))


def test_what_was_published_stays_packed_when_its_parts_go(place: Place) -> None:
    """Guard: a rollback to what nobody looked at for a week needs no YAML; a draft that was never published may."""
    place.publish(put(redirect("/first")))
    place.save(put(redirect("/draft")))
    place.store.lint(SPACE, SHOP, "draft")
    paths = place.paths
    packed, parts = (sorted(file.name for file in folder.glob("*/*")) for folder in (paths.kept, paths.parts))
    assert set(packed) < set(parts)
    for file in paths.parts.glob("*/*"):
        age(file, 8)
    (paths.compiled / "cleaned").unlink(missing_ok=True)
    clean_daily(paths)
    assert list(paths.parts.glob("*/*")) == []
    assert sorted(file.name for file in paths.kept.glob("*/*")) == packed


def test_packed_parts_of_another_format_go_and_the_oldest_beyond_what_they_may_take(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [place.paths.kept / "ab" / f"{name}{PART_SUFFIX}" for name in ("oldest", "older", "young")]
    other = place.paths.kept / "ab" / "young.0"
    for file, days in zip([*files, other], (30, 20, 10, 0), strict=True):
        age(file, days)
    size = files[0].stat().st_blocks * 512
    monkeypatch.setattr("gitstore.cleaning.KEPT_BYTES", 2 * size + len(packed(place)) * size)
    (place.paths.compiled / "cleaned").unlink(missing_ok=True)
    clean_daily(place.paths)
    assert [file.exists() for file in [*files, other]] == [False, True, True, False]


def packed(place: Place) -> list[Path]:
    """The packed parts that publishes made, each smaller than a block of the disk."""
    return [file for file in place.paths.kept.glob("*/*") if len(file.stem) == 38]
