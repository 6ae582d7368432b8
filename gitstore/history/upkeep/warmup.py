"""The preparation of rollbacks to publishes of another machine, an older program, or older commits of one push.

A publish of this service is already prepared. The others are validated and archived a little at a time, newest first,
while no one waits for them; a rollback that comes earlier only prepares its own publish.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.versions import VersionIndex
from gitstore.compiled.segments.segment_store import SEGMENT_SUFFIX
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.checks import EDITION
from gitstore.directory import make_folder
from gitstore.errors import Invalid
from gitstore.file_lock import hold_lock_file
from gitstore.git.atomic_io import replace_file
from gitstore.history.manifests import ensure_manifest
from gitstore.history.numbering import read_index
from gitstore.history.rewinds import current_release

MAX_PUBLISHES = 1000  # of a project, the newest ones
_CACHE_FORMAT = f"{EDITION}{SEGMENT_SUFFIX}"


class _Progress(NamedTuple):
    """The progress of a project: publishes from the newest (number and commit) down to above place `left` are prepared."""

    newest: int
    commit: str
    cache_format: str
    left: int


def prepare(compiler: Compiler, seconds: float) -> bool:
    """Prepare publishes of a namespace for so many seconds, at least one; return False if some may be left.

    If another process is preparing them, this one has nothing to do.
    """
    deadline = time.monotonic() + seconds
    manifest = ensure_manifest(compiler, current_release(compiler))
    make_folder(compiler.paths.compiled)
    with hold_lock_file(compiler.paths.compiled / "prepare.lock", 0) as has_lock:
        progress_by_name = _read(compiler.paths.prepared)
        for name, entry in manifest.projects.items() if has_lock else ():
            index = read_index(compiler, manifest, name)
            start = _Progress(entry.newest, entry.newest_commit, _CACHE_FORMAT, index.count)
            progress = progress_by_name.get(name, start)
            progress = progress if progress[:3] == start[:3] and progress.left in range(index.count) else start
            if not progress.left:
                continue
            progress_by_name[name] = _prepare(compiler, name, index, progress, deadline)
            _write(compiler.paths.prepared, progress_by_name)
            if time.monotonic() > deadline:
                return False
    return True


def _prepare(compiler: Compiler, name: str, index: VersionIndex, progress: _Progress, deadline: float) -> _Progress:
    """Continue from the progress until time is up; return the new progress."""
    end = max(index.count - MAX_PUBLISHES, 0)
    near: Snapshot | None = None
    for place in range(progress.left, end, -1):
        version = index.at(place)
        if version.tree and not version.refused and not compiler.is_prepared(version.tree):
            with suppress(Invalid):  # no rollback to it is possible; an attempt gets the reason
                near = compiler.prepare(name, version.tree, near or _next_newer(compiler, name, index, place))
        if time.monotonic() > deadline:
            return progress._replace(left=place - 1 if place - 1 > end else 0)
    return progress._replace(left=0)


def _next_newer(compiler: Compiler, name: str, index: VersionIndex, place: int) -> Snapshot | None:
    """Return the next newer publish if it is validated: then checking the difference is enough."""
    tree = index.at(place + 1).tree if place < index.count else None
    return compiler.snapshot(name, tree) if tree and compiler.is_prepared(tree) else None


def _read(path: Path) -> dict[str, _Progress]:
    """Read the progress of all projects; empty if it cannot be read."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return {name: _Progress(*fields) for name, fields in orjson.loads(path.read_bytes()).items()}
    return {}


def _write(path: Path, progress_by_name: Mapping[str, _Progress]) -> None:
    replace_file(path, orjson.dumps({name: [*progress] for name, progress in progress_by_name.items()}), sync=False)
