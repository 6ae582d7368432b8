"""The files that pages name for their content, through a merge: which file it is, and what stands in it, are values each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, relpath
from typing import Any, TypeVar

from content.merge import Conflict
from content.record import Page, Placed
from content.vocabulary import Kind
from gitstore.layout import BlobId
from gitstore.snapshot import body_path

T = TypeVar("T")
_FIELD = "contentFile"
Side = Mapping[str, Placed[Any]]


def located(project: str, placed: Placed[Any]) -> Placed[Any]:
    """The same, the content's file named by its path in the project: the same file whatever folder names it."""
    named = _named(placed)
    if not named:
        return placed
    return replace(placed, record=replace(placed.record, content_file=body_path(_path(project, placed), named)))


def as_written(project: str, placed: Placed[Any], sides: Iterable[Side]) -> Placed[Any]:
    """What `located` made, as the page's file names its content: as a side had written it there, else the plain way.

    A content that cannot be named from there is written into the page; that is a conflict, which a person settles.
    """
    named = _named(placed)
    if not named:
        return placed
    if not is_in_reach(_path(project, placed), named):
        return replace(placed, record=replace(placed.record, content_file=""))
    for side in sides:
        found = side.get(placed.record.identity)
        if found and found.file == placed.file and _named(located(project, found)) == named:
            return replace(placed, record=replace(placed.record, content_file=_named(found)))
    plain = relpath(named, dirname(_path(project, placed)) or ".")
    return replace(placed, record=replace(placed.record, content_file=plain))


def is_in_reach(path: str, body: str) -> bool:
    """Tell whether a page in the file at `path` can name a content: it stands in the same folder, or below."""
    folder = dirname(path)
    return not folder or body.startswith(f"{folder}/")


def out_of_reach(project: str, placed: Placed[Any], sides: Sequence[Side]) -> Conflict | None:
    """The conflict of a page that one side moved where it cannot name the content that the other side gave it."""
    named = _named(placed)
    if not named or is_in_reach(_path(project, placed), named):
        return None
    key = placed.record.identity
    names = (_named(side[key]) or None if key in side else None for side in sides)
    return Conflict(Kind.PAGES, key, _FIELD, *names)


def merge_value(base: T, ours: T, theirs: T) -> tuple[T, bool]:
    """What one value merges to, and whether both sides changed it differently; ours then."""
    if theirs in (base, ours):
        return ours, False
    return (theirs, False) if ours == base else (ours, True)


@dataclass(frozen=True, slots=True)
class Bodies:
    """What pages say of contents after a merge: the texts that they want at a path, and the pages in dispute."""

    pages: Sequence[Placed[Any]]
    disputed: frozenset[str]

    def texts(self, path: str) -> set[str]:
        """The texts that the pages which name a file want in it: one, unless they disagree."""
        return {placed.record.content for placed in self.pages if _named(placed) == path}

    def is_disputed(self, path: str) -> bool:
        """Tell whether a page that names the file has a conflict already."""
        return any(_named(placed) == path and placed.record.identity in self.disputed for placed in self.pages)


def merge_body(
    wanted: set[str], blobs: Sequence[BlobId | None], read: Callable[[BlobId], bytes]
) -> tuple[BlobId | bytes | None, bool]:
    """What becomes of a named file, and whether that is disputed; `blobs` are base, release and draft.

    The pages' text decides, so that a change follows its page into another file; where they disagree, or the file is
    no text or not there, it is merged as one value.
    """
    whole, disputed = merge_value(*blobs)
    if len(wanted) != 1:
        return whole, disputed or len(wanted) > 1
    text = next(iter(wanted))
    if disputed:
        return text.encode(), False
    if whole is None:
        return (text.encode() or None), False
    return (whole, False) if _holds(read(whole), text) else (text.encode(), False)


def _holds(data: bytes, text: str) -> bool:
    """True also for what is no text: that a person has to mend, and an empty file in its place would hide it."""
    try:
        return data.decode() == text
    except UnicodeDecodeError:
        return True


def _named(placed: Placed[Any]) -> str:
    return placed.record.content_file if isinstance(placed.record, Page) else ""


def _path(project: str, placed: Placed[Any]) -> str:
    return placed.file.removeprefix(f"{project}/")
