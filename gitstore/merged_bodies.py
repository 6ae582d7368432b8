"""The files with the contents of pages after a merge: each holds what the merged page says, and none is left over."""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence

from content.problem import Problem
from content.record import Page, Placed
from content.vocabulary import Kind
from gitstore.errors import Invalid
from gitstore.layout import BlobId
from gitstore.rule_lists import bodies_of
from gitstore.snapshot import Snapshot

Files = MutableMapping[str, BlobId | bytes | None]


def merge_bodies(files: Files, merged: Sequence[Placed[Page]], sides: Sequence[Snapshot | None], project: str) -> None:
    """Put the contents of the merged pages into `files`; `sides` are base, release and draft.

    Raises Invalid where two pages that share a file shall have different contents.
    """
    wanted = _wanted(merged, project)
    draft, release = sides[2], sides[1]
    for path, text in wanted.items():
        taken = draft if path in files else release
        present = taken.bodies.get(path) if taken and files.get(path, b"") is not None else None
        if text != present and (text or path in files or present):  # what cannot be read stays as it is
            files[path] = text.encode()
    named = {*wanted, *_untouched(merged, release, project)}
    for path in {path for side in sides if side for path in side.bodies} - named:
        if path in files or (release and path in release.bodies):
            files[path] = None


def _wanted(merged: Iterable[Placed[Page]], project: str) -> Mapping[str, str]:
    wanted: dict[str, str] = {}
    for placed in merged:
        for path in bodies_of([(placed.file.removeprefix(f"{project}/"), placed.record)]):
            if wanted.setdefault(path, placed.record.content) != placed.record.content:
                message = (
                    f"The pages that have their content in {project}/{path} would need different ones. "
                    "Settle them alike, or give one of them a file of its own."
                )
                raise Invalid(message, [Problem("shared_file", message, file=f"{project}/{path}")])
    return wanted


def _untouched(merged: Iterable[Placed[Page]], release: Snapshot | None, project: str) -> list[str]:
    """What the pages name whose files were no part of the merge."""
    rewritten = {placed.file.removeprefix(f"{project}/") for placed in merged}
    rest = [file for file in (release.rule_files[Kind.PAGES] if release else ()) if file.path not in rewritten]
    return bodies_of((file.path, record) for file in rest for record in file.part.records)
