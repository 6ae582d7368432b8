"""The check of pushed files: their names, kinds, places and sizes, and API tokens in them.

Only the differences between each new commit and its parents are read, so the cost follows the change.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from content.records.names import is_name
from content.records.problem import Problem
from gitstore.compiled.segments.file_problems import bad_file_name, bad_project_name, unread_beside, unread_inside
from gitstore.git.file_paths import MAX_FOLDER_DEPTH, fold_name, printable_path
from gitstore.git.modes import FILE_MODE, LINK_MODE, SUBMODULE_MODE
from gitstore.git.repository import CommitInfo, Repository, TreeEntry
from gitstore.layout import BlobId, CommitId, FileRole, TreeId, is_allowed_beside, is_safe_name, role_of

MAX_FILE_BYTES = 32 << 20
# Entries that one push may add or change; a few small folders, named again and again, could list billions of files.
MAX_ENTRIES = 500_000
MOST_PROBLEMS = 1_000
_FOLDER_MODE = 0o40000
_KINDS = {
    LINK_MODE: ("a symbolic link", "Replace it by the file, or remove it."),
    SUBMODULE_MODE: ("a submodule", "Remove it: git rm <path>"),
    0o100755: ("an executable file", "Make it a plain one: git update-index --chmod=-x <path>"),
    0o100664: ("a file with permissions that Git does not write any more", "Add it again."),
}

# Returns the position of a valid API token in a file, or None.
TokenFinder = Callable[[bytes], int | None]


def find_no_token(data: bytes) -> int | None:
    """Find nothing, where tokens are not looked for."""
    del data
    return None


class Known(Protocol):
    """The objects that are not checked again."""

    def has(self, object_id: str, /) -> bool:
        """Tell whether an object is known."""
        ...


def find_new_commits(repository: Repository, known: Repository, tip: CommitId) -> list[CommitInfo]:
    """List the commits that lead to a tip and are not in the repository yet, parents before their children."""
    found, ahead = dict[CommitId, CommitInfo](), [tip]
    while ahead:
        commit = ahead.pop()
        if commit not in found and not known.has(commit):
            found[commit] = repository.commit(commit)
            ahead += found[commit].parents
    return _in_order(found)


def _in_order(commits: dict[CommitId, CommitInfo]) -> list[CommitInfo]:
    ordered, seen = list[CommitInfo](), set[CommitId]()
    stack = [(commit, False) for commit in reversed(commits)]
    while stack:
        commit, is_ready = stack.pop()
        if is_ready:
            ordered.append(commits[commit])
        elif commit in commits and commit not in seen:
            seen.add(commit)
            stack += [(commit, True), *((parent, False) for parent in commits[commit].parents)]
    return ordered


class FileCheck:
    """The check of the files of new commits; `known` is the repository without what is pushed.

    `allowed` are the other files beside the projects. Files that a parent has at the same path are not read.
    """

    def __init__(self, repository: Repository, known: Known, allowed: Sequence[str], find_token: TokenFinder) -> None:
        self._repository = repository
        self._known = known
        self._allowed = allowed
        self._find_token = find_token
        self._entries = 0
        self._seen = set[BlobId]()

    def find_problems(self, info: CommitInfo) -> list[Problem]:
        """Return the problems of the files that a commit adds or changes."""
        parents = [self._repository.commit(parent).tree for parent in info.parents]
        found = list(self._check_commit(info.id))
        for problem in self._walk(info.tree, parents, "", 1):
            found.append(problem)
            if len(found) >= MOST_PROBLEMS:
                break
        return found

    def _check_commit(self, commit: CommitId) -> Iterator[Problem]:
        """Search the whole commit: Git keeps and shows headers that are not read here, such as that of another encoding."""
        _, data = self._repository.raw(commit)
        if self._find_token(data) is not None:
            message = "The message, the author or another header of the commit contains a valid API token. Remove it, and create another token."
            yield Problem("api_token", message)

    def _walk(self, tree: TreeId, parents: Sequence[TreeId], prefix: str, depth: int) -> Iterator[Problem]:
        if tree in parents:
            return
        if depth > MAX_FOLDER_DEPTH:
            message = f"The path has more than {MAX_FOLDER_DEPTH} levels of folders. Move the file up."
            yield Problem("too_deep", message, file=printable_path(prefix[:200]))
            return
        differing = self._repository.differing_entries(parents[0] if parents else None, tree)
        changed = [new for _, new in differing.values() if new and not self._is_in(parents[1:], new)]
        self._entries += len(changed)
        if self._entries > MAX_ENTRIES:
            yield Problem("too_many_files", f"The push has more than {MAX_ENTRIES:,} new files. Push it in parts.")
            return
        new = {name for name, (before, _) in differing.items() if before is None}
        if new:
            yield from _collisions(prefix, [entry.name for entry in self._repository.entries(tree)], new)
        for entry in changed:
            yield from self._check_entry(entry, parents, prefix, depth)

    def _is_in(self, parents: Sequence[TreeId], entry: TreeEntry) -> bool:
        return any(entry in self._repository.named_entries(parent, entry.name) for parent in parents)

    def _check_entry(self, entry: TreeEntry, parents: Sequence[TreeId], prefix: str, depth: int) -> Iterator[Problem]:
        if self._find_token(entry.name.encode(errors="replace")) is not None:
            message = "The name of a file or folder here contains a valid API token. Rename it in every commit, and create another token."
            yield Problem("api_token", message, file=printable_path(prefix[:1000]))
            return
        path = prefix + entry.name
        fault = _find_fault(entry, path, self._allowed)
        if fault and entry.is_folder and self._is_project(TreeId(entry.id)):
            yield replace(bad_project_name(), file=printable_path(path[:1000]))
        elif fault:
            yield replace(fault, file=printable_path(path[:1000]))
        elif entry.is_folder:
            below = (self._repository.named_entries(parent, entry.name) for parent in parents)
            folders = [TreeId(each.id) for found in below for each in found if each.is_folder]
            yield from self._walk(TreeId(entry.id), folders, f"{path}/", depth + 1)
        else:
            yield from self._check_content(BlobId(entry.id), path)

    def _is_project(self, folder: TreeId) -> bool:
        """Tell whether a folder has a file at its top that only a project has."""
        roles = {role_of(entry.name) for entry in self._repository.entries(folder) if _is_text(entry.name)}
        return not roles <= {FileRole.CONTENT, FileRole.UNKNOWN}

    def _check_content(self, blob: BlobId, path: str) -> Iterator[Problem]:
        if blob in self._seen or self._known.has(blob):
            return
        data = self._repository.blob(blob)
        if len(data) > MAX_FILE_BYTES:
            message = f"The file has {len(data):,} bytes; {MAX_FILE_BYTES >> 20} MiB are allowed. Split or remove it."
            yield Problem("too_large", message, file=path)
            return
        at = self._find_token(data)
        if at is not None:
            message = "The file contains a valid API token. Remove it from every commit, and create another token."
            yield Problem("api_token", message, file=path, line=data.count(b"\n", 0, at) + 1)
            return
        self._seen.add(blob)  # only what has passed: the next ref of the push may have the same files


def _find_fault(entry: TreeEntry, path: str, allowed: Sequence[str]) -> Problem | None:
    """Return the problem of an entry's name, kind or place."""
    if not _is_text(entry.name):
        return Problem("bad_name", "The name is not UTF-8. Rename the file.")
    if not is_safe_name(entry.name):
        return bad_file_name()
    if entry.mode not in {FILE_MODE, _FOLDER_MODE}:
        kind, action = _KINDS.get(entry.mode, ("of an unknown kind", "Replace or remove it."))
        return Problem("not_a_file", f"It is {kind}; only plain files are allowed. {action}")
    if _has_place(entry, path, allowed):
        return None
    return unread_inside() if "/" in path else unread_beside()


def _has_place(entry: TreeEntry, path: str, allowed: Sequence[str]) -> bool:
    """Tell whether something may read a file, or whether files may be in a folder."""
    project, slash, inner = path.partition("/")
    if is_name(project) and (slash or entry.is_folder):
        return entry.is_folder or role_of(inner) is not FileRole.UNKNOWN
    return is_allowed_beside(f"{path}/" if entry.is_folder else path, allowed)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a lone surrogate is in place of a byte
        return False
    return True


def _collisions(prefix: str, names: Sequence[str], new: set[str]) -> Iterator[Problem]:
    """Yield the problems of new names that some file system takes for another one in the folder."""
    first, counts = dict[str, str](), Counter(names)
    for name in sorted(counts, key=lambda name: (name in new, name)):
        other = first.setdefault(fold_name(name), name)
        if name in new and (other != name or counts[name] > 1):
            message = (
                f"The name differs from {printable_path(other)[:100]!r} only in case or in Unicode form: a checkout on "
                "macOS or Windows would lose one of them. Rename one."
            )
            yield Problem("path_taken", message, file=printable_path(prefix + name))
