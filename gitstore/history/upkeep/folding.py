"""New bases for releases with many changes, in the background: a publish then writes few changes again.

A release is replaced by an equal one, so readers see nothing of it. What a kill leaves is a base that nothing needs yet, or
a release that is folded again.
"""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.served_record import load_served_manifest
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.directory import NamespacePaths
from gitstore.errors import run_each
from gitstore.git.lock import hold
from gitstore.git.repository import open_repository
from gitstore.layout import TreeId


def is_folding_due(paths: NamespacePaths) -> bool:
    """Tell whether a publish asked for a new base."""
    with suppress(FileNotFoundError), os.scandir(paths.unfolded) as found:
        return next(found, None) is not None
    return False


def fold_releases(paths: NamespacePaths) -> None:
    """Give each project that a publish marked a new base.

    Raises the first OutOfSpace, Invalid, Broken or Busy, after all projects; its mark stays.
    """
    run_each(partial(_fold_project, paths, mark) for mark in sorted(paths.unfolded.iterdir()))


def _fold_project(paths: NamespacePaths, mark: Path) -> None:
    with open_repository(paths.repository) as repository:
        compiler = Compiler(paths, repository, SegmentStore(paths.segments, paths.archive))
        _fold(compiler, mark)


def _fold(compiler: Compiler, mark: Path) -> None:
    """Write a new base from the served state, then the changes since, for what was published meanwhile."""
    project = mark.name
    tree = _served_tree(compiler.paths, project)
    if tree:
        compiler.fold(project, tree)
        if (newer := _served_tree(compiler.paths, project)) and newer != tree:
            compiler.snapshot(project, newer)  # read before the lock is held
    with hold(compiler.paths.repository):
        newest = _served_tree(compiler.paths, project)
        if tree and newest and newest != tree:
            compiler.rebase(project, tree, newest)
        mark.unlink(missing_ok=True)  # under the lock, so that the mark of a later publish stays


def _served_tree(paths: NamespacePaths, project: str) -> TreeId | None:
    manifest = load_served_manifest(paths)
    entry = manifest.projects.get(project) if manifest else None
    return entry.tree if entry else None
