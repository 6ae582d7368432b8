"""The moves of the branches of a repository, found by looking again.

Refs are the truth for all who share a data directory, and they move by other processes, other nodes and plain git. A look
costs a `stat` of each folder of branches; only a folder that has changed is read.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gitstore.errors import Broken
from gitstore.git.lock import PACKED_REFS
from gitstore.git.refs import FileSignature, file_signature, is_branch_ref, read_packed_refs, read_ref
from gitstore.layout import BRANCH_PREFIX, RELEASE_REF, CommitId

# Two changes in one tick of a file system's clock leave a folder with one time.
_TICK = 1_000_000_000  # nanoseconds
_LOCK = ".lock"


@dataclass(slots=True)
class _Folder:
    """A folder of branches as it was read: its inode and time, its files by their signatures, and its folders."""

    known: tuple[int, int] | None = None
    files: dict[str, FileSignature] = field(default_factory=dict)
    folders: "dict[str, _Folder]" = field(default_factory=dict)

    def all(self, prefix: str) -> Iterator[str]:
        """Yield the refs of all files in the folder and below."""
        yield from (prefix + name for name in self.files)
        for name, folder in self.folders.items():
            yield from folder.all(f"{prefix}{name}/")


class BranchMoves:
    """The branches of one repository but release. Methods block; one thread at a time may call them."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._top = _Folder()
        self._packed = dict[str, CommitId]()
        self._packed_signature: FileSignature | None = None
        self._is_known = False

    def look(self) -> dict[str, CommitId | None]:
        """Return the branches that have moved since the last look, with their commits now, None without one.

        The first look finds none. A branch may be among them that was only written again, and none that is damaged is.
        """
        moved = set[str]()
        self._look_at_packed(moved)
        self._look_at(self._top, BRANCH_PREFIX, moved)
        was_known, self._is_known = self._is_known, True
        found = dict[str, CommitId | None]()
        for ref in sorted(moved - {RELEASE_REF}) if was_known else ():
            with suppress(Broken, OSError):
                if is_branch_ref(ref):
                    found[ref] = read_ref(self._repository, ref) if self._has_file(ref) else self._packed.get(ref)
        return found

    def _look_at_packed(self, moved: set[str]) -> None:
        signature = file_signature(f"{self._repository}/{PACKED_REFS}")
        if signature == self._packed_signature:
            return
        with suppress(Broken, OSError):  # reads of the branches themselves report it
            now = {
                ref: head for ref, head in read_packed_refs(self._repository).items() if ref.startswith(BRANCH_PREFIX)
            }
            changed = {ref for ref, _ in now.items() ^ self._packed.items()}
            moved.update(ref for ref in changed if not self._has_file(ref))
            self._packed, self._packed_signature = now, signature

    def _look_at(self, folder: _Folder, prefix: str, moved: set[str]) -> None:
        path = f"{self._repository}/{prefix}"
        try:
            found = os.stat(path)  # noqa: PTH116 - many in a second: pathlib takes four times as long
        except (FileNotFoundError, NotADirectoryError):
            moved.update(folder.all(prefix))
            folder.known, folder.files, folder.folders = None, {}, {}
            return
        if folder.known != (found.st_ino, found.st_mtime_ns):
            self._read(folder, prefix, moved)
            is_settled = time.time_ns() - found.st_mtime_ns > _TICK
            folder.known = (found.st_ino, found.st_mtime_ns) if is_settled else None
        for name, inner in folder.folders.items():
            self._look_at(inner, f"{prefix}{name}/", moved)

    def _read(self, folder: _Folder, prefix: str, moved: set[str]) -> None:
        files, folders = dict[str, FileSignature](), dict[str, _Folder]()
        with os.scandir(f"{self._repository}/{prefix}") as entries:
            for entry in entries:
                if entry.name.endswith(_LOCK):
                    continue
                with suppress(FileNotFoundError):  # removed meanwhile
                    if entry.is_dir(follow_symlinks=False):
                        folders[entry.name] = folder.folders.get(entry.name) or _Folder()
                    elif stat.S_ISREG((found := entry.stat(follow_symlinks=False)).st_mode):
                        files[entry.name] = found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        moved.update(prefix + name for name, _ in files.items() ^ folder.files.items())
        for name in folder.folders.keys() - folders.keys():
            moved.update(folder.folders[name].all(f"{prefix}{name}/"))
        folder.files, folder.folders = files, folders

    def _has_file(self, ref: str) -> bool:
        *folders, name = ref.removeprefix(BRANCH_PREFIX).split("/")
        at: _Folder | None = self._top
        for each in folders:
            at = at.folders.get(each) if at else None
        return at is not None and name in at.files
