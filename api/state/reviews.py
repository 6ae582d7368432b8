"""What people said of drafts, as rows. They stay when a draft has ended: which of them are of a draft, its commits tell."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, insert, select

from api.state import audit, events
from api.state.audit import Actor, Entry, Event
from api.state.events import EventType
from api.state.tables import reviews
from gitstore.messages import signature
from gitstore.repository import Author

_AT_ONCE = 500
"""How many commits one query names; SQLite takes at most 999 values in older builds."""


class Action(StrEnum):
    """What can be said of a draft."""

    REQUEST = "request"
    APPROVE = "approve"
    REJECT = "reject"
    COMMENT = "comment"


_AUDITED = {
    Action.REQUEST: Event.REVIEW_REQUESTED,
    Action.APPROVE: Event.DRAFT_APPROVED,
    Action.REJECT: Event.DRAFT_REJECTED,
}

_TOLD = {
    Action.REQUEST: EventType.REVIEW_REQUESTED,
    Action.APPROVE: EventType.REVIEW_APPROVED,
    Action.REJECT: EventType.REVIEW_REJECTED,
    Action.COMMENT: EventType.REVIEW_COMMENTED,
}
_LONGEST_NOTE = 1000


class DraftKey(NamedTuple):
    """The draft of a project of a namespace."""

    namespace: str
    project: str
    draft: str


class Person(NamedTuple):
    """Who said it, as they were called then; `email` tells people apart, and is that of their commits."""

    kind: str
    id: int
    name: str
    display_name: str
    email: str


class Origin(NamedTuple):
    """Where it came from, for the audit trail: a network address, or who at the command line spoke for the user."""

    address: str | None = None
    operator: str = ""


class Topic(NamedTuple):
    """The one record that a comment is on: `kind` is redirect or page."""

    kind: str
    id: str


_NOWHERE = Origin()


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was said of one head of a draft; `id` is 0 until it is stored."""

    at: datetime
    draft: DraftKey
    head: str
    action: Action
    person: Person
    note: str = ""
    topic: Topic | None = None
    id: int = 0


def add_remark(connection: Connection, remark: Remark, origin: Origin = _NOWHERE) -> int:
    """Store what was said, with its line in the audit trail, in one transaction; gives its id."""
    person = remark.person
    row = {
        **remark.draft._asdict(),
        "at": remark.at,
        "head": remark.head,
        "action": remark.action.value,
        "note": remark.note,
        "item_kind": remark.topic.kind if remark.topic else None,
        "item_id": remark.topic.id if remark.topic else None,
        "actor_kind": person.kind,
        "actor_id": person.id,
        "actor_name": person.name,
        "display_name": person.display_name,
        "email": person.email,
    }
    if remark.action in _AUDITED:
        actor = Actor(person.kind, person.id or None, person.name)
        detail = {"head": remark.head} | ({"operator": origin.operator} if origin.operator else {})
        namespace, project, draft = remark.draft
        event = _AUDITED[remark.action]
        audit.record(connection, Entry(remark.at, event, actor, draft, detail, namespace, project, origin.address))
    _tell(connection, remark)
    return int(connection.execute(insert(reviews).values(row).returning(reviews.c.id)).scalar_one())


def _tell(connection: Connection, remark: Remark) -> None:
    """Record the event of what was said; who said it is named as in the events of publishes."""
    namespace, project, draft = remark.draft
    by = signature(Author(remark.person.display_name, remark.person.email))
    body: dict[str, object] = {"draft": draft, "head": remark.head, "by": by, "note": remark.note[:_LONGEST_NOTE]}
    if remark.action is Action.COMMENT:
        body["item"] = remark.topic._asdict() if remark.topic else None
    events.record_event(connection, events.Event(remark.at, namespace, project, _TOLD[remark.action], body))


def find_remarks(connection: Connection, draft: DraftKey, heads: Collection[str]) -> list[Remark]:
    """What was said of these commits of a draft, in the order it was said."""
    named = sorted(heads)
    of_draft = select(reviews).where(*(reviews.c[name] == value for name, value in draft._asdict().items()))
    found = [
        _remark(row)
        for start in range(0, len(named), _AT_ONCE)
        for row in connection.execute(of_draft.where(reviews.c.head.in_(named[start : start + _AT_ONCE])))
    ]
    return sorted(found, key=lambda remark: remark.id)


def _remark(row: Row[Any]) -> Remark:
    return Remark(
        row.at,
        DraftKey(row.namespace, row.project, row.draft),
        row.head,
        Action(row.action),
        Person(row.actor_kind, row.actor_id, row.actor_name, row.display_name, row.email),
        row.note,
        Topic(row.item_kind, row.item_id) if row.item_kind else None,
        row.id,
    )
