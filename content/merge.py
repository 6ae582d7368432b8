"""Three-way merge of a project's records: by rule, and within a rule field by field; where a rule stands is a field too.

Only the same field of the same rule, changed differently on both sides, is a conflict, unless it was settled.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from content.decision import Decisions, digest
from content.diff import compared_fields, identity_field, item_kind
from content.merge_order import merge_order
from content.record import Page, Placed, Record, identity_id, page_of, redirect_of
from content.vocabulary import Kind

R = TypeVar("R", bound=Record)
WHOLE_RULE = ""
"""The field of a conflict between a removal and a change: its values are all the rule's fields."""
_NOTHING = Decisions()


@dataclass(frozen=True, slots=True)
class Conflict:
    """One field changed differently on both sides.

    `field` is a wire name, `file` (where the rule stands), `contentFile` (of a page), or empty for the whole rule.
    `base`, `release` and `draft` are its values, None where a side has none; for the whole rule a mapping of all
    fields, None where the rule is absent.
    """

    kind: Kind
    identity: str
    field: str
    base: object
    release: object
    draft: object

    @property
    def id(self) -> str:
        """The API's id of the record."""
        return identity_id(self.identity)

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API: `kind` in the singular, the identity by its own name."""
        return {
            "kind": item_kind(self.kind),
            "id": self.id,
            identity_field(self.kind): self.identity,
            "field": self.field,
            "base": self.base,
            "release": self.release,
            "draft": self.draft,
        }


@dataclass(frozen=True, slots=True)
class Merge(Generic[R]):
    """The merged records in their order (`line` 0, `position` counted anew), with release's value where there is a conflict."""

    placed: tuple[Placed[R], ...]
    conflicts: tuple[Conflict, ...]


def merge(
    base: Mapping[str, Placed[R]],
    ours: Mapping[str, Placed[R]],
    theirs: Mapping[str, Placed[R]],
    settled: Decisions = _NOTHING,
) -> Merge[R]:
    """Merge what release (`ours`) and the draft (`theirs`) made of `base`.

    Each is keyed by identity, in the order of the files, which are in the order of their paths; so is what comes back.
    Where a decision is `settled` and release still has the value that it was made on, the draft's value holds.
    """
    merged: dict[str, Placed[R]] = {}
    conflicts: list[Conflict] = []
    for key in dict.fromkeys((*ours, *theirs)):
        winner, found = _merge_rule(key, _Sides(base.get(key), ours.get(key), theirs.get(key)), settled)
        conflicts += found
        if winner is not None:
            merged[key] = winner
    order = merge_order(merged, base, ours, theirs)
    placed = tuple(Placed(merged[key].record, merged[key].file, 0, position) for position, key in enumerate(order))
    return Merge(placed, tuple(conflicts))


class _Sides(NamedTuple):
    """One rule in the three states; None where it is absent."""

    base: Placed[Any] | None
    ours: Placed[Any] | None
    theirs: Placed[Any] | None


def _merge_rule(key: str, sides: _Sides, settled: Decisions) -> tuple[Placed[Any] | None, list[Conflict]]:
    base, ours, theirs = sides
    if _is_same(ours, theirs):
        return ours, []
    decided = settled.of(item_kind(_kind(sides)), key)
    if WHOLE_RULE in decided and digest(whole_rule(ours)) in decided[WHOLE_RULE]:
        return theirs, []
    if ours is None or theirs is None or not decided:
        if _is_same(base, theirs):
            return ours, []
        if _is_same(base, ours):
            return theirs, []
    if ours is None or theirs is None:
        return ours, [Conflict(_kind(sides), key, WHOLE_RULE, *map(whole_rule, sides))]
    return _merge_fields(key, sides, decided)


def _is_same(one: Placed[Any] | None, other: Placed[Any] | None) -> bool:
    if one is other or one is None or other is None:
        return one is other
    return one.file == other.file and (one.record is other.record or one.record == other.record)


def _merge_fields(key: str, sides: _Sides, decided: Mapping[str, set[str]]) -> tuple[Placed[Any], list[Conflict]]:
    kind = _kind(sides)
    base, ours, theirs = (whole_rule(placed) or {} for placed in sides)
    merged: dict[str, object] = {}
    conflicts = []
    for name in dict.fromkeys((*ours, *theirs)):
        before, release, draft = base.get(name), ours.get(name), theirs.get(name)
        is_settled = name in decided and digest(release) in decided[name]
        if release != before != draft != release and not is_settled:
            conflicts.append(Conflict(kind, key, name, before, release, draft))
        merged[name] = draft if release == before or is_settled else release
    return rule_of(kind, merged), conflicts


def whole_rule(placed: Placed[Any] | None) -> dict[str, object] | None:
    """All fields of a rule with the `file` that it stands in, as conflicts have them; None where it is absent."""
    return None if placed is None else {**compared_fields(placed.record), "file": placed.file}


def rule_of(kind: Kind, fields: Mapping[str, Any]) -> Placed[Any]:
    """The rule with these fields, as `whole_rule` gives them; a field that is None is not there."""
    known = {name: value for name, value in fields.items() if value is not None}
    record = page_of(known, known.get("contentFile", "")) if kind is Kind.PAGES else redirect_of(known)
    return Placed(record, known["file"])


def _kind(sides: _Sides) -> Kind:
    is_page = any(placed is not None and isinstance(placed.record, Page) for placed in sides)
    return Kind.PAGES if is_page else Kind.REDIRECTS
