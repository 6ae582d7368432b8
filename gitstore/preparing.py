"""Making going back quick where nobody did: publishes of another machine, an older program, or older commits of one push.

What a publish of this service leaves behind is there already. The rest is judged and packed a little at a time, the newest first,
while nobody waits for it; a rollback that comes before pays for its own publish alone.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from gitstore.checks import EDITION
from gitstore.compiler import Compiler
from gitstore.durable import replace_file
from gitstore.errors import Invalid
from gitstore.lock import acquire
from gitstore.manifest import ProjectEntry
from gitstore.numbering import ensure_manifest, read_index
from gitstore.part_store import PART_SUFFIX
from gitstore.snapshot import Snapshot
from gitstore.versions import VersionIndex

MOST = 1000
"""Publishes of a project that are prepared, the newest ones."""
_MEANING = f"{EDITION}{PART_SUFFIX}"


class _Mark(NamedTuple):
    """How far a project is prepared: from its newest publish (number and commit) down to above the number `left`."""

    newest: int
    commit: str
    meaning: str
    left: int


def prepare(compiler: Compiler, seconds: float) -> bool:
    """Prepare publishes of a namespace for so long, one at least; False where some may be left.

    Where another process is at it, nothing is left to do for this one.
    """
    deadline = time.monotonic() + seconds
    manifest = ensure_manifest(compiler, compiler.repository.release())
    with _alone(compiler.paths.compiled / "prepare.lock") as is_alone:
        marks = _read(compiler.paths.prepared)
        for name, entry in manifest.projects.items() if is_alone else ():
            start = _Mark(entry.newest, entry.newest_commit, _MEANING, entry.newest)
            mark = marks.get(name, start)
            mark = mark if mark[:3] == start[:3] and mark.left in range(entry.newest) else start
            if not mark.left:
                continue
            marks[name] = _prepare(compiler, name, entry, mark, deadline)
            _write(compiler.paths.prepared, marks)
            if time.monotonic() > deadline:
                return False
    return True


def _prepare(compiler: Compiler, name: str, entry: ProjectEntry, mark: _Mark, deadline: float) -> _Mark:
    """Go on below the mark until time is up; gives the mark then."""
    index = read_index(compiler, name, entry.newest, entry.newest_commit)
    end = max(entry.newest - MOST, 0)
    near: Snapshot | None = None
    for number in range(mark.left, end, -1):
        version = index.get(number)
        if version.tree and not version.refused and not compiler.is_prepared(version.tree):
            with suppress(Invalid):  # nobody can go back to it, and who tries is told why
                near = compiler.prepare(name, version.tree, near or _next_newer(compiler, name, index, number))
        if time.monotonic() > deadline:
            return mark._replace(left=number - 1 if number - 1 > end else 0)
    return mark._replace(left=0)


def _next_newer(compiler: Compiler, name: str, index: VersionIndex, number: int) -> Snapshot | None:
    """The next newer publish where it is known to be right: then checking what differs from it is enough."""
    tree = index.get(number + 1).tree if number < index.last else None
    return compiler.snapshot(name, tree) if tree and compiler.is_prepared(tree) else None


def _read(path: Path) -> dict[str, _Mark]:
    """The marks; none where they cannot be read."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return {name: _Mark(*fields) for name, fields in orjson.loads(path.read_bytes()).items()}
    return {}


def _write(path: Path, marks: Mapping[str, _Mark]) -> None:
    replace_file(path, orjson.dumps({name: [*mark] for name, mark in marks.items()}), sync=False)


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Tell whether no other process prepares the same namespace, and keep others from it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield acquire(handle, 0)
    finally:
        os.close(handle)
