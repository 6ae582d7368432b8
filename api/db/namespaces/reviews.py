"""The table of remarks on drafts. They stay after the end of a draft; its commits tell which of them belong to it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, column, delete, func, insert, select, update, values

from api.db import audit
from api.db.audit import OPERATOR_NAME, Actor, AuditEntry, AuditEvent
from api.db.events import events
from api.db.events.events import EventType
from api.db.tables import reviews
from gitstore.git.repository import Author
from gitstore.history.messages import signature

# Commits per query: SQLite before 3.32 takes at most 999 values. https://www.sqlite.org/limits.html#max_variable_number
_AT_ONCE = 500
_KEYS_AT_ONCE = 300  # of three values each


class Action(StrEnum):
    """The kinds of remarks on a draft."""

    REQUEST = "request"
    APPROVE = "approve"
    REJECT = "reject"
    COMMENT = "comment"
    PUSH = "push"  # by Git; shown only: who brought the commits is in `pushed_commits`


_AUDIT_EVENTS = {
    Action.REQUEST: AuditEvent.REVIEW_REQUESTED,
    Action.APPROVE: AuditEvent.DRAFT_APPROVED,
    Action.REJECT: AuditEvent.DRAFT_REJECTED,
}

VERDICTS = (Action.APPROVE, Action.REJECT)
_STEPS = (Action.REQUEST, *VERDICTS)

_EVENT_TYPES = {
    Action.REQUEST: EventType.REVIEW_REQUESTED,
    Action.APPROVE: EventType.REVIEW_APPROVED,
    Action.REJECT: EventType.REVIEW_REJECTED,
    Action.COMMENT: EventType.REVIEW_COMMENTED,
}
_LONGEST_NOTE = 1000


class DraftKey(NamedTuple):
    """The key of a draft: namespace, project and name."""

    namespace: str
    project: str
    draft: str


class Person(NamedTuple):
    """The author of a remark, with the names of that time; `email` is unique, and is that of the author's commits."""

    kind: str
    id: int
    name: str
    display_name: str
    email: str


class Origin(NamedTuple):
    """The origin of a remark, for the audit trail: a network address, or the operator who acted for the user."""

    address: str | None = None
    operator: str = ""


class Topic(NamedTuple):
    """The record that a comment is about: `kind` is redirect or page."""

    kind: str
    id: str


_NOWHERE = Origin()


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on one head of a draft; `id` is 0 until it is stored."""

    at: datetime
    draft: DraftKey
    head: str
    action: Action
    person: Person
    note: str = ""
    topic: Topic | None = None
    id: int = 0


def add_remark(connection: Connection, remark: Remark, origin: Origin = _NOWHERE) -> int:
    """Store a remark, with its audit entry and event, in one transaction; return its id."""
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
    if remark.action in _AUDIT_EVENTS:
        actor = Actor(person.kind, person.id or None, person.name)
        detail = {"head": remark.head} | ({OPERATOR_NAME: origin.operator} if origin.operator else {})
        namespace, project, draft = remark.draft
        event = _AUDIT_EVENTS[remark.action]
        audit.record(connection, AuditEntry(remark.at, event, actor, draft, detail, namespace, project, origin.address))
    _record_event(connection, remark)
    return int(connection.execute(insert(reviews).values(row).returning(reviews.c.id)).scalar_one())


def _record_event(connection: Connection, remark: Remark) -> None:
    """Record the event of a remark; its author is named as in the events of publishes. A push has none."""
    if remark.action not in _EVENT_TYPES:
        return
    namespace, project, draft = remark.draft
    by = signature(Author(remark.person.display_name, remark.person.email))
    body: dict[str, object] = {"draft": draft, "head": remark.head, "by": by, "note": remark.note[:_LONGEST_NOTE]}
    if remark.action is Action.COMMENT:
        body["item"] = remark.topic._asdict() if remark.topic else None
    events.record_event(connection, events.Event(remark.at, namespace, project, _EVENT_TYPES[remark.action], body))


def find_remarks(connection: Connection, namespace: str, project: str, heads: Collection[str]) -> list[Remark]:
    """Return the remarks on these commits in a project, oldest first, whatever their branches are called."""
    named = sorted(heads)
    own = (reviews.c.namespace == namespace, reviews.c.project == project, reviews.c.archive.is_(None))
    found = [
        _remark(row)
        for start in range(0, len(named), _AT_ONCE)
        for row in connection.execute(select(reviews).where(*own, reviews.c.head.in_(named[start : start + _AT_ONCE])))
    ]
    return sorted(found, key=lambda remark: remark.id)


def has_verdicts(connection: Connection, namespace: str, project: str) -> bool:
    """Tell whether anyone has ever given a verdict in a project."""
    own = (reviews.c.namespace == namespace, reviews.c.project == project, reviews.c.archive.is_(None))
    query = select(reviews.c.id).where(*own, reviews.c.action.in_(VERDICTS)).limit(1)
    return connection.execute(query).first() is not None


def find_last_remarks(connection: Connection, namespace: str, draft: str, most: int) -> list[Remark]:
    """Return the newest remarks under the name of a proposal, newest first, also of one that is gone."""
    own = (reviews.c.namespace == namespace, reviews.c.draft == draft, reviews.c.archive.is_(None))
    query = select(reviews).where(*own).order_by(reviews.c.id.desc()).limit(most)
    return [_remark(row) for row in connection.execute(query)]


def find_last_steps(connection: Connection, drafts: Collection[DraftKey]) -> dict[DraftKey, Remark]:
    """Return the last request or verdict under each of these names of drafts, also of an earlier draft of the name.

    Each name is a look into the index, so the cost is that of the drafts, however many remarks there are.
    """
    named, found = sorted(drafts), dict[DraftKey, Remark]()
    for start in range(0, len(named), _KEYS_AT_ONCE):
        keys = values(*map(column, DraftKey._fields), name="keys").data(named[start : start + _KEYS_AT_ONCE]).cte()
        same = (reviews.c[name] == keys.c[name] for name in DraftKey._fields)
        own = (*same, reviews.c.archive.is_(None), reviews.c.action.in_(_STEPS))
        last = select(func.max(reviews.c.id)).where(*own).correlate(keys).scalar_subquery()
        rows = connection.execute(select(reviews).where(reviews.c.id.in_(select(last).select_from(keys))))
        found |= {remark.draft: remark for remark in map(_remark, rows)}
    return found


def archive_remarks(connection: Connection, namespace: str, archive: str) -> None:
    """Put the remarks of an archived namespace away: until a restore, no function here returns them."""
    own = (reviews.c.namespace == namespace, reviews.c.archive.is_(None))
    connection.execute(update(reviews).where(*own).values(archive=archive))


def restore_remarks(connection: Connection, namespace: str, archive: str) -> None:
    """Bring the remarks of an archived namespace back."""
    archived = (reviews.c.namespace == namespace, reviews.c.archive == archive)
    connection.execute(update(reviews).where(*archived).values(archive=None))


def remove_remarks_of(connection: Connection, namespace: str) -> None:
    """Remove the remarks of a deleted namespace whose archive is gone."""
    connection.execute(delete(reviews).where(reviews.c.namespace == namespace, reviews.c.archive.is_(None)))


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
