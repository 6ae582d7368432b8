"""The history of a rule: the publishes that added, changed or removed it, newest first."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from content.cache import LruCache
from content.changes.diff import identity_field
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.comparison.tree_changes import find_change, read_tree_changes
from gitstore.compiled.compiler import Compiler, hold_compile_lock
from gitstore.compiled.indexes.change_log import ChangeLog, LoggedChange, append_blocks, build_entries, dump_block
from gitstore.compiled.indexes.versions import VersionIndex
from gitstore.directory import NamespacePaths, make_folder
from gitstore.errors import Busy, OutOfSpace, StoreError
from gitstore.file_lock import hold_lock_file
from gitstore.history.counts import with_counts
from gitstore.history.history import PublishRecord, read_publish, version_index

_FLUSH_SECONDS = 1.0  # of work that a crash can lose, unless one publish takes longer
_MAX_LOCK_SECONDS = 86_400.0
_MAX_LOGS = 8
# Reading the checksums of a log of 10,000 publishes takes 40 milliseconds.
_logs: LruCache[Path, tuple[tuple[object, ...], ChangeLog]] = LruCache(_MAX_LOGS)


class RuleEvent(NamedTuple):
    """A publish, and its change of one record in the API's JSON shape."""

    publish: PublishRecord
    change: Mapping[str, Any]


def read_rule_history(
    compiler: Compiler, project: str, kind: Kind, identity: str, window: slice, timeout: float
) -> tuple[list[RuleEvent], int]:
    """Return a window of the history of the record with an identity, newest first, and the number of its publishes."""
    index = version_index(compiler, project)
    log = read_log(compiler, project, index, timeout)
    window_changes, total = log.find(kind, identity_id(identity), window)
    versions = with_counts(compiler, project, index, index.at_places([each.publish for each in window_changes]))
    changes = (_change(compiler, project, index, log, each, kind, identity) for each in window_changes)
    return [
        RuleEvent(read_publish(compiler, project, index, version), change)
        for version, change in zip(versions, changes, strict=True)
        if change
    ], total


def read_log(compiler: Compiler, project: str, index: VersionIndex, timeout: float = float("inf")) -> ChangeLog:
    """Return the log of all versions of a project; one process at a time reads missing blocks from Git and stores them.

    Raises Busy if that takes longer than `timeout` seconds; the next call continues from there.
    """
    path = compiler.paths.changes / project
    log = _open_log(path, index)
    if log.missing:
        deadline = time.monotonic() + timeout
        with _hold_changes_lock(compiler.paths, min(timeout, _MAX_LOCK_SECONDS)):
            _read_missing(compiler, project, index, _open_log(path, index).missing, deadline)
        log = _open_log(path, index)
    return log


def _open_log(path: Path, index: VersionIndex) -> ChangeLog:
    """Return the current log, from memory if neither it nor the history has changed since it was read."""
    newest = index.at(index.count).commit if index.count else ""
    key: tuple[object, ...] = (path, _signature(path), newest)
    found = _logs.find(path)
    if found and found[0] == key:
        return found[1]
    commits = index.commits()
    log = ChangeLog(path, commits)
    # Another process may have just written the index: then the log is not cached as that of `newest`.
    _logs.put(path, (key if commits and commits[-1].hex() == newest else (), log))
    return log


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _hold_changes_lock(paths: NamespacePaths, timeout: float) -> Iterator[None]:
    """Let one process read the changes of a namespace; it has its own lock, so that publishes continue meanwhile."""
    make_folder(paths.compiled)
    with hold_lock_file(paths.compiled / "changes.lock", timeout) as is_held:
        if not is_held:
            raise Busy("The changes of this namespace's history are still being read. Try again in a moment.")
        yield


def _read_missing(
    compiler: Compiler, project: str, index: VersionIndex, places: Sequence[int], deadline: float
) -> None:
    """Read the changes of publishes, newest first, and store them every second."""
    blocks: list[bytes] = []
    written = time.monotonic()
    for done, place in enumerate(reversed(places), 1):
        blocks.append(_block(compiler, project, index, place))
        compiler.clear_snapshots()
        now = time.monotonic()
        if now - written > _FLUSH_SECONDS or done == len(places) or now > deadline:
            _append_blocks(compiler, project, blocks)
            blocks, written = [], now
        if now > deadline and done < len(places):
            raise Busy(
                f"The changes of {project} are still being read: {len(places) - done} of {index.count} "
                "publishes are left. Try again in a moment."
            )


def _append_blocks(compiler: Compiler, project: str, blocks: Sequence[bytes]) -> None:
    try:
        with hold_compile_lock(compiler.paths):
            append_blocks(compiler.paths.changes / project, blocks)
    except (OutOfSpace, OSError) as ex:
        raise StoreError(
            f"The log of changes of {project} cannot be written, so the history of a rule cannot be read: {ex}"
        ) from ex


def _block(compiler: Compiler, project: str, index: VersionIndex, place: int) -> bytes:
    version = index.at(place)
    changes = read_tree_changes(compiler, project, index.tree_before(version), version.tree)
    return dump_block(place, version.commit, build_entries(changes))


def _change(
    compiler: Compiler,
    project: str,
    index: VersionIndex,
    log: ChangeLog,
    logged_change: LoggedChange,
    kind: Kind,
    identity: str,
) -> Mapping[str, Any] | None:
    """Return the change of the record in a publish, from the log or from Git; None if the id is of another record."""
    details = log.details(logged_change)
    if details is None:
        version = index.at(logged_change.publish)
        change = find_change(compiler, project, (index.tree_before(version), version.tree), kind, identity)
        return change.wire() if change else None
    return details if details[identity_field(kind)] == identity else None
