"""The saves of a folder: each item says that its files may have changed, as soon as they stay as they are for a moment."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, watch

from gitstore.namespaces.working_directory import is_editor_file

_STEP_MILLISECONDS = 20
_DEBOUNCE_MILLISECONDS = 1_000
_TICK_MILLISECONDS = 100
_LOOK_SECONDS = 1.0
"""Seconds between two looks at the folder without any event: events can be lost, and a folder can be replaced."""
_SOON_SECONDS = 0.2
_LOOK_SHARE = 20  # of the time, at most one part for looks
_GIT_SECONDS = 5.0
_GIT_STEP = 0.01


def follow_saves(path: Path, list_folders: Callable[[], list[Path]]) -> Iterator[None]:
    """Yield whenever something may have changed in the folders, and now and then without a reason; never ends.

    The folders are watched one by one, so that no link is followed. They are listed again after each item.
    """
    while True:
        folders = [folder for folder in list_folders() if folder.is_dir()]
        try:
            yield from _follow(path, folders, list_folders) if folders else _pause()
        except (OSError, RuntimeError):  # a folder was removed, or the user has too many watches: look now and then
            yield from _pause()


def _follow(path: Path, folders: list[Path], list_folders: Callable[[], list[Path]]) -> Iterator[None]:
    """Yield until the folders are others."""
    identities = _identify(folders)
    events = watch(
        *folders,
        watch_filter=_matters,
        recursive=False,
        step=_STEP_MILLISECONDS,
        debounce=_DEBOUNCE_MILLISECONDS,
        rust_timeout=_TICK_MILLISECONDS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    look_at = time.monotonic() + _SOON_SECONDS  # what changed before the folders were watched
    for changes in events:
        if not changes and time.monotonic() < look_at:
            continue
        wait_for_git(path)
        begun = time.monotonic()
        yield
        look_at = begun + max(_LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - begun) if not changes else 0.0)
        if _identify(list_folders()) != identities:
            return


def _pause() -> Iterator[None]:
    time.sleep(_SOON_SECONDS)
    yield


def _identify(folders: list[Path]) -> set[tuple[Path, int, int]]:
    found = set()
    for folder in folders:
        with suppress(OSError):
            status = folder.lstat()
            found.add((folder, status.st_dev, status.st_ino))
    return found


def _matters(_change: Change, path: str) -> bool:
    return not is_editor_file(path)


def wait_for_git(path: Path) -> None:
    """Wait while Git changes the files, as in a checkout of another branch; a lock that a killed Git left is no reason."""
    lock = find_index_lock(path)
    until = time.monotonic() + _GIT_SECONDS
    while lock is not None and lock.exists() and time.monotonic() < until and _is_recent(lock):
        time.sleep(_GIT_STEP)


def _is_recent(lock: Path) -> bool:
    with suppress(OSError):
        return time.time() - lock.stat().st_mtime < _GIT_SECONDS
    return False


def find_index_lock(path: Path) -> Path | None:
    """Return the file with which Git locks the index of the working tree; None outside any."""
    for folder in (path, *path.parents):
        git = folder / ".git"
        if git.is_dir():
            return git / "index.lock"
        if git.is_file():  # of a linked working tree: https://git-scm.com/docs/gitrepository-layout
            with suppress(OSError, UnicodeDecodeError):
                return folder / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip() / "index.lock"
    return None
