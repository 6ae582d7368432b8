"""What is chosen for single conflicts, applied to the rules and files of a draft."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from content.decision import Decision, digest
from content.merge import WHOLE_RULE
from content.problem import Problem
from content.record import identity_id
from content.vocabulary import Kind
from gitstore.errors import Invalid, NotFound

FILE = "file"
_KINDS = {"redirect": Kind.REDIRECTS, "page": Kind.PAGES}
Conflict = Mapping[str, Any]


class Choice(NamedTuple):
    """How one conflict is settled: `take` is `draft`, `release`, or `value` for what is in `value`.

    `id` is the record's, or of kind `file` the file's path in the namespace; `field` as in the conflict.
    """

    kind: str
    id: str
    field: str
    take: str
    value: Any = None


def choose(conflicts: Sequence[Conflict], choices: Sequence[Choice]) -> list[tuple[Choice, Conflict]]:
    """Each choice with its conflict; NotFound where there is none, Invalid where two are for one."""
    known = {(each["kind"], each.get("id") or each["file"], each["field"]): each for each in conflicts}
    found: dict[tuple[str, str, str], tuple[Choice, Conflict]] = {}
    for place, choice in enumerate(choices):
        key = choice[:3]
        if key not in known:
            raise NotFound(
                f"There is no conflict {_name(choice)}; nothing was settled. GET …/draft lists those there are."
            )
        if key in found:
            message = f"The conflict {_name(choice)} is settled twice."
            raise Invalid(message, [Problem("settled_twice", message, pointer=f"/choices/{place}")])
        found[key] = choice, known[key]
    return list(found.values())


def decisions_of(choice: Choice, conflict: Conflict) -> list[Decision]:
    """What a choice settles; that of a whole rule settles every field of it, too."""
    kind, release = choice.kind, conflict["release"]
    id_ = identity_id(choice.id) if kind == FILE else choice.id
    whole = Decision(kind, id_, choice.field, digest(release))
    if kind == FILE or choice.field != WHOLE_RULE or release is None:
        return [whole]
    names = {*release, *(conflict["draft"] or {}), *((choice.value or {}) if choice.take == "value" else {})}
    return [whole, *(Decision(kind, id_, name, digest(release.get(name))) for name in names)]


def kind_of(choice: Choice) -> Kind:
    """The kind of the record that a choice is about."""
    return _KINDS[choice.kind]


def _name(choice: Choice) -> str:
    where = f"of {choice.kind} {choice.id[:200]!r}"
    return f"{where} on {choice.field[:40]!r}" if choice.field else where
