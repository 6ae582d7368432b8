"""Where files can stand in a project's folder, and what is said of those that cannot."""

from collections.abc import Iterable, Mapping

from content.problem import Problem
from gitstore.errors import BadRequest, Invalid
from gitstore.layout import BlobId, is_safe_name

DEEPEST = 32
"""How many folders stand in each other at most, the project's own among them."""

Blobs = Mapping[str, BlobId | None]
"""Contents by path; None is a file that goes."""


def too_deep(path: str) -> Invalid:
    """What is said of a path of more folders."""
    message = f"Folders may stand in each other at most {DEEPEST} deep."
    return Invalid(message, [Problem("too_deep", message, file=path[:200])])


def taken(path: str) -> Invalid:
    """What is said of a path that would be a file and a folder at once."""
    message = f"{path[:100]!r} cannot be a file and a folder at once. Name another file."
    return Invalid(message, [Problem("path_taken", message, file=path[:200])])


def must_be_in_reach(paths: Iterable[str]) -> None:
    """Raise Invalid where one of these paths, relative to the project's folder, has too many folders."""
    for path in paths:
        if path.count("/") >= DEEPEST:
            raise too_deep(path)


def must_be_free(paths: Iterable[str]) -> None:
    """Raise Invalid where one of these files would have to be the folder of another one."""
    files = set(paths)
    for path in files:
        ends = (at for at, letter in enumerate(path) if letter == "/")
        for folder in (path[:end] for end in ends):
            if folder in files:
                raise taken(folder)


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
