"""Removing compiled files that nothing needs any more. All of them are caches: one too many removed is made again.

Runs under the repository's lock, after each publish, so that it never meets a publish that relies on a file. Readers
hold their maps of removed files as long as they want; whoever comes too late for one compiles it again.
"""

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path

from gitstore.directory import NamespacePaths
from gitstore.durable import TEMPORARY_PREFIX
from gitstore.manifest import Manifest, known_manifests
from gitstore.part_store import PART_SUFFIX
from gitstore.release import release_path

KEPT_RELEASES = 8
"""Releases besides those that are served: for walks over the version before, and for rolling back in no time."""
KEPT_MANIFESTS = 50
KEPT_BYTES = 2 << 30
"""What packed parts of a namespace may take together: those of 100,000 publishes of a file of 500 rules."""
_DAY = 86_400
_PART_AGE = 7 * _DAY
_TEMPORARY_AGE = 3_600
_DAILY_MARK = "cleaned"


def clean_releases(paths: NamespacePaths, manifest: Manifest) -> None:
    """Keep what the manifest names and a few of the newest others."""
    served = {release_path(paths.releases, entry.tree) for entry in manifest.projects.values() if entry.tree}
    releases = (file for file in paths.releases.glob("*") if not file.name.startswith(TEMPORARY_PREFIX))
    _keep_newest(releases, KEPT_RELEASES, served)
    _keep_newest(known_manifests(paths.manifests), KEPT_MANIFESTS, ())


def clean_daily(paths: NamespacePaths) -> None:
    """Once a day: parts that were not looked at for a week, packed ones beyond `KEPT_BYTES`, and what crashes left."""
    mark = paths.compiled / _DAILY_MARK
    if _age(mark) < _DAY:
        return
    mark.touch()
    _remove_older(paths.parts.glob("*/*"), _PART_AGE)
    _remove_beyond(paths.kept.glob("*/*"), KEPT_BYTES)
    temporary = f"{TEMPORARY_PREFIX}*"
    _remove_older(chain(paths.compiled.rglob(temporary), paths.repository.rglob(temporary)), _TEMPORARY_AGE)


def _keep_newest(files: Iterable[Path], count: int, always: Collection[Path]) -> None:
    others = sorted((file for file in files if file not in always), key=_age)
    for file in others[count:]:
        file.unlink(missing_ok=True)


def _remove_beyond(files: Iterable[Path], most: int) -> None:
    """Remove packed parts that no program of today reads, and of the others the oldest, until they fit."""
    found = [(file.stat(), file) for file in files if not file.name.startswith(TEMPORARY_PREFIX)]
    room = most
    for status, file in sorted(found, key=lambda each: each[0].st_mtime_ns, reverse=True):
        room -= status.st_blocks * 512 if file.suffix == PART_SUFFIX else 0
        if room < 0 or file.suffix != PART_SUFFIX:
            file.unlink(missing_ok=True)


def _remove_older(files: Iterable[Path], age: float) -> None:
    for file in list(files):
        if age < _age(file) < float("inf"):
            with suppress(OSError):  # gone already, or a folder: either way not ours to mend
                file.unlink()


def _age(file: Path) -> float:
    """Seconds since the file was written; infinite where it is not there."""
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
