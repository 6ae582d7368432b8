"""File paths in a project's folder: the valid ones, and the errors for the others."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from unicodedata import normalize

from content.records.problem import Problem
from gitstore.errors import BadRequest, Invalid
from gitstore.layout import BlobId, is_safe_name

MAX_FOLDER_DEPTH = 32  # levels of folders, the project's own included

# Contents by path; None removes the file.
Blobs = Mapping[str, BlobId | None]


def printable_path(path: str) -> str:
    """Return a path as printable text: bytes that are not UTF-8 become hexadecimal escapes."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def depth_error(path: str) -> Invalid:
    """Return the error for a path with too many folders."""
    message = f"The path has more than {MAX_FOLDER_DEPTH} levels of folders. Move the file up."
    return Invalid(message, [Problem("too_deep", message, file=path[:200])])


def path_conflict(path: str) -> Invalid:
    """Return the error for a path that would be both a file and a folder."""
    return _path_conflict(path, f"{path[:100]!r} cannot be both a file and a folder. Choose another path.")


def _case_collision(path: str, other: str) -> Invalid:
    """Return the error for a path that differs from another one only in case."""
    # File systems of macOS and Windows ignore case:
    # https://git-scm.com/docs/git-config#Documentation/git-config.txt-coreignoreCase
    why = "a checkout on macOS or Windows would lose one of them"
    return _path_conflict(
        path, f"{path[:100]!r} differs from {other[:100]!r} only in case: {why}. Choose another path."
    )


def _path_conflict(path: str, message: str) -> Invalid:
    return Invalid(message, [Problem("path_taken", message, file=printable_path(path[:200]))])


def require_depth(paths: Iterable[str]) -> None:
    """Raise Invalid if one of these paths, relative to the project's folder, has too many folders."""
    for path in paths:
        if path.count("/") >= MAX_FOLDER_DEPTH:
            raise depth_error(path)


def require_free_paths(project: str, there: Collection[str], changes: Mapping[str, object]) -> None:
    """Raise Invalid if a new file of the changes would replace another file or folder.

    Its path cannot be both a file and a folder, nor differ from another one only in case. Older conflicts stay.
    """
    gone = {path for path, content in changes.items() if content is None}
    if set(changes) - gone <= set(there):
        return
    before, after = _places(there), _places((set(there) | set(changes)) - gone)
    spelled: dict[str, list[_Place]] = {}
    for place in sorted(after):
        spelled.setdefault(place.path.casefold(), []).append(place)
    for place in sorted(after - before):
        for other in spelled[place.path.casefold()]:
            if other.path != place.path:
                raise _case_collision(f"{project}/{place.path}", f"{project}/{other.path}")
            if other != place:
                raise path_conflict(f"{project}/{place.path}")


class _Place(NamedTuple):
    path: str
    is_folder: bool


def _places(files: Iterable[str]) -> set[_Place]:
    """Collect the files, and all folders above them."""
    found = set()
    for path in files:
        found.add(_Place(path, is_folder=False))
        found |= {_Place(path[:at], is_folder=True) for at, letter in enumerate(path) if letter == "/"}
    return found


def split_by_folder(changes: Blobs) -> tuple[dict[str, BlobId | None], dict[str, dict[str, BlobId | None]]]:
    """Split changes of a folder into those of its own files and, by name, those of each folder in it."""
    here: dict[str, BlobId | None] = {}
    below: dict[str, dict[str, BlobId | None]] = {}
    for path, content in changes.items():
        head, slash, rest = path.partition("/")
        if content is not None and (not is_safe_name(head) or (slash and not rest)):
            raise BadRequest(f"{path[:100]!r} is not a valid file path. Choose another path.")
        if rest:
            below.setdefault(head, {})[rest] = content
        else:
            here[head] = content
    return here, below


def fold_name(name: str) -> str:
    """Return a name as file systems compare it that ignore case and the forms of Unicode."""
    return normalize("NFC", normalize("NFC", name).casefold())
