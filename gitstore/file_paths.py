"""Where files can stand in a project's folder, and what is said of those that cannot."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from content.problem import Problem
from gitstore.errors import BadRequest, Invalid
from gitstore.layout import BlobId, is_safe_name

DEEPEST = 32
"""How many folders stand in each other at most, the project's own among them."""

Blobs = Mapping[str, BlobId | None]
"""Contents by path; None is a file that goes."""


def shown(path: str) -> str:
    """A path as it can be told: bytes that are not UTF-8 are spelled out in hexadecimal."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def too_deep(path: str) -> Invalid:
    """What is said of a path of more folders."""
    message = f"Folders may stand in each other at most {DEEPEST} deep."
    return Invalid(message, [Problem("too_deep", message, file=path[:200])])


def taken(path: str) -> Invalid:
    """What is said of a path that would be a file and a folder at once."""
    return _taken(path, f"{path[:100]!r} cannot be a file and a folder at once. Name another file.")


def _twin(path: str, other: str) -> Invalid:
    """What is said of a path that differs from another one in case only."""
    why = "in a checkout on macOS or Windows one of them would be lost"
    return _taken(path, f"{path[:100]!r} differs from {other[:100]!r} in case only: {why}. Name another file.")


def _taken(path: str, message: str) -> Invalid:
    return Invalid(message, [Problem("path_taken", message, file=shown(path[:200]))])


def must_be_in_reach(paths: Iterable[str]) -> None:
    """Raise Invalid where one of these paths, relative to the project's folder, has too many folders."""
    for path in paths:
        if path.count("/") >= DEEPEST:
            raise too_deep(path)


def must_be_free(project: str, there: Collection[str], changes: Mapping[str, object]) -> None:
    """Raise Invalid where a file of the changes that is not there yet would take the place of another file or folder.

    Its path may not be a file and a folder at once, nor differ from another one in case alone. What was so before stays.
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
                raise _twin(f"{project}/{place.path}", f"{project}/{other.path}")
            if other != place:
                raise taken(f"{project}/{place.path}")


class _Place(NamedTuple):
    path: str
    is_folder: bool


def _places(files: Iterable[str]) -> set[_Place]:
    """The files, and every folder on the way to one."""
    found = set()
    for path in files:
        found.add(_Place(path, is_folder=False))
        found |= {_Place(path[:at], is_folder=True) for at, letter in enumerate(path) if letter == "/"}
    return found


def by_folder(changes: Blobs) -> tuple[dict[str, BlobId | None], dict[str, dict[str, BlobId | None]]]:
    """Divide changes of a folder into those of its own files and, by name, those of each folder in it."""
    here: dict[str, BlobId | None] = {}
    below: dict[str, dict[str, BlobId | None]] = {}
    for path, content in changes.items():
        head, slash, rest = path.partition("/")
        if content is not None and (not is_safe_name(head) or (slash and not rest)):
            raise BadRequest(f"A file cannot stand at {path[:100]!r}.")
        if rest:
            below.setdefault(head, {})[rest] = content
        else:
            here[head] = content
    return here, below
