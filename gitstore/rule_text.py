"""Files of rules that differ though no rule in them does: their comments or layout, or where rules stand.

What the difference of rules tells is not told here again: a file with a rule that came, went or changed is left out.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from operator import eq

from content.record import Record
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.errors import Invalid
from gitstore.layout import ROLE_OF_KIND, role_of
from gitstore.part import Part
from gitstore.snapshot import File, Snapshot

_ROLES = frozenset(ROLE_OF_KIND.values())


class Only(StrEnum):
    """All that differs in a file of rules: its comments and layout, or the order of rules and the file they stand in."""

    TEXT = "text"
    ORDER = "order"


def same_rules(compiler: Compiler, project: str, old: Iterable[File], new: Iterable[File]) -> dict[str, Only]:
    """Of the files that differ, on either side, those of rules in which no rule does, by path, with what does."""
    rule_files = [[file for file in side if role_of(file.path) in _ROLES] for side in (old, new)]
    if not any(rule_files):
        return {}
    try:
        before, after = (compiler.excerpt(project, side) for side in rule_files)
    except Invalid:
        return {}
    return dict(found for kind in Kind for found in _of_kind(_parts(kind, before), _parts(kind, after)))


def _parts(kind: Kind, snapshot: Snapshot) -> dict[str, Part]:
    return {file.path: file.part for file in snapshot.rule_files[kind]}


def _of_kind(old: dict[str, Part], new: dict[str, Part]) -> Iterator[tuple[str, Only]]:
    stays = _ids(old.values()) & _ids(new.values())
    for path in sorted(old.keys() | new.keys()):
        sides = [list(side[path].ids) if path in side else [] for side in (old, new)]
        if not stays.issuperset(sides[0] + sides[1]):
            continue
        if sides[0] == sides[1]:
            if all(map(eq, _records(old.get(path)), _records(new.get(path)))):
                yield path, Only.TEXT
        elif _all_found(old, new, {*sides[0], *sides[1]}):
            yield path, Only.ORDER


def _records(part: Part | None) -> Iterator[Record]:
    """One after another: mostly the first one that differs is near the begin."""
    return (part.record(at) for at in range(len(part))) if part else iter(())


def _all_found(old: dict[str, Part], new: dict[str, Part], ids: set[int]) -> bool:
    """Tell whether these records are on both sides as they are, in whichever file."""
    before, after = (_by_id(side.values(), ids) for side in (old, new))
    return before == after


def _by_id(parts: Iterable[Part], ids: set[int]) -> dict[int, Record]:
    places = ((part, at, number) for part in parts for at, number in enumerate(part.ids) if number in ids)
    return {number: part.record(at) for part, at, number in places}


def _ids(parts: Iterable[Part]) -> frozenset[int]:
    return frozenset().union(*(part.id_set for part in parts))
