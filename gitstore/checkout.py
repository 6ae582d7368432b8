"""A namespace or a project as plain folders, such as a developer's clone or what CI checks out."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from content.names import is_name
from content.problem import Problem
from gitstore.checks import check_snapshot, stopping
from gitstore.errors import NotFound
from gitstore.file_paths import shown
from gitstore.layout import PROJECT_FILE, BlobId, Role, TreeId, is_safe_name, may_stand_beside_projects, role_of
from gitstore.part_store import PartStore
from gitstore.repository import FILE_MODE
from gitstore.snapshot import File, Snapshot, take_snapshot
from gitstore.twins import told

Watch = Callable[[str], object]
"""Told what is being worked on, for whoever waits."""

_GIT = ".git"
_EXECUTABLE = 0o100755
_LINK = 0o120000
_DEVICE = 0


@dataclass(frozen=True, slots=True)
class Checkout:
    """The projects of a folder, and what is wrong beside them; the one project of a folder that is one has no name."""

    snapshots: tuple[Snapshot, ...]
    problems: tuple[Problem, ...]

    @property
    def is_namespace(self) -> bool:
        """Tell whether this is a folder of projects, and not one project's."""
        return all(snapshot.project for snapshot in self.snapshots)

    def check(self) -> Iterator[Problem]:
        """Everything that is wrong, project by project."""
        yield from self.problems
        for snapshot in self.snapshots:
            yield from check_snapshot(snapshot)

    def stopping(self) -> list[Problem]:
        """What would stop a publish: every error, and warnings where a project's lint is strict."""
        found = (stopping(snapshot, check_snapshot(snapshot)) for snapshot in self.snapshots)
        return [*self.problems, *(problem for problems in found for problem in problems)]


def read_checkout(path: Path, parts: PartStore | None = None, watch: Watch = str) -> Checkout:
    """Read a namespace's folder, or one project's; NotFound where it is neither.

    `parts` keeps what is compiled on the way, for nothing but speed; `watch` is told of every file.
    """
    if not path.is_dir():
        raise NotFound(f"{path} is no folder.")
    reader = _Reader(parts or PartStore(None), watch)
    folders = _project_folders(path)
    if folders is None:
        return Checkout((reader.read("", path),), ())
    if not folders:
        raise NotFound(f"{path} holds no project: a project is a folder with {PROJECT_FILE}, redirects or pages.")
    return Checkout(
        tuple(reader.read(folder.name, folder) for folder in folders),
        (*_problems_beside(path), *_twins([folder.name for folder in folders])),
    )


def unread_file(name: str) -> Problem:
    """What stands beside the projects and belongs to nothing."""
    return Problem("unknown_file", "Nothing reads this file; remove it.", file=shown(name))


def list_files(folder: Path) -> Iterator[str]:
    """All files below a folder, without Git's own, relative to it; a link counts as a file, as it does for Git."""
    for root, folders, names in os.walk(folder, onerror=_give_up):
        links = [name for name in folders if Path(root, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name != _GIT and name not in links)
        yield from (Path(root, name).relative_to(folder).as_posix() for name in sorted([*names, *links]))


def _give_up(ex: OSError) -> None:
    raise ex


def _project_folders(path: Path) -> list[Path] | None:
    """The projects of a namespace's folder: every folder of a good name with files; None where `path` is a project.

    Where both could be (a project may be called `pages`), a project.yaml decides.
    """
    folders = sorted(entry for entry in _folders(path) if is_name(entry.name) and any(list_files(entry)))
    if (path / PROJECT_FILE).is_file():
        return None
    if any((folder / PROJECT_FILE).is_file() for folder in folders):
        return folders
    if _is_project(path):
        return None
    return folders if any(_is_project(folder) for folder in folders) else []


def _folders(path: Path) -> Iterator[Path]:
    return (entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink() and entry.name != _GIT)


def _is_project(path: Path) -> bool:
    """Tell whether a folder holds anything that only a project does."""
    return any(role_of(name) not in {Role.CONTENT, Role.UNKNOWN} for name in list_files(path))


def _problems_beside(path: Path) -> Iterator[Problem]:
    folders = set(_folders(path))
    for entry in sorted(path.iterdir()):
        if may_stand_beside_projects(entry.name):
            names = list_files(entry) if entry in folders else [""]
            yield from (problem for name in names for problem in _file_problems(path, entry / name))
        elif entry.name != _GIT and not (entry in folders and is_name(entry.name)):
            yield _stranger(entry)


def _stranger(entry: Path) -> Problem:
    if entry.is_dir() and not entry.is_symlink() and _is_project(entry):
        message = "A project's name is 1 to 50 letters, digits, hyphens and underscores. Rename this folder."
        return Problem("bad_name", message, file=shown(entry.name))
    return unread_file(entry.name)


def _file_problems(root: Path, path: Path) -> Iterator[Problem]:
    name = path.relative_to(root).as_posix()
    if not all(map(is_safe_name, name.split("/"))):
        yield Problem("bad_name", "No file may have such a name. Rename it, or remove it.", file=shown(name))
    elif not stat.S_ISREG(path.lstat().st_mode):
        yield Problem("not_a_file", "Only plain files may stand here.", file=shown(name))


def _twins(names: Sequence[str]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            yield Problem("duplicate_project", told(other), file=name)


class _Reader:
    """Reads projects, one after another."""

    def __init__(self, parts: PartStore, watch: Watch) -> None:
        self._parts = parts
        self._watch = watch

    def read(self, name: str, folder: Path) -> Snapshot:
        """The project in a folder."""
        disk = _Disk(lambda path: self._watch(f"{name}/{path}" if name else path))
        files = [disk.add(path, folder / path) for path in list_files(folder)]
        return take_snapshot(name, TreeId(""), files, disk, self._parts)


class _Disk:
    """Files on disk, each known by the id that Git would give it; read when asked for, and not kept."""

    def __init__(self, watch: Watch) -> None:
        self._paths: dict[str, tuple[str, Path]] = {}
        self._watch = watch

    def add(self, name: str, path: Path) -> File:
        """A file with its mode and id."""
        data = _read(path)
        blob = BlobId(sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest())
        self._paths[blob] = name, path
        return File(name, _git_mode(path.lstat().st_mode), blob)

    def blob(self, blob_id: BlobId) -> bytes:
        """The content of a file."""
        name, path = self._paths[blob_id]
        self._watch(name)
        return _read(path)


def _read(path: Path) -> bytes:
    """The bytes that Git keeps: of a link where it leads to, of a pipe or device nothing."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return os.fsencode(path.readlink())
    return path.read_bytes() if stat.S_ISREG(mode) else b""


def _git_mode(mode: int) -> int:
    if stat.S_ISLNK(mode):
        return _LINK
    if not stat.S_ISREG(mode):
        return _DEVICE
    return _EXECUTABLE if mode & stat.S_IXUSR else FILE_MODE
