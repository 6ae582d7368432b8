"""The thread of a proposal: the remarks on all of its projects, in one list."""

from collections.abc import Iterable, Sequence
from itertools import chain

from api.db.namespaces.reviews import Action, Remark


def join_remarks(threads: Iterable[Sequence[Remark]]) -> list[list[Remark]]:
    """Group the remarks of one statement or push on several projects, oldest first."""
    found: dict[tuple[object, ...], list[Remark]] = {}
    for remark in sorted(chain.from_iterable(threads), key=lambda each: each.id):
        at = None if remark.action is Action.PUSH else remark.at  # a head is pushed once by each person
        key = (at, remark.head, remark.action, remark.person.email, remark.note, remark.topic)
        found.setdefault(key, []).append(remark)
    return list(found.values())
