"""What must be right in a side before it is merged, for merging would lose it in silence."""

from collections.abc import Collection
from dataclasses import replace

from content.diff import identity_field
from content.problem import Problem, errors
from content.vocabulary import Kind
from gitstore.errors import Invalid
from gitstore.snapshot import Snapshot


def must_be_mergeable(snapshot: Snapshot, kind: Kind, paths: Collection[str]) -> None:
    """Raise Invalid where one of these files has a rule that cannot be read, or a rule that another of them has too.

    The one would count as removed, and of the other two only one would stay.
    """
    seen: dict[str, str] = {}
    for file in (file for file in snapshot.rule_files[kind] if file.path in paths):
        path = snapshot.full_path(file.path)
        found = errors(list(file.part.problems))
        if found:
            placed = [replace(problem, file=path) for problem in found]
            raise Invalid(f"{path} has to be mended before the draft can be merged.", placed)
        for record, line in zip(file.part.records, file.part.lines, strict=True):
            if record.identity in seen:
                raise _twice(kind, record.identity, seen[record.identity], (path, line))
            seen[record.identity] = f"{path}, line {line}"


def _twice(kind: Kind, identity: str, first: str, place: tuple[str, int]) -> Invalid:
    name = identity_field(kind)
    message = f"{identity[:200]!r} stands in {first} already; keep one of the two."
    return Invalid(
        f"A {name} that stands twice has to be settled before the draft can be merged.",
        [Problem(f"duplicate_{name}", message, *place)],
    )
