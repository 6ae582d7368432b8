"""The list of all objects that the release branch reaches, written in the background after objects were packed.

A clone of a long history then needs no look at the commits that were there before. The list is a cache, but beside the
packs that it describes, so that the first clone after all caches were removed is quick. `release` moves forward only, so
an older list is a part of every later one.
"""

import os
from contextlib import closing, suppress
from pathlib import Path

from gitstore.git.repository import Repository, open_repository
from gitstore.layout import RELEASE_REF
from gitstore.wire.packs.commit_graph import CommitGraph
from gitstore.wire.packs.id_lists import Contents, IdList, read_list, write_list
from gitstore.wire.packs.object_source import ObjectSource
from gitstore.wire.packs.selection import Selection
from gitstore.wire.packs.whole_history import list_history

FORM = RELEASE_REF
FILE_NAME = "waypost-release"


def read_release_list(repository: Path) -> IdList | None:
    """Read the list of a repository; None if there is none."""
    with suppress(OSError, ValueError):
        return read_list(repository / FILE_NAME)
    return None


def is_list_due(repository: Path) -> bool:
    """Tell whether packs were written since the list."""
    packed = _packed_at(repository)
    try:
        return packed != 0 and (repository / FILE_NAME).stat().st_mtime_ns != packed
    except OSError:
        return packed != 0


def update_list(repository: Path) -> None:
    """Write the list again, from the former one if there is one. Raises Broken, or OutOfSpace."""
    packed = _packed_at(repository)
    with open_repository(repository) as opened, closing(ObjectSource(opened)) as source:
        contents, ids = _find_reached(opened, source)
    write_list(repository / FILE_NAME, contents, ids)
    os.utime(repository / FILE_NAME, ns=(packed, packed))


def _find_reached(repository: Repository, source: ObjectSource) -> tuple[Contents, list[bytes]]:
    release, graph = bytes.fromhex(repository.release()), CommitGraph(source)
    old = read_release_list(repository.path)
    if old and graph.find_reached([release], old.contents.roots) != old.contents.roots:
        old = None  # the branch was moved back
    contents = Contents(FORM, frozenset({release}))
    if not old:
        source.index_all()
        return contents, list(list_history(source, [release]))
    selection = Selection(source, is_held=old.ids.__contains__)
    commits = graph.lacking([release], old.contents.roots, graph.parents, graph.parents)
    selection.add_commits(graph, commits, graph.parents)
    return contents, [*old.ids, *selection.ids]


def _packed_at(repository: Path) -> int:
    """Return the time of the last change of the packs, in nanoseconds; 0 if there are none."""
    folder = repository / "objects" / "pack"
    with suppress(OSError):
        changed = folder.stat().st_mtime_ns
        if any(name.endswith(".idx") for name in os.listdir(folder)):  # noqa: PTH208 - every two seconds, for each namespace
            return changed
    return 0
