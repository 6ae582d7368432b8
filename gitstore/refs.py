"""Reading and moving refs: the only module that changes what a branch points to."""

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dulwich.errors import FileFormatException
from dulwich.file import FileLocked
from dulwich.objects import ZERO_SHA, ObjectID
from dulwich.refs import DiskRefsContainer, Ref, check_ref_format

from gitstore.durable import sync_directory, translated
from gitstore.errors import AlreadyExists, Broken, Busy, LostRace
from gitstore.half_written import let_go
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, CommitId
from gitstore.lock import PACKED_REFS, RepositoryLock

_HEX = re.compile(r"[0-9a-f]{40}")
_GIT_LOCK_WAIT = 1.0
_LONGEST_REF, _LONGEST_NAME = 1_000, 250
"""Bytes: of a whole ref, and of each folder of it, with room for Git's `.lock`."""
_POLL_SECONDS = 0.005


class Signature(NamedTuple):
    """What `stat` says of the files that a ref can stand in; a ref that moved changes it."""

    loose: tuple[int, int, int] | None
    packed: tuple[int, int, int] | None


def signature(repository: Path | str, ref: str) -> Signature:
    """The signature of a ref now: one `stat`, about 2 microseconds; a second one only where the ref has no file.

    A ref's own file goes before what packed-refs says of it, so while there is one nothing else matters.
    """
    loose = _stat(f"{repository}/{ref}")
    return Signature(loose, None if loose else _stat(f"{repository}/{PACKED_REFS}"))


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - the hot path: pathlib takes four times as long
    except OSError:  # gone, or out of reach: whoever reads the ref then finds out which
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def read_ref(repository: Path, ref: str) -> CommitId | None:
    """The commit that a ref names, or None where there is no such ref; Broken where it holds something else."""
    try:
        text = (repository / ref).read_text("ascii", "replace").strip()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return _packed_refs(repository).get(ref)
    if not _HEX.fullmatch(text):
        raise Broken(f"The ref {ref} of {repository.name} is damaged: it does not name a commit.")
    return CommitId(text)


def is_branch_ref(ref: str) -> bool:
    """Tell whether the text may be the ref of a branch: what Git allows, and a file system can name."""
    try:
        name = ref.encode()
    except UnicodeEncodeError:
        return False
    short = len(name) <= _LONGEST_REF and all(len(part) <= _LONGEST_NAME for part in name.split(b"/"))
    return short and ref.startswith(BRANCH_PREFIX) and check_ref_format(Ref(name))


def list_drafts(repository: Path, project: str) -> list[str]:
    """The names of a project's drafts, also of one whose branch is damaged."""
    prefix = f"{DRAFT_PREFIX}{project}/"
    packed = {ref.removeprefix(prefix) for ref in _packed_refs(repository) if ref.startswith(prefix)}
    loose = {path.name for path in (repository / prefix).glob("*") if path.suffix != ".lock" and not path.is_dir()}
    return sorted(packed | loose)


def _packed_refs(repository: Path) -> dict[str, CommitId]:
    try:
        text = (repository / PACKED_REFS).read_text("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    rows = [line.partition(" ") for line in text.splitlines() if line and line[0] not in "#^"]
    if not all(_HEX.fullmatch(row[0]) and row[2].startswith("refs/") for row in rows):
        raise Broken(f"The file {PACKED_REFS} of {repository.name} is damaged.")
    return {row[2]: CommitId(row[0]) for row in rows}


def move_ref(repository: Path, lock: RepositoryLock, ref: str, old: CommitId | None, new: CommitId) -> None:
    """Move a ref from `old` (None: it must not exist) to `new`, durably; LostRace where it stands elsewhere.

    This is the commit point of every change. The objects that `new` needs are already on disk and synced.
    """
    expected = ObjectID(old.encode()) if old else ZERO_SHA
    refs = DiskRefsContainer(repository)
    name, wanted = Ref(ref.encode()), ObjectID(new.encode())
    done = _swap(repository, lock, (ref,), lambda: refs.set_if_equals(name, expected, wanted))
    if not done:
        raise LostRace(f"Somebody else moved {ref} first. Nothing was changed; read it again and retry.")
    _sync_folders(repository, ref, is_new=old is None)


def remove_ref(repository: Path, lock: RepositoryLock, ref: str, old: CommitId | None) -> None:
    """Remove a ref that still stands at `old`, or (None) wherever it stands; LostRace where it stands elsewhere."""
    refs = DiskRefsContainer(repository)
    name, expected = Ref(ref.encode()), ObjectID(old.encode()) if old else None
    # With packed-refs: a removal that finds it held stops half way, with an older value of the ref in force again.
    done = _swap(repository, lock, (ref, PACKED_REFS), lambda: refs.remove_if_equals(name, expected))
    if not done:
        raise LostRace(f"Somebody else moved {ref} first. Nothing was changed; read it again and retry.")


def _sync_folders(repository: Path, ref: str, *, is_new: bool) -> None:
    """Make a ref's name durable, and those of the folders that may have been made for it."""
    folder = (repository / ref).parent
    sync_directory(folder)
    while is_new and folder != repository:
        folder = folder.parent
        sync_directory(folder)


def _swap(repository: Path, lock: RepositoryLock, names: Sequence[str], change: Callable[[], bool]) -> bool:
    """One compare-and-swap that locks `names`; waits a second for a git that holds one, and leaves no lock behind."""
    deadline = time.monotonic() + _GIT_LOCK_WAIT
    while True:
        lock.sweep(*names)
        with suppress(FileLocked):  # taken since it was looked at
            if lock.is_free(*names):
                return _change(repository, lock, names, change)
        if time.monotonic() >= deadline:
            raise Busy(f"A git process holds {' or '.join(names)}. Try again in a moment.")
        time.sleep(_POLL_SECONDS)


def _change(repository: Path, lock: RepositoryLock, names: Sequence[str], change: Callable[[], bool]) -> bool:
    try:
        with lock.moving(*names):
            return change()
    except FileNotFoundError:
        return False
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as ex:
        raise AlreadyExists(
            f"Another branch stands in the way of {names[0]}. Rename or remove it in Git first."
        ) from ex
    except FileFormatException as ex:
        raise Broken(f"The file {PACKED_REFS} of {repository.name} is damaged.") from ex
    except OSError as ex:
        let_go(ex)
        (repository / f"{names[0]}.lock").unlink(missing_ok=True)
        raise translated(ex) from ex
