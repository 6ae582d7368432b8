"""Compiled files that nothing needs go; those in use stay, and those that are missed come back."""

import os
import time
from pathlib import Path

from content.vocabulary import Kind
from gitstore.cleaning import KEPT_MANIFESTS, KEPT_RELEASES, clean_daily
from gitstore.durable import TEMPORARY_PREFIX
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
