"""The changes of a folder of rules against a commit of its repository: no server and no database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from cli.console.exits import InvalidUsage
from cli.console.git import Git, open_git
from cli.content.compare.git_tree import list_tree, read_blobs
from cli.content.validate.changed_files import ChangedFiles, find_changed_files
from content.changes.diff import change_type
from content.records.names import is_name
from content.records.pattern_limits import PatternLimits
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, describe_file, find_equal_rules
from gitstore.comparison.project_changes import ProjectChanges
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.snapshot import CompiledFile, File, FileSource, Snapshot, take_snapshot
from gitstore.compiled.validation.lint import lint_snapshot
from gitstore.drafts.state_changes import compare_states
from gitstore.layout import PROJECT_FILE, TESTS_FILE, BlobId, FileRole, TreeId, role_of
from gitstore.namespaces.checkout import list_files, read_files
from gitstore.namespaces.parallel_reading import ParallelSegments

_RULES = (FileRole.REDIRECTS, FileRole.PAGES)


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """The changes of each project since a commit."""

    since: ChangedFiles
    projects: Sequence[ProjectChanges]


@dataclass(frozen=True)
class _State:
    """A project in one state: its files, their content, and the snapshot; None of a project that does not exist."""

    files: Mapping[str, File] = field(default_factory=dict)
    source: FileSource | None = None
    snapshot: Snapshot | None = None

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None for a missing one."""
        return self.source.blob(self.files[path].blob) if self.source and path in self.files else None


class _Segments(ParallelSegments):
    """Segments that both states use, so that an unchanged file is read once."""

    def __init__(self) -> None:
        super().__init__(None)
        self._known: dict[BlobId, Segment] = {}

    def find_outlined(
        self, project: str, blobs: Sequence[BlobId], load: Callable[[BlobId], Segment]
    ) -> Mapping[BlobId, Segment]:
        """Return the segments of a project with many files."""
        self._known |= super().find_outlined(project, [blob for blob in blobs if blob not in self._known], load)
        return {blob: self._known[blob] for blob in blobs if blob in self._known}


def compare_folder(path: Path, revision: str, head: str, limits: PatternLimits) -> FolderChanges:
    """Compare the folder of a namespace or project with the commit where it parts from `revision`.

    With `head`, that revision is compared in place of the files on disk.
    """
    git = open_git(path)
    since = find_changed_files(git, revision, head)
    old = list_tree(git, since.commit)
    new = list_tree(git, head) if head else None
    names = _project_names(_paths(path, new)) or _project_names([file.path for file in old])
    if not names:
        raise InvalidUsage(
            f"{path} contains no project: a project is a folder with {PROJECT_FILE}, redirects or pages."
        )
    known = {"": None} if names == [""] else dict.fromkeys([*names, *_folders([file.path for file in old])])
    wanted = sorted(name for name in known if not name or name in since.top_names)
    segments, found = _Segments(), []
    for name in wanted if since.paths else ():
        before = _from_git(git, name, old, segments)
        after = _from_disk(path / name, name, segments) if new is None else _from_git(git, name, new, segments)
        if before.snapshot or after.snapshot:
            found.append(_compare(name or path.resolve().name, before, after, limits))
    return FolderChanges(since, found)


def _paths(path: Path, files: Sequence[File] | None) -> list[str]:
    return list(list_files(path)) if files is None else [file.path for file in files]


def _project_names(paths: Sequence[str]) -> list[str]:
    """Return the names of the projects among these files: one without a name where the folder is a project itself."""
    folders = _folders(paths)
    if PROJECT_FILE in paths:
        return [""]
    if any(f"{name}/{PROJECT_FILE}" in set(paths) for name in folders):
        return folders
    if any(role_of(name) not in {FileRole.CONTENT, FileRole.UNKNOWN} for name in paths):
        return [""]
    return folders if any(role_of(name.partition("/")[2]) in _RULES for name in paths) else []


def _folders(paths: Sequence[str]) -> list[str]:
    return sorted({name for name, slash, _ in (path.partition("/") for path in paths) if slash and is_name(name)})


def _from_git(git: Git, name: str, files: Sequence[File], segments: _Segments) -> _State:
    prefix = f"{name}/" if name else ""
    own = [file._replace(path=file.path.removeprefix(prefix)) for file in files if file.path.startswith(prefix)]
    return _state(name, own, read_blobs(git, own), segments) if own else _State()


def _from_disk(folder: Path, name: str, segments: _Segments) -> _State:
    files, source = read_files(folder) if folder.is_dir() else ([], None)
    return _state(name, files, source, segments) if source and files else _State()


def _state(name: str, files: Sequence[File], source: FileSource, segments: _Segments) -> _State:
    snapshot = take_snapshot(name, TreeId(""), files, source, segments)
    return _State({file.path: file for file in files}, source, snapshot)


def _compare(name: str, before: _State, after: _State, limits: PatternLimits) -> ProjectChanges:
    files = list(_file_changes(name, before, after))
    return compare_states(name, (before.snapshot, after.snapshot), files, lint_snapshot, limits)


def _file_changes(project: str, before: _State, after: _State) -> Iterator[FileChange]:
    """Yield the files that differ apart from rules, in path order, as `file_changes` does for trees."""
    only = dict(chain.from_iterable(find_equal_rules(*sides) for sides in _differing_rules(before, after)))
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        if old == new or (path not in only and (role_of(path) in _RULES or _is_content(path, before, after))):
            continue
        change = change_type(old, new)
        if path in {PROJECT_FILE, TESTS_FILE}:
            yield describe_file(f"{project}/{path}", change, before.read(path), after.read(path))
        else:
            yield FileChange(f"{project}/{path}", change, only=only.get(path))


def _differing_rules(
    before: _State, after: _State
) -> Iterator[tuple[dict[str, CompiledFile], dict[str, CompiledFile]]]:
    """Yield the rule files of each kind that differ, on both sides; none if the project is added or removed."""
    if before.snapshot and after.snapshot:
        for kind in Kind:
            old, new = (
                {file.path: file for file in side.rule_files[kind]} for side in (before.snapshot, after.snapshot)
            )
            yield (
                {path: file for path, file in old.items() if before.files[path] != after.files.get(path)},
                {path: file for path, file in new.items() if after.files[path] != before.files.get(path)},
            )


def _is_content(path: str, before: _State, after: _State) -> bool:
    """Tell whether a page names the file on each side that has it: then the page's own change shows it."""
    sides = [side for side in (before, after) if path in side.files]
    return all(side.snapshot is not None and path in side.snapshot.bodies for side in sides)
