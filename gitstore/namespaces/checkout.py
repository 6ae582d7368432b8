"""A namespace or a project as plain folders, such as a developer's clone or a checkout in CI."""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

from content.records.names import is_name
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.problem import Problem
from gitstore.compiled.segments.file_problems import (
    bad_file_name,
    bad_project_name,
    collision_message,
    irregular_file,
    unread_beside,
)
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, FileSource, Snapshot, take_snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.checks import check_snapshot, find_blocking_problems
from gitstore.errors import NotFound
from gitstore.git.file_paths import printable_path
from gitstore.git.modes import EXECUTABLE_MODE, FILE_MODE, LINK_MODE
from gitstore.layout import (
    ALLOWED_FILES,
    PROJECT_FILE,
    BlobId,
    FileRole,
    TreeId,
    is_allowed_beside,
    is_safe_name,
    role_of,
)
from gitstore.namespaces.parallel_reading import ParallelSegments, check_set_on_cores

if TYPE_CHECKING:  # a run without a cache does not import it
    from gitstore.compiled.validation.lint_cache import LintCache

ProgressCallback = Callable[[str], object]  # receives the path in work, to show progress

_GIT = ".git"
_DEVICE = 0


@dataclass(frozen=True, slots=True)
class Checkout:
    """The projects of a folder, and the problems outside them; a folder that is itself a project has one, without name.

    `left_out` has the names of projects that were not read, since the caller wanted others.
    """

    snapshots: tuple[Snapshot, ...]
    problems: tuple[Problem, ...]
    left_out: tuple[str, ...] = ()

    @property
    def is_namespace(self) -> bool:
        """True for a folder of projects, false for the folder of one project."""
        return all(snapshot.project for snapshot in self.snapshots)

    def check(self, limits: PatternLimits = DEFAULT_LIMITS, lints: "LintCache | None" = None) -> Iterator[Problem]:
        """Yield every problem, project by project; `lints` has earlier results, only for speed."""
        yield from self.problems
        for snapshot in self.snapshots:
            yield from _check(snapshot, limits, lints)

    def find_blocking_problems(self, limits: PatternLimits = DEFAULT_LIMITS) -> list[Problem]:
        """Return the problems that would stop a publish: all errors, and warnings of projects with strict lint."""
        found = (find_blocking_problems(snapshot, _check(snapshot, limits)) for snapshot in self.snapshots)
        return [*self.problems, *(problem for problems in found for problem in problems)]


def _check(snapshot: Snapshot, limits: PatternLimits, lints: "LintCache | None" = None) -> Sequence[Problem]:
    """Check a project; if its regular expressions cost too much, its rules are not checked together."""
    over_budget = find_budget_problems(None, snapshot, limits)
    if over_budget:
        return [*over_budget, *snapshot.problems]
    if lints:
        return lints.lint(snapshot.project, snapshot.tree, lambda: snapshot).problems()
    return check_snapshot(snapshot, check_set_on_cores)


def read_checkout(
    path: Path,
    segments: SegmentStore | None = None,
    watch: ProgressCallback = str,
    allowed: Sequence[str] = ALLOWED_FILES,
    only: Collection[str] | None = None,
) -> Checkout:
    """Read the folder of a namespace or of one project; raises NotFound where it is neither.

    `segments` caches compiled files, only for speed; `watch` is called with every file; `allowed` are the other files
    beside the projects. With `only`, projects of other names are left out, or the one project if it is empty.
    """
    if not path.is_dir():
        raise NotFound(f"{path} is not a folder.")
    reader = _Reader(segments or ParallelSegments(None), watch)
    folders = find_project_folders(path)
    if folders is None:
        return Checkout((reader.read("", path),) if only is None or only else (), ())
    if not folders:
        raise NotFound(f"{path} contains no project: a project is a folder with {PROJECT_FILE}, redirects or pages.")
    wanted = [folder for folder in folders if only is None or folder.name in only]
    return Checkout(
        tuple(reader.read(folder.name, folder) for folder in wanted),
        (*_root_problems(path, allowed), *_name_collisions([folder.name for folder in folders])),
        tuple(folder.name for folder in folders if folder not in wanted),
    )


def in_file(problem: Problem, name: str) -> Problem:
    """Return a problem of a whole file, with a path that can be printed."""
    return replace(problem, file=printable_path(name))


def list_files(folder: Path) -> Iterator[str]:
    """Yield all files below a folder, relative to it, without Git's own; a link is a file, as it is for Git."""
    # os.walk skips unreadable folders without `onerror`, and lists links to folders among the folders,
    # https://docs.python.org/3/library/os.html#os.walk
    for root, folders, names in os.walk(folder, onerror=_raise):
        links = [name for name in folders if Path(root, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name != _GIT and name not in links)
        yield from (Path(root, name).relative_to(folder).as_posix() for name in sorted([*names, *links]))


def _raise(ex: OSError) -> None:
    raise ex


def find_project_folders(path: Path) -> list[Path] | None:
    """Return the projects of a namespace: its folders with a valid name and files; None for a project's folder.

    Where both are possible (a project may have the name `pages`), a project.yaml decides.
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
    """Return whether a folder contains a file that only a project has."""
    return any(role_of(name) not in {FileRole.CONTENT, FileRole.UNKNOWN} for name in list_files(path))


def _root_problems(path: Path, allowed: Sequence[str]) -> Iterator[Problem]:
    folders = set(_folders(path))
    for entry in sorted(path.iterdir()):
        if entry.name == _GIT or (entry in folders and is_name(entry.name)):
            continue
        if not is_allowed_beside(f"{entry.name}/" if entry in folders else entry.name, allowed):
            yield _unknown_entry_problem(entry)
            continue
        for name in list_files(entry) if entry in folders else [""]:
            yield from _file_problems(path, entry / name, allowed)


def _unknown_entry_problem(entry: Path) -> Problem:
    if entry.is_dir() and not entry.is_symlink() and _is_project(entry):
        return in_file(bad_project_name(), entry.name)
    return in_file(unread_beside(), entry.name)


def _file_problems(root: Path, path: Path, allowed: Sequence[str]) -> Iterator[Problem]:
    name = path.relative_to(root).as_posix()
    if not all(map(is_safe_name, name.split("/"))):
        yield in_file(bad_file_name(), name)
    elif _git_mode(path.lstat().st_mode) != FILE_MODE:
        yield in_file(irregular_file(), name)
    elif not is_allowed_beside(name, allowed):
        yield in_file(unread_beside(), name)


def _name_collisions(names: Sequence[str]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            yield Problem("duplicate_project", collision_message(other), file=name)


class _Reader:
    """A reader of project folders."""

    def __init__(self, segments: SegmentStore, watch: ProgressCallback) -> None:
        self._segments = segments
        self._watch = watch

    def read(self, name: str, folder: Path) -> Snapshot:
        """Return the snapshot of the project in a folder."""
        files, disk = read_files(folder, lambda path: self._watch(f"{name}/{path}" if name else path))
        return take_snapshot(name, TreeId(""), files, disk, self._segments)


def read_files(folder: Path, watch: ProgressCallback = str) -> tuple[list[File], FileSource]:
    """Return the files of a project's folder, and the source of their content."""
    disk = _DiskSource(watch)
    return [disk.add(path, folder / path) for path in list_files(folder)], disk


class _DiskSource:
    """Files on disk by their Git blob ids; read at each call, and not cached."""

    def __init__(self, watch: ProgressCallback) -> None:
        self._paths: dict[str, tuple[str, Path]] = {}
        self._watch = watch

    def add(self, name: str, path: Path) -> File:
        """Return a file with its mode and blob id."""
        data = _read(path)
        # the id of a blob: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
        blob = BlobId(sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest())
        self._paths[blob] = name, path
        return File(name, _git_mode(path.lstat().st_mode), blob)

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file."""
        name, path = self._paths[blob_id]
        self._watch(name)
        return _read(path)


def _read(path: Path) -> bytes:
    """Return the bytes that Git stores: the target of a link, b"" for a pipe or device."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return os.fsencode(path.readlink())
    return path.read_bytes() if stat.S_ISREG(mode) else b""


def _git_mode(mode: int) -> int:
    if stat.S_ISLNK(mode):
        return LINK_MODE
    if not stat.S_ISREG(mode):
        return _DEVICE
    return EXECUTABLE_MODE if mode & stat.S_IXUSR else FILE_MODE
