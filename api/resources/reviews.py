"""The review of a draft: what is said of it, and where that leaves it."""

from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import grants, grants_any, principal_of, readable_kinds, require
from api.background import JUDGING, in_thread, in_worker, lane
from api.body import read_json
from api.identity.principal import caller
from api.parameters import read_draft, read_window
from api.reviewing import VOICES, Reviews, Said
from api.state.reviews import Action, DraftKey, Origin, Topic
from api.topics import KINDS, topic_identities
from content.diff import item_kind
from gitstore.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.store import Store


class DraftReview:
    """The review of a draft."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """A window of what was said of the draft, oldest first, and where its review stands."""
        (limit, offset), name = read_window(req), DraftName(project, read_draft(req))
        draft = await in_worker(self._store.under_review, namespace, name)
        review, remarks = await in_thread(self._reviews.thread, DraftKey(namespace, *name), draft)
        shown = remarks[offset : offset + limit]
        readable = {item_kind(kind) for kind in readable_kinds(req, namespace, project)}
        topics = {remark.topic for remark in shown if remark.topic and remark.topic.kind in readable}
        identities = await in_worker(topic_identities, self._store, namespace, name, topics)
        resp.media = {
            "items": [wire.remark(remark, draft.head, identities) for remark in shown],
            "total": len(remarks),
            "limit": limit,
            "offset": offset,
            "head": draft.head,
            "review": wire.review(review),
        }

    @grants_any(*VOICES)
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Ask for a review, approve, reject or comment; answers with where the review stands then.

        A publish of the namespace that is under way is not waited for, for this may be what stops it.
        """
        lane.set(f"{JUDGING}{namespace}")
        name, body = DraftName(project, read_draft(req)), await read_json(req, "review-action")
        topic = Topic(**body["item"]) if "item" in body else None
        if topic:
            require(req, topic.kind, "read", namespace, project)
        draft = await in_worker(self._store.under_review, namespace, name)
        if topic and draft.head == body["head"]:
            await self._must_be_there(namespace, name, topic)
        found = await in_thread(
            self._reviews.say, caller(principal_of(req)), DraftKey(namespace, *name), draft, _said(req, body, topic)
        )
        resp.media = {"head": draft.head, "review": wire.review(found)}

    async def _must_be_there(self, namespace: str, name: DraftName, topic: Topic) -> None:
        if not await in_worker(self._store.in_draft, namespace, name, KINDS[topic.kind], topic.id):
            raise NotFound(f"There is no {topic.kind} with the id {topic.id} in this draft; nothing was recorded.")


def _said(req: Request, body: dict[str, Any], topic: Topic | None) -> Said:
    return Said(Action(body["action"]), body["head"], body.get("note", ""), topic, Origin(req.remote_addr))
