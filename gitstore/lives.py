"""The life of a rule: the publishes that added, changed or removed it, newest first."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from content.diff import identity_field
from content.record import identity_id
from content.vocabulary import Kind
from gitstore.change_log import ChangeLog, Noted, append_blocks, dump_block, entries_of
from gitstore.compiler import Compiler, once_at_a_time
from gitstore.counting import counted
from gitstore.directory import NamespacePaths
from gitstore.errors import Busy, OutOfSpace, StoreError
from gitstore.history import Publish, read_publish, version_index
from gitstore.lock import acquire
from gitstore.tree_changes import change_of, known_changes
from gitstore.versions import VersionIndex

_AT_LEAST = 1.0
"""Seconds of work that a crash loses at most, unless one publish takes longer."""
_LONGEST = 86_400.0
_KEEP = 8
_kept: dict[Path, tuple[object, ChangeLog]] = {}
_kept_lock = Lock()
"""The logs that this process asked last: reading the checksums of one of 10,000 publishes takes 40 milliseconds."""


class Lived(NamedTuple):
    """A publish, and what it did to one record: the JSON shape of a change."""

    publish: Publish
    change: Mapping[str, Any]


def read_life(
    compiler: Compiler, project: str, kind: Kind, identity: str, window: slice, patience: float
) -> tuple[list[Lived], int]:
    """A window of the life of the record with an identity, newest first, and how many publishes it has in all."""
    index = version_index(compiler, project)
    log = read_log(compiler, project, index, patience)
    shown, total = log.find(kind, identity_id(identity), window)
    versions = counted(compiler, project, index, index.pick([each.number for each in shown]))
    changes = (_change(compiler, project, index, log, each, kind, identity) for each in shown)
    return [
        Lived(read_publish(compiler, project, index, version), change)
        for version, change in zip(versions, changes, strict=True)
        if change
    ], total


def read_log(compiler: Compiler, project: str, index: VersionIndex, patience: float = float("inf")) -> ChangeLog:
    """The log of all versions of a project; what is missing is read from Git, once at a time, and written down.

    Busy where that takes longer than the seconds of `patience`; the next call goes on from there.
    """
    path = compiler.paths.changes / project
    log = _open_log(path, index)
    if log.missing:
        deadline = time.monotonic() + patience
        with _one_at_a_time(compiler.paths, min(patience, _LONGEST)):
            _fill(compiler, project, index, _open_log(path, index).missing, deadline)
        log = _open_log(path, index)
    return log


def _open_log(path: Path, index: VersionIndex) -> ChangeLog:
    """The log as it stands, from memory where neither it nor the history has moved since it was read."""
    newest = index.get(index.last).commit if index.last else ""
    key: tuple[object, ...] = (path, _signature(path), newest)
    with _kept_lock:
        found = _kept.pop(path, None)
        if found and found[0] == key:
            log = found[1]
        else:
            commits = index.commits()
            log = ChangeLog(path, commits)
            key = key if commits and commits[-1].hex() == newest else ()  # the index was written by another just now
        _kept[path] = key, log
        while len(_kept) > _KEEP:
            del _kept[next(iter(_kept))]
    return log


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _one_at_a_time(paths: NamespacePaths, patience: float) -> Iterator[None]:
    """Let one process read the changes of a namespace; a lock of its own, so that publishes go on meanwhile."""
    handle = os.open(paths.compiled / "changes.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not acquire(handle, patience):
            raise Busy("The changes of this namespace's history are still being read. Try again in a moment.")
        yield
    finally:
        os.close(handle)


def _fill(compiler: Compiler, project: str, index: VersionIndex, numbers: Sequence[int], deadline: float) -> None:
    """Read what publishes changed, the newest first, and write it down every second."""
    blocks: list[bytes] = []
    written = time.monotonic()
    for done, number in enumerate(reversed(numbers), 1):
        blocks.append(_block(compiler, project, index, number))
        compiler.forget()
        now = time.monotonic()
        if now - written > _AT_LEAST or done == len(numbers) or now > deadline:
            _append(compiler, project, blocks)
            blocks, written = [], now
        if now > deadline and done < len(numbers):
            raise Busy(
                f"What each publish of {project} changed is still being read: {len(numbers) - done} of {index.last} "
                "publishes are left. Try again in a moment."
            )


def _append(compiler: Compiler, project: str, blocks: Sequence[bytes]) -> None:
    try:
        with once_at_a_time(compiler.paths):
            append_blocks(compiler.paths.changes / project, blocks)
    except (OutOfSpace, OSError) as ex:
        raise StoreError(f"The log of changes of {project} cannot be written, so it cannot be asked: {ex}") from ex


def _block(compiler: Compiler, project: str, index: VersionIndex, number: int) -> bytes:
    version = index.get(number)
    changes = known_changes(compiler, project, index.tree_before(version), version.tree)
    return dump_block(number, version.commit, entries_of(changes))


def _change(
    compiler: Compiler, project: str, index: VersionIndex, log: ChangeLog, noted: Noted, kind: Kind, identity: str
) -> Mapping[str, Any] | None:
    """What a publish did to the record, from the log or else from Git; None where the id is another record's too."""
    details = log.details(noted)
    if details is None:
        version = index.get(noted.number)
        change = change_of(compiler, project, (index.tree_before(version), version.tree), kind, identity)
        return change.wire() if change else None
    return details if details[identity_field(kind)] == identity else None
