"""The JSON objects of reviews: status, remarks and people."""

from collections.abc import Collection, Mapping
from typing import Any

from api.db.namespaces.reviews import Person, Remark, Topic
from api.db.timestamps import dump_time
from api.reviews.outcomes import Outcome
from api.reviews.review import Opinion, Review, ReviewStatus
from content.changes.diff import identity_field, item_kind
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.git.repository import Author
from gitstore.history.messages import signature
from gitstore.store.store import Store

_MAX_LINE = 200  # characters of the note of a request


def review(found: Review) -> dict[str, Any]:
    """Return the JSON object of a review."""
    return {
        "required": found.required,
        "state": found.status.value,
        "requestedBy": person(found.request.person) if found.request else None,
        "requestedAt": dump_time(found.request.at) if found.request else None,
        "requestNote": _first_line(found.request.note) if found.request else "",
        "approvals": [_opinion(each) for each in found.opinions if each.approves],
        "rejections": [_opinion(each) for each in found.opinions if not each.approves],
        "comments": found.comments,
        "suggestedReviewers": [person(each) for each in found.suggested],
        **(
            {"callerVerdict": found.caller_verdict, "callerInvolved": found.caller_involved}
            if found.caller_verdict
            else {}
        ),
    }


def _first_line(note: str) -> str:
    return next(iter(note.strip().splitlines()), "")[:_MAX_LINE]


def _opinion(found: Opinion) -> dict[str, Any]:
    verdict = found.remark
    return {
        "by": person(verdict.person),
        "at": dump_time(verdict.at),
        "note": verdict.note,
        "counts": found.counts,
        "lapsed": found.lapsed,
    }


def outcome(found: Outcome | None) -> dict[str, Any]:
    """Return how the review of a publish ended; None where that is not known."""
    if found is None:
        return {"reviewState": None, "outdatedVerdicts": []}
    is_outdated = found.status is ReviewStatus.NONE and found.outdated
    return {
        "reviewState": ReviewStatus.OUTDATED.value if is_outdated else found.status.value,
        "outdatedVerdicts": [
            {
                "action": each.action.value,
                "by": signature(Author(each.person.display_name, each.person.email)),
                "at": dump_time(each.at),
            }
            for each in found.outdated
        ],
    }


def remark(found: Remark, head: str | None, identities: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Return a remark on a draft with its head now at `head`; known records have their `identities`."""
    return {
        "id": found.id,
        "at": dump_time(found.at),
        "action": found.action.value,
        "head": found.head,
        "current": found.head == head,
        "note": found.note,
        "item": _topic(found.topic, identities) if found.topic else None,
        "by": person(found.person),
    }


def _topic(found: Topic, identities: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    kind = next(kind for kind in Kind if item_kind(kind) == found.kind)
    return {**found._asdict(), identity_field(kind): identities.get(found)}


def person(found: Person) -> dict[str, Any]:
    """Return a user or API token, with the names at the time of the action."""
    return {"kind": found.kind, "id": found.id, "name": found.name, "displayName": found.display_name}


KINDS = {item_kind(kind): kind for kind in Kind}


def topic_identities(
    store: Store, namespace: str, name: DraftName, topics: Collection[Topic]
) -> dict[tuple[str, str], str]:
    """Return the source or path of each of these records that exists in the draft or at its base."""
    try:
        found = store.drafts.identities(namespace, name, {(KINDS[topic.kind], topic.id) for topic in topics})
    except NotFound:  # the project is no longer in the draft, but the remarks on it are
        return {}
    return {topic: found[KINDS[topic.kind], topic.id] for topic in topics if (KINDS[topic.kind], topic.id) in found}


def publish_topic_identities(
    store: Store, namespace: str, project: str, version: str, topics: Collection[Topic]
) -> dict[tuple[str, str], str]:
    """Return the source or path of each of these records that exists after a publish or before it."""
    wanted = {(KINDS[topic.kind], topic.id) for topic in topics}
    found = store.publishes.identities(namespace, project, version, wanted)
    return {(item_kind(kind), record_id): identity for (kind, record_id), identity in found.items()}
