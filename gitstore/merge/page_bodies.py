"""Content files of pages in a merge: a page's reference to its file is one value, the file's text another."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, relpath
from typing import Any, TypeVar

from content.changes.merge import Conflict
from content.records.record import Page, Placed
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import body_path
from gitstore.layout import BlobId, can_reference

T = TypeVar("T")
_FIELD = "contentFile"
Side = Mapping[str, Placed[Any]]


def with_project_path(project: str, placed: Placed[Any]) -> Placed[Any]:
    """Return the page with its content file by its path in the project, which does not depend on the page's folder."""
    named = _content_file_of(placed)
    if not named:
        return placed
    return replace(placed, record=replace(placed.record, content_file=body_path(_path(project, placed), named)))


def with_written_path(project: str, placed: Placed[Any], sides: Iterable[Side]) -> Placed[Any]:
    """Invert `with_project_path`: name the content file as a side wrote it there, else by its relative path.

    A content file that cannot be named from there is written into the page; that is a conflict for a person to resolve.
    """
    named = _content_file_of(placed)
    if not named:
        return placed
    if not can_reference(_path(project, placed), named):
        return replace(placed, record=replace(placed.record, content_file=""))
    for side in sides:
        found = side.get(placed.record.identity)
        if found and found.file == placed.file and _content_file_of(with_project_path(project, found)) == named:
            return replace(placed, record=replace(placed.record, content_file=_content_file_of(found)))
    plain = relpath(named, dirname(_path(project, placed)) or ".")
    return replace(placed, record=replace(placed.record, content_file=plain))


def find_unreachable_content(project: str, placed: Placed[Any], sides: Sequence[Side]) -> Conflict | None:
    """Return the conflict of a page that one side moved to where it cannot name the other side's new content file."""
    named = _content_file_of(placed)
    if not named or can_reference(_path(project, placed), named):
        return None
    key = placed.record.identity
    names = (_content_file_of(side[key]) or None if key in side else None for side in sides)
    return Conflict(Kind.PAGES, key, _FIELD, *names)


def merge_value(base: T, ours: T, theirs: T) -> tuple[T, bool]:
    """Merge one value; returns ours, and true, where both sides changed it differently."""
    if theirs in (base, ours):
        return ours, False
    return (theirs, False) if ours == base else (ours, True)


@dataclass(frozen=True, slots=True)
class MergedBodies:
    """The merged pages with their intended texts of content files, and the pages with conflicts."""

    pages: Sequence[Placed[Any]]
    disputed: frozenset[str]

    def texts(self, path: str) -> set[str]:
        """Return the intended texts of a content file: one, unless its pages disagree."""
        return {placed.record.content for placed in self.pages if _content_file_of(placed) == path}

    def is_disputed(self, path: str) -> bool:
        """Return whether a page with this content file already has a conflict."""
        return any(
            _content_file_of(placed) == path and placed.record.identity in self.disputed for placed in self.pages
        )


def merge_body(
    wanted: set[str], blobs: Sequence[BlobId | None], read: Callable[[BlobId], bytes]
) -> tuple[BlobId | bytes | None, bool]:
    """Merge a content file; returns true where it is in conflict. `blobs` are base, release and draft.

    The pages' text decides, so that a change follows its page into another file; where they disagree, or the file is
    not text or is missing, it is merged as one value.
    """
    whole, disputed = merge_value(*blobs)
    if len(wanted) != 1:
        return whole, disputed or len(wanted) > 1
    text = next(iter(wanted))
    if disputed:
        return text.encode(), False
    if whole is None:
        return (text.encode() or None), False
    return (whole, False) if _has_text(read(whole), text) else (text.encode(), False)


def _has_text(data: bytes, text: str) -> bool:
    """Return whether the file has the text; true also for non-text, which an empty file in its place would hide."""
    try:
        return data.decode() == text
    except UnicodeDecodeError:
        return True


def _content_file_of(placed: Placed[Any]) -> str:
    return placed.record.content_file if isinstance(placed.record, Page) else ""


def _path(project: str, placed: Placed[Any]) -> str:
    return placed.file.removeprefix(f"{project}/")
