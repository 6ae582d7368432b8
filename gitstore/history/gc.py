"""The clean-up of compiled files that are no longer needed. All are caches: one removed too early is built again.

It runs under the repository's lock, after each publish, so that it never meets a publish that relies on a file. Readers
keep their maps of removed files as long as they want; a reader that comes too late for a file compiles it again.
"""

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path

from gitstore.compiled.manifest import Manifest, list_manifests, manifest_path
from gitstore.compiled.release import release_path
from gitstore.compiled.segment_store import SEGMENT_SUFFIX
from gitstore.compiled.served_record import load_served_manifest
from gitstore.directory import NamespacePaths
from gitstore.git.atomic_io import TEMPORARY_PREFIX, replace_file

# Releases besides the served ones: for walks over the previous version, and for rollbacks without delay.
KEPT_RELEASES = 8
KEPT_MANIFESTS = 50
# With more projects than a few, the clean-up waits for as many publishes as there are times so many, or for so many bytes.
_FEW_PROJECTS = 20
_MOST_PUT_OFF = 100 << 20
KEPT_BYTES = 2 << 30  # for a namespace's archive: 100,000 publishes of a file of 500 rules
_DAY = 86_400
_MAX_SEGMENT_AGE = 7 * _DAY
_TEMPORARY_AGE = 3_600
_DAILY_MARK = "cleaned"


def clean_releases(paths: NamespacePaths, manifest: Manifest, project: str) -> None:
    """Remove all but the releases in the manifest, those served last, and a few of the newest others.

    `project` was published. Among many projects that is done only every so often: it looks at the file of each one.
    """
    if _is_put_off(paths, manifest, project):
        return
    recorded = load_served_manifest(paths)
    used = [manifest, *([recorded] if recorded and recorded.commit != manifest.commit else [])]
    served = {
        release_path(paths.releases, entry.tree).name for each in used for entry in each.projects.values() if entry.tree
    }
    releases = (file for file in paths.releases.iterdir() if not file.name.startswith(TEMPORARY_PREFIX))
    _keep_newest(releases, KEPT_RELEASES, served)
    chains = {commit for each in used for commit in (each.commit, *each.chain)}
    kept = {manifest_path(paths.manifests, commit).name for commit in chains}
    _keep_newest(list_manifests(paths.manifests), KEPT_MANIFESTS, kept)


def _is_put_off(paths: NamespacePaths, manifest: Manifest, project: str) -> bool:
    """Tell whether the clean-up can wait for later publishes, and note the size of this one."""
    if len(manifest.projects) <= _FEW_PROJECTS:
        return False
    entry = manifest.projects.get(project)
    size = _size(release_path(paths.releases, entry.tree)) if entry and entry.tree else 0
    publishes, total = _read_put_off(paths.put_off)
    publishes, total = publishes + 1, total + size
    is_put_off = publishes <= len(manifest.projects) // _FEW_PROJECTS and total <= _MOST_PUT_OFF
    replace_file(paths.put_off, b"%d %d" % ((publishes, total) if is_put_off else (0, 0)), sync=False)
    return is_put_off


def _read_put_off(path: Path) -> tuple[int, int]:
    """Return the number of publishes since the last clean-up, and the bytes of their releases."""
    with suppress(OSError, ValueError):  # missing or damaged: as good as none
        publishes, total = map(int, path.read_bytes().split())
        return publishes, total
    return 0, 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def clean_daily(paths: NamespacePaths) -> None:
    """Remove, once a day: segments unused for a week, archived ones beyond `KEPT_BYTES`, and leftovers of crashes."""
    mark = paths.compiled / _DAILY_MARK
    if _age(mark) < _DAY:
        return
    mark.touch()
    _remove_older(paths.segments.glob("*/*"), _MAX_SEGMENT_AGE)
    _remove_beyond(paths.archive.glob("*/*"), KEPT_BYTES)
    temporary = f"{TEMPORARY_PREFIX}*"
    _remove_older(chain(paths.compiled.rglob(temporary), paths.repository.rglob(temporary)), _TEMPORARY_AGE)


def _keep_newest(files: Iterable[Path], count: int, always: Collection[str]) -> None:
    others = sorted((file for file in files if file.name not in always), key=_age)
    for file in others[count:]:
        file.unlink(missing_ok=True)


def _remove_beyond(files: Iterable[Path], most: int) -> None:
    """Remove archived segments of other formats, and then the oldest ones, until the rest fits."""
    found = [(file.stat(), file) for file in files if not file.name.startswith(TEMPORARY_PREFIX)]
    room = most
    for status, file in sorted(found, key=lambda each: each[0].st_mtime_ns, reverse=True):
        # st_blocks counts units of 512 bytes: https://man7.org/linux/man-pages/man3/stat.3type.html
        room -= status.st_blocks * 512 if file.suffix == SEGMENT_SUFFIX else 0
        if room < 0 or file.suffix != SEGMENT_SUFFIX:
            file.unlink(missing_ok=True)


def _remove_older(files: Iterable[Path], age: float) -> None:
    for file in list(files):
        if age < _age(file) < float("inf"):
            with suppress(OSError):  # already gone, or a folder: nothing to do
                file.unlink()


def _age(file: Path) -> float:
    """Return the seconds since the file was written; infinite if it does not exist."""
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
