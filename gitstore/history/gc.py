"""The clean-up of compiled files that are no longer needed. All are caches: one removed too early is built again.

Files are removed under the repository's lock, so that no publish that relies on one is under way. Readers keep their maps
of removed files as long as they want; a reader that comes too late for a file compiles it again.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from gitstore.compiled.manifest import Manifest, list_manifests, manifest_path
from gitstore.compiled.release import release_path
from gitstore.compiled.segment_store import SEGMENT_SUFFIX
from gitstore.compiled.served_record import load_served_manifest
from gitstore.directory import NamespacePaths
from gitstore.git.atomic_io import TEMPORARY_PREFIX
from gitstore.git.lock import hold

# Releases besides the served ones: for walks over the previous version, and for rollbacks without delay.
KEPT_RELEASES = 8
KEPT_MANIFESTS = 50
KEPT_BYTES = 2 << 30  # for a namespace's archive: 100,000 publishes of a file of 500 rules
_DAY = 86_400
_MAX_SEGMENT_AGE = 7 * _DAY
_TEMPORARY_AGE = 3_600
_REMOVED_AT_ONCE = 200  # 5 ms under the lock
_DAILY_MARK = "cleaned"


def clean_releases(paths: NamespacePaths, manifest: Manifest) -> None:
    """Remove all but the releases in the manifest, those served last, and a few of the newest others."""
    recorded = load_served_manifest(paths)
    used = [manifest, *([recorded] if recorded else [])]
    served = {
        release_path(paths.releases, entry.tree) for each in used for entry in each.projects.values() if entry.tree
    }
    releases = (file for file in paths.releases.glob("*") if not file.name.startswith(TEMPORARY_PREFIX))
    _keep_newest(releases, KEPT_RELEASES, served)
    _keep_newest(
        list_manifests(paths.manifests), KEPT_MANIFESTS, {manifest_path(paths.manifests, each.commit) for each in used}
    )


def is_clean_up_due(paths: NamespacePaths) -> bool:
    """Tell whether the last daily clean-up was a day ago; the first comes a day after the namespace was created."""
    mark = paths.compiled / _DAILY_MARK
    return _DAY <= _age(mark if mark.exists() else paths.marker) < float("inf")


def clean_daily(paths: NamespacePaths) -> None:
    """Remove, once a day: segments unused for a week, archived ones beyond `KEPT_BYTES`, and leftovers of crashes.

    The files are found without the lock, and removed under it, a few at a time.
    """
    mark = paths.compiled / _DAILY_MARK
    if _age(mark) < _DAY:
        return
    mark.touch()
    temporary = f"{TEMPORARY_PREFIX}*"
    unfinished = chain(paths.compiled.rglob(temporary), paths.repository.rglob(temporary))
    _remove(paths, _older(paths.segments.glob("*/*"), _MAX_SEGMENT_AGE), _MAX_SEGMENT_AGE)
    _remove(paths, _beyond(paths.archive.glob("*/*"), KEPT_BYTES))
    _remove(paths, _older(unfinished, _TEMPORARY_AGE), _TEMPORARY_AGE)


def _remove(paths: NamespacePaths, files: Sequence[Path], age: float = 0.0) -> None:
    """Remove files that are still older than `age`, so many at a time that no publish waits for long."""
    for at in range(0, len(files), _REMOVED_AT_ONCE):
        with hold(paths.repository):
            for file in _older(files[at : at + _REMOVED_AT_ONCE], age):
                with suppress(OSError):  # already gone, or a folder: nothing to do
                    file.unlink()


def _keep_newest(files: Iterable[Path], count: int, always: Collection[Path]) -> None:
    others = sorted((file for file in files if file not in always), key=_age)
    for file in others[count:]:
        file.unlink(missing_ok=True)


def _beyond(files: Iterable[Path], most: int) -> list[Path]:
    """Return archived segments of other formats, and the oldest ones that are too much for `most` bytes."""
    found = [(file.stat(), file) for file in files if not file.name.startswith(TEMPORARY_PREFIX)]
    room = most
    beyond = []
    for status, file in sorted(found, key=lambda each: each[0].st_mtime_ns, reverse=True):
        # st_blocks counts units of 512 bytes: https://man7.org/linux/man-pages/man3/stat.3type.html
        room -= status.st_blocks * 512 if file.suffix == SEGMENT_SUFFIX else 0
        if room < 0 or file.suffix != SEGMENT_SUFFIX:
            beyond.append(file)
    return beyond


def _older(files: Iterable[Path], age: float) -> list[Path]:
    return [file for file in files if age <= _age(file) < float("inf")]


def _age(file: Path) -> float:
    """Return the seconds since the file was written; infinite if it does not exist."""
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
