"""The clean-up of compiled files that are no longer needed. All are caches: one removed too early is built again.

Files are removed under the repository's lock, so that no publish that relies on one is under way. Readers keep their maps
of removed files as long as they want; a reader that comes too late for a file compiles it again.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from gitstore.compiled.indexes.manifest import Manifest, list_manifests, manifest_path
from gitstore.compiled.indexes.served_record import load_served_manifest
from gitstore.compiled.releases.release_file import read_base_name, release_names, release_path
from gitstore.compiled.segments.segment_store import SEGMENT_SUFFIX
from gitstore.directory import NamespacePaths
from gitstore.git.atomic_io import TEMPORARY_PREFIX, replace_file
from gitstore.git.lock import hold
from gitstore.wire.packs.kept_packs import remove_old

# Releases besides the served ones: for walks over the previous version, and for rollbacks without delay.
KEPT_RELEASES = 8
KEPT_MANIFESTS = 50
# The clean-up waits for so many publishes, or a twentieth of the projects, or for so many bytes.
MOST_PUT_OFF = 8
_PROJECTS_PER_PUBLISH = 20
_MOST_BYTES_PUT_OFF = 100 << 20
KEPT_BYTES = 2 << 30  # for a namespace's archive: 100,000 publishes of a file of 500 rules
_DAY = 86_400
_MAX_SEGMENT_AGE = 7 * _DAY
_TEMPORARY_AGE = 3_600
_REMOVED_AT_ONCE = 200  # 5 ms under the lock
_DAILY_MARK = "cleaned"


def clean_releases(paths: NamespacePaths, manifest: Manifest, project: str) -> None:
    """Remove all but the releases in the manifest, those served last, and a few of the newest others.

    `project` was published. It is done only every so often, since it looks at the file of each project.
    """
    if _is_put_off(paths, manifest, project):
        return
    recorded = load_served_manifest(paths)
    used = [manifest, *([recorded] if recorded and recorded.commit != manifest.commit else [])]
    served = {
        name for each in used for entry in each.projects.values() if entry.tree for name in release_names(entry.tree)
    }
    _clean_releases(paths.releases, served)
    chains = {commit for each in used for commit in (each.commit, *each.chain)}
    kept = {manifest_path(paths.manifests, commit).name for commit in chains}
    _keep_newest(list_manifests(paths.manifests), KEPT_MANIFESTS, kept)


def _clean_releases(folder: Path, served: Collection[str]) -> None:
    """Remove all releases but the served ones, a few of the newest others, and the bases of both."""
    found = [file for file in folder.iterdir() if not file.name.startswith(TEMPORARY_PREFIX)]
    bases = {file: base for file in found if (base := read_base_name(file))}
    of_served = {bases[file] for file in bases if file.name in served}
    others = sorted((file for file in found if file.name not in {*served, *of_served}), key=_age)
    kept = {bases[file] for file in others[:KEPT_RELEASES] if file in bases}
    for file in others[KEPT_RELEASES:]:
        if file.name not in kept:
            file.unlink(missing_ok=True)


def _is_put_off(paths: NamespacePaths, manifest: Manifest, project: str) -> bool:
    """Tell whether the clean-up can wait for later publishes, and note the size of this one."""
    entry = manifest.projects.get(project)
    size = _size(release_path(paths.releases, entry.tree)) if entry and entry.tree else 0
    publishes, total = _read_put_off(paths.put_off)
    publishes, total = publishes + 1, total + size
    most = max(MOST_PUT_OFF, len(manifest.projects) // _PROJECTS_PER_PUBLISH)
    is_put_off = publishes <= most and total <= _MOST_BYTES_PUT_OFF
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


def is_clean_up_due(paths: NamespacePaths) -> bool:
    """Tell whether the last daily clean-up was a day ago; the first comes a day after the namespace was created."""
    mark = paths.compiled / _DAILY_MARK
    return _DAY <= _age(mark if mark.exists() else paths.marker) < float("inf")


def clean_daily(paths: NamespacePaths) -> None:
    """Remove, once a day: segments, outlines and packs of clones unused for a week, archives beyond `KEPT_BYTES`, and leftovers.

    The files are found without the lock, and removed under it, a few at a time.
    """
    mark = paths.compiled / _DAILY_MARK
    if _age(mark) < _DAY:
        return
    mark.touch()
    temporary = f"{TEMPORARY_PREFIX}*"
    unfinished = chain(paths.compiled.rglob(temporary), paths.repository.rglob(temporary))
    _remove(paths, _older(paths.segments.glob("*/*"), _MAX_SEGMENT_AGE), _MAX_SEGMENT_AGE)
    _remove(paths, _older(paths.outlines.glob("*/*"), _MAX_SEGMENT_AGE), _MAX_SEGMENT_AGE)
    _remove(paths, _beyond(paths.archive.glob("*/*"), KEPT_BYTES))
    _remove(paths, _older(unfinished, _TEMPORARY_AGE), _TEMPORARY_AGE)
    remove_old(paths.clones)


def _remove(paths: NamespacePaths, files: Sequence[Path], age: float = 0.0) -> None:
    """Remove files that are still older than `age`, so many at a time that no publish waits for long."""
    for at in range(0, len(files), _REMOVED_AT_ONCE):
        with hold(paths.repository):
            for file in _older(files[at : at + _REMOVED_AT_ONCE], age):
                with suppress(OSError):  # already gone, or a folder: nothing to do
                    file.unlink()


def _keep_newest(files: Iterable[Path], count: int, always: Collection[str]) -> None:
    others = sorted((file for file in files if file.name not in always), key=_age)
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
