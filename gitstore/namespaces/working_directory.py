"""A working directory that is followed while people edit it: read again and again, each time only the files that changed."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import time_ns
from typing import NamedTuple

from content.records.names import is_name
from content.records.problem import Problem
from gitstore.compiled.segments.snapshot import File
from gitstore.errors import BadRequest, NotFound
from gitstore.git.modes import FILE_MODE
from gitstore.git.objects import blob_id
from gitstore.layout import ALLOWED_FILES, PROJECT_FILE, BlobId, is_safe_name
from gitstore.namespaces.checkout import (
    find_name_collisions,
    find_project_folders,
    find_root_problems,
    git_mode,
    list_files,
    read_as_git,
)

# Files that editors and tools keep beside the ones they write: of Vim, of Emacs, of JetBrains, of desktops.
_EDITOR_FILE = re.compile(r"\..*\.sw[a-z]|4913|.*~|\.#.*|#.*#|.*___jb_(?:tmp|old|bak)___|\.goutputstream-.*|\.DS_Store")
# A change within one tick of the file system's clock leaves the times of a file as they were.
_TICK_NANOSECONDS = 20_000_000


class FileStamp(NamedTuple):
    """The fields of a file that change whenever its content does, except within one tick of the clock."""

    inode: int
    mode: int
    size: int
    modified: int
    changed: int


class KnownFile(NamedTuple):
    """A file as it was read at a time, in nanoseconds."""

    stamp: FileStamp
    read_at: int
    file: File

    def is_current(self, stamp: FileStamp) -> bool:
        """Tell whether the file is as it was when it was read; a file read right after a change is read again."""
        return self.stamp == stamp and self.read_at - max(stamp.modified, stamp.changed) > _TICK_NANOSECONDS


@dataclass(frozen=True, slots=True)
class WorkingState:
    """The files of each project, and the problems beside them; paths are relative to `root`.

    `root` is the folder that was read, or the folder above it where that is one project.
    """

    root: Path
    projects: Mapping[str, Sequence[File]]
    problems: tuple[Problem, ...]

    @property
    def has_other_files(self) -> bool:
        """True if a file is none that Git stores as a plain one, or has a name that is not safe in every checkout."""
        return any(
            file.mode != FILE_MODE or not all(map(is_safe_name, file.path.split("/")))
            for files in self.projects.values()
            for file in files
        )


class WorkingDirectory:
    """The folder of a namespace or of one project; `read` returns its state, and nothing is ever written into it."""

    def __init__(self, path: Path, allowed: Sequence[str] = ALLOWED_FILES) -> None:
        self.path = path
        self._allowed = allowed
        self._known: dict[str, KnownFile] = {}
        self._content: dict[BlobId, bytes] = {}
        self._emptied = False

    @property
    def was_emptied(self) -> bool:
        """True if a file that had content was empty in the last state: many editors empty a file before they write it."""
        return self._emptied

    def read(self) -> WorkingState:
        """Read the state.

        Raises NotFound without any project, BadRequest for a name that no project can have, and OSError for a file that
        cannot be read.
        """
        folders = find_project_folders(self.path) if self.path.is_dir() else []
        if folders is None:
            self._require_project_name()
            return self._state(self.path.parent, [self.path], ())
        if not folders:
            raise NotFound(
                f"{self.path} contains no project: a project is a folder with {PROJECT_FILE}, redirects or pages."
            )
        names = [folder.name for folder in folders]
        found = (*find_root_problems(self.path, self._allowed), *find_name_collisions(names))
        problems = tuple(_spare_unread(problem) for problem in found if not is_editor_file(problem.file))
        return self._state(self.path, folders, problems)

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file of the last state that was not forgotten."""
        return self._content[blob_id]

    def forget_content(self, state: WorkingState) -> None:
        """Forget the content of the files of a state, which is stored elsewhere now."""
        for file in (file for files in state.projects.values() for file in files):
            self._content.pop(file.blob, None)

    def list_folders(self) -> list[Path]:
        """List the folder and all folders below it, except Git's own; links are not followed."""
        return [self.path, *_subfolders(self.path)]

    def _require_project_name(self) -> None:
        if not is_name(self.path.name):
            raise BadRequest(
                f"{self.path} is one project, but its folder's name cannot be that of a project: 1 to 50 letters, digits, "
                "hyphens and underscores. Rename it, or preview the folder above it."
            )

    def _state(self, root: Path, folders: Sequence[Path], problems: tuple[Problem, ...]) -> WorkingState:
        self._emptied, known = False, self._known
        self._known = {}
        try:
            projects = {folder.name: list(self._files(folder, known)) for folder in folders}
        except OSError:
            self._known = known
            raise
        self._drop_content(file.blob for files in projects.values() for file in files)
        return WorkingState(root, {name: files for name, files in projects.items() if files}, problems)

    def _files(self, folder: Path, known: Mapping[str, KnownFile]) -> Iterator[File]:
        for name in list_files(folder):
            if not is_editor_file(name):
                path = f"{folder}/{name}"
                found = self._known[path] = self._file(name, path, known.get(path))
                yield found.file

    def _file(self, name: str, path: str, known: KnownFile | None) -> KnownFile:
        stamp = _stamp(path)
        if known and known.is_current(stamp):
            return known
        read_at, data = time_ns(), read_as_git(Path(path))
        blob = blob_id(data)
        if known is None or known.file.blob != blob:
            self._content[blob] = data
        self._emptied |= bool(known and known.stamp.size and not data)
        return KnownFile(stamp, read_at, File(name, git_mode(stamp.mode), blob))

    def _drop_content(self, blobs: Iterator[BlobId]) -> None:
        current = set(blobs)
        for blob in self._content.keys() - current:
            del self._content[blob]


def _spare_unread(problem: Problem) -> Problem:
    """Return the problem of a file that nothing reads as a warning: such as notes that are beside the projects for a while."""
    if problem.code != "unknown_file":
        return problem
    return replace(problem.as_warning(), message=f"{problem.message} A publish refuses it.")


def is_editor_file(path: str) -> bool:
    """Tell whether a path is that of a temporary file of an editor."""
    return _EDITOR_FILE.fullmatch(path.rpartition("/")[2]) is not None


def _stamp(path: str) -> FileStamp:
    found = os.lstat(path)
    return FileStamp(found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _subfolders(path: Path) -> Iterator[Path]:
    try:
        with os.scandir(path) as found:
            folders = [Path(each.path) for each in found if each.is_dir(follow_symlinks=False) and each.name != ".git"]
    except OSError:  # removed meanwhile, or not readable: reading it reports that
        return
    for folder in sorted(folders):
        yield folder
        yield from _subfolders(folder)
