"""Alternates: the other folders of objects that a repository borrows from, as C git finds them.

See https://git-scm.com/docs/gitrepository-layout#Documentation/gitrepository-layout.txt-objectsinfoalternates
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dulwich.config import ConfigFile
from dulwich.object_store import DiskObjectStore

from gitstore.errors import Broken

_FILE = "info/alternates"
_MAX_BYTES = 1 << 20
_MAX_FOLDERS = 100
_MAX_DEPTH = 5  # as C git: https://github.com/git/git/blob/master/odb.c (`link_alt_odb_entries`)


def limit_alternates(store: DiskObjectStore, quarantine: Path | None = None) -> None:
    """Let a store borrow from each folder once, whatever its alternates and theirs name, and from a quarantine.

    Raises Broken for a file that is too large, and for too many folders.
    """
    objects = Path(os.fsdecode(os.fspath(store.path)))
    has_file = (objects / _FILE).exists()
    found = list_borrowed(objects) if has_file else []
    if has_file or quarantine:  # also of a file that leads nowhere, or to itself
        borrowed = [_without_alternates(path) for path in (*found, *([str(quarantine)] if quarantine else []))]
        # dulwich 1.2.21 follows alternates without end where they name each other, or themselves:
        # https://github.com/dulwich/dulwich/blob/HEAD/dulwich/object_store.py (`DiskObjectStore.alternates`)
        store._alternates = [*borrowed]  # noqa: SLF001 - no public call sets them without writing the file


def _without_alternates(path: str) -> DiskObjectStore:
    store = DiskObjectStore(path)
    store._alternates = []  # noqa: SLF001 - no public call empties them without writing the file
    return store


def list_borrowed(objects: Path) -> list[str]:
    """Return the folders that `objects` borrows from, directly or not; a folder that does not exist is left out.

    Raises Broken for a file that is too large, and for too many folders.
    """
    seen = {os.path.realpath(objects): None}
    level = [str(objects)]
    for _ in range(_MAX_DEPTH):
        paths = (path for folder in level for path in _read(folder))
        named = [os.path.realpath(path) for path in paths if os.path.isdir(path)]  # noqa: PTH112 - `is_dir` may raise
        level = list(dict.fromkeys(path for path in named if path not in seen))
        seen.update(dict.fromkeys(level))
        if len(seen) > _MAX_FOLDERS:
            raise Broken(f"{objects / _FILE} leads to more than {_MAX_FOLDERS} folders. Remove the ones without use.")
    return list(seen)[1:]


def _read(folder: str) -> Iterator[str]:
    """Yield the paths in a folder's file of alternates."""
    data, path = b"", Path(folder, _FILE)
    with suppress(OSError), path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise Broken(f"{path} is larger than {_MAX_BYTES:,} bytes. Remove the lines that are not paths of folders.")
    for line in data.split(b"\n"):
        if line and not line.startswith(b"#"):
            yield os.path.join(folder, os.fsdecode(line))  # noqa: PTH118 - a line may be no path at all


def borrows(repository: Path) -> bool:
    """Tell whether a repository borrows objects from another folder."""
    return (repository / "objects" / _FILE).exists()


def is_lender(repository: Path) -> bool:
    """Tell whether others may use objects of a repository that it does not reach itself: nothing may be pruned then.

    That is so where a repository beside it borrows from it, or its settings say so for the ones elsewhere.
    """
    objects = os.path.realpath(repository / "objects")
    others = (
        str(other / "objects") for other in repository.parent.glob("*.git") if (other / "objects" / _FILE).exists()
    )
    borrowed = (os.path.realpath(path) for other in others for path in _read(other))
    return objects in borrowed or _keeps_objects(repository)


def _keeps_objects(repository: Path) -> bool:
    """Tell whether C git may not prune either: https://git-scm.com/docs/git-config#Documentation/git-config.txt-gcpruneExpire."""
    config = ConfigFile.from_path(str(repository / "config"))
    with suppress(KeyError):
        return config.get((b"gc",), b"pruneExpire").strip().lower() == b"never"
    return False
