"""The copy of an upstream's repository that a followed folder is read from: made, packed, and made again once it is large."""

import os
import shutil
from pathlib import Path

from gitstore.file_lock import hold_lock_file
from gitstore.git.object_log import empty_log, is_log_due
from gitstore.git.packs.packing import hold_packing, is_packing_due, pack_loose
from gitstore.git.repository_creation import init_repository

_LOCK_FILE = "waypost-folder.lock"
_SIZE_FILE = "waypost-first-size"  # bytes of the cache after its first fetch
_MOST_GROWTH = 3  # times that size, beyond which what gone branches left behind is worth a fresh fetch
_ROOM = 64 << 20  # bytes by which every cache may grow


def create_cache(cache: Path) -> None:
    """Create the cache, unless it exists or another process creates it."""
    with hold_lock_file(cache.with_name(_LOCK_FILE)):
        if (cache / "HEAD").exists():
            return
        shutil.rmtree(cache, ignore_errors=True)
        making = cache.with_name(f"{cache.name}.new")
        shutil.rmtree(making, ignore_errors=True)
        init_repository(making)
        making.rename(cache)


def note_first_size(cache: Path) -> None:
    """Record what the first fetch brought."""
    (cache / _SIZE_FILE).write_text(str(_size(cache)), "ascii")


def keep_small(cache: Path) -> None:
    """Pack the objects of the cache once they are many; remove it once it has grown too much, to be fetched again."""
    if _has_grown(cache):
        shutil.rmtree(cache, ignore_errors=True)
        return
    if not is_packing_due(cache) and not is_log_due(cache):
        return
    with hold_packing(cache) as is_held:
        if is_held and is_packing_due(cache):
            pack_loose(cache)
        if is_held and is_log_due(cache):
            empty_log(cache)


def _has_grown(cache: Path) -> bool:
    """Tell whether a cache has much more than a fresh fetch brings; nothing in it is lost, since the upstream has it."""
    try:
        first = int((cache / _SIZE_FILE).read_text("ascii"))
    except (OSError, ValueError):
        return False
    return _size(cache) > _MOST_GROWTH * first + _ROOM


def _size(cache: Path) -> int:
    """Return the bytes of the packs of a cache; loose objects become one before they are many."""
    return sum(each.stat().st_size for each in os.scandir(cache / "objects" / "pack"))
