"""Moves of several refs: their locks are taken and their values compared first, then each ref moves, or none of them.

All or nothing survives a kill and a power cut: the moves are noted in a durable file before the first ref moves, and the
next holder of the repository's lock finishes them. C git sees each ref move by itself, as with its own `push --atomic`.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gitstore.errors import AlreadyExists, Broken, Busy, LostRace, OutOfSpace, StoreError, is_disk_full
from gitstore.git import refs
from gitstore.git.after_commit import report_tolerated, sync_after_commit
from gitstore.git.atomic_io import replace_file, sync_directory, write_all
from gitstore.git.lock import PACKED_REFS, RepositoryLock
from gitstore.layout import CommitId

JOURNAL = "waypost-moves"
_WAIT_SECONDS = 1.0  # for a git that holds the lock of a ref
_POLL_SECONDS = 0.005
_NONE = "0" * 40
_LEAST_PARTS = 2  # of a ref, as in `refs/stash`


class RefMove(NamedTuple):
    """The move of one ref; `old` is None for a new one, `new` is None for one that is removed."""

    ref: str
    old: CommitId | None
    new: CommitId | None


class PreparedMoves:
    """Moves whose locks are held. `failures` has the error of each ref that cannot move."""

    def __init__(self, repository: Path, lock: RepositoryLock, note: Callable[[str], None]) -> None:
        self.failures = dict[str, StoreError]()
        self._repository = repository
        self._lock = lock
        self._note = note
        self._held = list[RefMove]()
        self._packed = False  # the lock of packed-refs is held
        self._repacks = False  # and has what packed-refs will be
        self._is_written = False

    def prepare(self, moves: Sequence[RefMove]) -> None:
        """Take the lock of each ref and compare its value."""
        for move in moves:
            try:
                self._take(move)
            except (StoreError, OSError) as ex:
                self.failures[move.ref] = _as_store_error(move.ref, ex)
        removed = {move.ref for move in self._held if move.new is None}
        if removed:
            self._prepare_packed(removed)

    def _take(self, move: RefMove) -> None:
        path = self._repository / f"{move.ref}.lock"
        if move.new:
            self._require_no_conflict(move.ref)
            _remove_empty_folder(self._repository / move.ref)
        above = [folder for folder in path.parents if folder.is_relative_to(self._repository) and not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._create(move.ref)
        self._held.append(move)
        try:
            if above:
                sync_after_commit(*(folder.parent for folder in above))
            if refs.read_ref(self._repository, move.ref) != move.old:
                raise refs.moved_first(move.ref)
        except (StoreError, OSError):  # a ref that was not compared does not move
            self._free(move)
            raise

    def _require_no_conflict(self, ref: str) -> None:
        """Raise AlreadyExists where another ref is a folder above this one, or below it."""
        parts = ref.split("/")
        above = {"/".join(parts[:count]) for count in range(_LEAST_PARTS, len(parts))}
        taken = {held.ref for held in self._held if held.new}
        is_below = any(name.startswith(f"{ref}/") for name in taken) or refs.has_below(self._repository, ref)
        if is_below or above & taken or any(refs.read_ref(self._repository, name) for name in above):
            raise _blocked(ref)

    def _create(self, name: str) -> None:
        """Create the lock file of a ref, or of the packed refs; wait a moment for a git that holds it. Raises Busy."""
        path, deadline = self._repository / f"{name}.lock", time.monotonic() + _WAIT_SECONDS
        while True:
            self._lock.sweep(name)
            if self._lock.is_free(name):
                self._note(name)
                with suppress(FileExistsError):
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
                    return
            if time.monotonic() >= deadline:
                raise Busy(f"A git process holds {name}. Try again in a moment.")
            time.sleep(_POLL_SECONDS)

    def _prepare_packed(self, removed: set[str]) -> None:
        """Write the packed refs without those that are removed, under their lock."""
        path = self._repository / PACKED_REFS
        try:
            self._create(
                PACKED_REFS
            )  # held to the end also if nothing in it changes: git must not pack a ref that goes
            self._packed = True
            data = path.read_bytes() if path.exists() else b""
            left = refs.without_refs(data, removed)
            if left != data:
                _write(self._lock_file(PACKED_REFS), left)
                self._repacks = True
        except (Busy, OSError) as ex:
            for move in [move for move in self._held if move.ref in removed]:
                self._fail(move, ex)
            self._free_packed()

    def find_move(self, ref: str) -> RefMove | None:
        """Return the move of a ref, if it can be made."""
        return next((move for move in self._held if move.ref == ref), None)

    def write(self) -> None:
        """Write the new values beside the refs, durably: what is left is to rename them, which needs no space."""
        if self._is_written:
            return
        self._is_written = True
        for move in [each for each in self._held if each.new]:
            try:
                _write(self._lock_file(move.ref), f"{move.new}\n".encode())
            except OSError as ex:
                self._fail(move, ex)

    def commit(self, *, is_atomic: bool) -> tuple[RefMove, ...]:
        """Move the refs, and return those that have moved; `failures` gets the others.

        With `is_atomic` all of them move or none: whatever fails after the first one is finished by the next writer.
        """
        self.write()
        if is_atomic and self.failures:
            return ()
        if not is_atomic or len(self._held) == 1:
            return self._move_all()
        meant = tuple(self._held)
        _write_journal(self._repository, meant)  # the commit point
        try:
            self._move_all()
        except OSError as ex:
            report_tolerated("moving refs that the next writer moves", ex)
        else:
            if not self.failures:
                _remove_journal(self._repository)
        self.failures.clear()
        return meant

    def _move_all(self) -> tuple[RefMove, ...]:
        """Move each ref whose lock is held: the commit point of a push that is not all or nothing."""
        if self._repacks:
            self._lock_file(PACKED_REFS).replace(self._repository / PACKED_REFS)
            self._packed = self._repacks = False
            sync_after_commit(self._repository)
        moved = list[RefMove]()
        for move in tuple(self._held):
            try:
                if move.new:
                    self._lock_file(move.ref).replace(self._repository / move.ref)
                    self._held.remove(move)
                else:
                    (self._repository / move.ref).unlink(missing_ok=True)
            except OSError as ex:
                self._fail(move, ex)
            else:
                moved.append(move)
        if moved:
            sync_after_commit(*{(self._repository / move.ref).parent for move in moved})
        return tuple(moved)

    def free(self) -> None:
        """Free the locks that are still held."""
        self._free_packed()
        for move in tuple(self._held):
            self._free(move)

    def _fail(self, move: RefMove, ex: Busy | OSError) -> None:
        self.failures[move.ref] = _as_store_error(move.ref, ex)
        self._free(move)

    def _free(self, move: RefMove) -> None:
        self._held.remove(move)
        with suppress(OSError):
            self._lock_file(move.ref).unlink()

    def _free_packed(self) -> None:
        self._repacks = False
        if self._packed:
            self._packed = False
            with suppress(OSError):
                self._lock_file(PACKED_REFS).unlink()

    def _lock_file(self, name: str) -> Path:
        return self._repository / f"{name}.lock"


@contextmanager
def prepare_moves(repository: Path, lock: RepositoryLock, moves: Sequence[RefMove]) -> Iterator[PreparedMoves]:
    """Take the locks of refs that are to move, and free them at the end."""
    with lock.moving_many() as note:
        found = PreparedMoves(repository, lock, note)
        try:
            found.prepare(moves)
            yield found
        finally:
            found.free()


def has_unfinished_moves(repository: Path) -> bool:
    """Tell whether a writer died while it moved several refs at once."""
    return (repository / JOURNAL).exists()


def finish_moves(repository: Path, lock: RepositoryLock) -> None:
    """Finish the moves that a dead writer has noted; a ref that is elsewhere by now stays there."""
    for line in filter(None, (repository / JOURNAL).read_text("utf-8").split("\n")):
        old, new, ref = line.split(" ", 2)
        with suppress(LostRace, Broken, AlreadyExists):  # Busy stays: the next writer tries again
            if new == _NONE:
                refs.remove_ref(repository, lock, ref, CommitId(old))
            elif refs.read_ref(repository, ref) != new:
                refs.move_ref(repository, lock, ref, None if old == _NONE else CommitId(old), CommitId(new))
    _remove_journal(repository)


def _write_journal(repository: Path, moves: Sequence[RefMove]) -> None:
    lines = (f"{move.old or _NONE} {move.new or _NONE} {move.ref}\n" for move in moves)
    replace_file(repository / JOURNAL, "".join(lines).encode())
    try:
        sync_directory(repository)
    except OSError:
        (repository / JOURNAL).unlink(missing_ok=True)  # or the next writer would move refs that are reported as failed
        raise


def _remove_journal(repository: Path) -> None:
    """Remove the note durably: one that came back would move a ref again that has been moved back since."""
    (repository / JOURNAL).unlink(missing_ok=True)
    sync_after_commit(repository)


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_empty_folder(path: Path) -> None:
    """Remove what refs that are gone have left in the place of a ref."""
    for folder, _, _ in os.walk(path, topdown=False):
        with suppress(OSError):  # not empty, which is found when the ref moves
            Path(folder).rmdir()


def _as_store_error(ref: str, ex: StoreError | OSError) -> StoreError:
    if isinstance(ex, StoreError):
        return ex
    return OutOfSpace() if is_disk_full(ex) else _blocked(ref)


def _blocked(ref: str) -> AlreadyExists:
    return AlreadyExists(f"Another branch blocks {ref}. Rename or remove it in Git, then retry.")
