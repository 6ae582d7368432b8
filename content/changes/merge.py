"""Three-way merge of a project's records, by rule and within a rule by field; the file of a rule is a field too.

The only conflict is a field of a rule that both sides changed differently, without a decision on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from content.changes.decision import Decisions, digest
from content.changes.diff import editable_fields, identity_field, item_kind
from content.changes.merge_order import merge_order
from content.records.record import Page, Placed, Record, identity_id, page_of, redirect_of
from content.records.vocabulary import Kind

R = TypeVar("R", bound=Record)
WHOLE_RULE = ""  # the field of a conflict between a removal and a change: its values are all the rule's fields
_NO_DECISIONS = Decisions()


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that both sides changed differently.

    `field` is a wire name, `file` (of the rule), `contentFile` (of a page), or empty for the whole rule.
    `base`, `release` and `draft` are its values, None where a side lacks it; for the whole rule a mapping of all
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
        """Return the JSON shape of the API: `kind` in the singular, the identity by its own name."""
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
    """The merged records in order (`line` 0, `position` renumbered), with release's value in place of a conflict."""

    placed: tuple[Placed[R], ...]
    conflicts: tuple[Conflict, ...]


def merge(
    base: Mapping[str, Placed[R]],
    ours: Mapping[str, Placed[R]],
    theirs: Mapping[str, Placed[R]],
    decisions: Decisions = _NO_DECISIONS,
) -> Merge[R]:
    """Merge the changes of release (`ours`) and of the draft (`theirs`) since `base`.

    Each is keyed by identity, in the order of the files, which are sorted by path; so is the result. A decision selects
    the draft's value while release still has the value that the decision is about.
    """
    merged: dict[str, Placed[R]] = {}
    conflicts: list[Conflict] = []
    for key in dict.fromkeys((*ours, *theirs)):
        winner, found = _merge_rule(key, _Sides(base.get(key), ours.get(key), theirs.get(key)), decisions)
        conflicts += found
        if winner is not None:
            merged[key] = winner
    order = merge_order(merged, base, ours, theirs)
    placed = tuple(Placed(merged[key].record, merged[key].file, 0, position) for position, key in enumerate(order))
    return Merge(placed, tuple(conflicts))


class _Sides(NamedTuple):
    """A rule in the three states; None where it is absent."""

    base: Placed[Any] | None
    ours: Placed[Any] | None
    theirs: Placed[Any] | None


def _merge_rule(key: str, sides: _Sides, decisions: Decisions) -> tuple[Placed[Any] | None, list[Conflict]]:
    base, ours, theirs = sides
    if _is_same(ours, theirs):
        return ours, []
    decided = decisions.of(item_kind(_kind(sides)), key)
    if WHOLE_RULE in decided and digest(rule_fields(ours)) in decided[WHOLE_RULE]:
        return theirs, []
    if ours is None or theirs is None or not decided:
        if _is_same(base, theirs):
            return ours, []
        if _is_same(base, ours):
            return theirs, []
    if ours is None or theirs is None:
        return ours, [Conflict(_kind(sides), key, WHOLE_RULE, *map(rule_fields, sides))]
    return _merge_fields(key, sides, decided)


def _is_same(one: Placed[Any] | None, other: Placed[Any] | None) -> bool:
    if one is other or one is None or other is None:
        return one is other
    return one.file == other.file and (one.record is other.record or one.record == other.record)


def _merge_fields(key: str, sides: _Sides, decided: Mapping[str, set[str]]) -> tuple[Placed[Any], list[Conflict]]:
    kind = _kind(sides)
    base, ours, theirs = (rule_fields(placed) or {} for placed in sides)
    merged: dict[str, object] = {}
    conflicts = []
    for name in dict.fromkeys((*ours, *theirs)):
        before, release, draft = base.get(name), ours.get(name), theirs.get(name)
        is_decided = name in decided and digest(release) in decided[name]
        if release != before != draft != release and not is_decided:
            conflicts.append(Conflict(kind, key, name, before, release, draft))
        merged[name] = draft if release == before or is_decided else release
    return rule_of(kind, merged), conflicts


def rule_fields(placed: Placed[Any] | None) -> dict[str, object] | None:
    """Return all fields of a rule, with its `file`, in the shape of a conflict; None where it is absent."""
    return None if placed is None else {**editable_fields(placed.record), "file": placed.file}


def rule_of(kind: Kind, fields: Mapping[str, Any]) -> Placed[Any]:
    """Return the rule with these fields, the inverse of `rule_fields`; a field that is None is absent."""
    known = {name: value for name, value in fields.items() if value is not None}
    record = page_of(known, known.get("contentFile", "")) if kind is Kind.PAGES else redirect_of(known)
    return Placed(record, known["file"])


def _kind(sides: _Sides) -> Kind:
    is_page = any(placed is not None and isinstance(placed.record, Page) for placed in sides)
    return Kind.PAGES if is_page else Kind.REDIRECTS
