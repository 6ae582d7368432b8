"""The compiled files for a push by path or SSH: those of the service, or copies of them for a user who may not write there.

Compiled files are caches: without those of the service all rules are read and checked again, which takes seconds with
100,000 of them. The temporary folder is in Git's quarantine, so that Git removes it if this process is killed.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import NotFound
from gitstore.git.atomic_io import TEMPORARY_PREFIX

# Git moves what it has received into the repository, and leaves out names that begin with a dot:
# https://github.com/git/git/blob/master/tmp-objdir.c (`read_dir_paths`)
_PREFIX = ".waypost-check-"
_UNUSED = frozenset({"clones"})
# Folders whose files are replaced as a whole, or removed, and never changed in place.
_REPLACED = frozenset({"parts", "kept", "releases", "manifests", "lint", "counts", "outlines"})


@contextmanager
def open_hook_files(repository: Path, root: Path, quarantine: Path | None) -> Iterator[NamespacePaths]:
    """Yield the paths of a repository with compiled files that this user may write; `root` is the data directory."""
    served = _find_served(repository, root)
    if served and _is_writable(served.compiled):
        yield served
        return
    is_there = quarantine is not None and quarantine.is_dir()
    with TemporaryDirectory(prefix=_PREFIX, dir=quarantine if is_there else None, ignore_cleanup_errors=True) as name:
        if served:
            _borrow(served.compiled, Path(name))
        yield NamespacePaths(repository.stem, repository, Path(name))


def _find_served(repository: Path, root: Path) -> NamespacePaths | None:
    """Return the paths of the namespace whose repository this is; None for a copy, or an archive."""
    with suppress(OSError, NotFound):
        paths = DataDirectory(root).namespace(repository.stem)
        return paths if paths.repository.samefile(repository) else None
    return None


def _is_writable(compiled: Path) -> bool:
    """Tell whether compiled files written by this user are as those of the service: of the same owner."""
    with suppress(OSError):
        folder = compiled if compiled.exists() else compiled.parent
        return folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK | os.X_OK)
    return False


def _borrow(served: Path, folder: Path) -> None:
    """Give a folder the compiled files that this user may read: by links, or as copies of those that grow."""
    for above, folders, names in os.walk(served):
        part = Path(above).relative_to(served)
        folders[:] = [name for name in folders if name not in _UNUSED]
        is_replaced = part.parts[:1] and part.parts[0] in _REPLACED
        (folder / part).mkdir(exist_ok=True)
        for name in names:
            with suppress(OSError):  # it was removed meanwhile, or is closed to this user
                if name.startswith(TEMPORARY_PREFIX):
                    continue
                if is_replaced:
                    (folder / part / name).symlink_to(Path(above, name))
                else:
                    shutil.copyfile(Path(above, name), folder / part / name)
