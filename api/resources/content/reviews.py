"""Reviews of drafts: remarks, verdicts and status; and the remarks that led to a publish."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.namespaces.reviews import Action, DraftKey, Origin, Remark, Topic
from api.http.guard.access import grants, grants_any, principal_of, readable_kinds, require
from api.http.guard.content_body import read_content
from api.http.request.parameters import Window, read_draft_name, read_flag, read_window
from api.reviews import review_json
from api.reviews.review_json import KINDS, publish_topic_identities, topic_identities
from api.reviews.reviewing import REVIEW_GRANTS, Reviews, ReviewStatement
from api.runtime.jobs.background import REVIEW_QUEUE, queue_key, run_in_process, run_in_thread
from content.changes.diff import item_kind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.store.store import Store


class DraftReview:
    """The review of a draft."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the remarks on the draft, oldest first unless `newest`, and the status of its review."""
        window, name = read_window(req), DraftName(project, read_draft_name(req))
        draft = await run_in_process(self._store.drafts.review_subject, namespace, name)
        review, remarks = await run_in_thread(
            self._reviews.thread, DraftKey(namespace, *name), draft, as_principal(principal_of(req))
        )
        find = partial(topic_identities, self._store, namespace, name)
        shown = await _show(req, namespace, project, remarks, window, draft.head, find)
        resp.media = {**shown, "review": review_json.review(review)}

    @grants_any(*REVIEW_GRANTS)
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Request a review, approve, reject or comment; responds with the new status of the review.

        It has its own queue, so it does not wait for a running publish of the namespace, which a rejection may stop.
        """
        queue_key.set(f"{REVIEW_QUEUE}{namespace}")
        name, body = DraftName(project, read_draft_name(req)), await read_content(req, "review-action")
        topic = Topic(**body["item"]) if "item" in body else None
        if topic:
            require(req, topic.kind, "read", namespace, project)
        draft = await run_in_process(self._store.drafts.review_subject, namespace, name)
        if topic and draft.head == body["head"]:
            await self._check_exists(namespace, name, topic)
        found = await run_in_thread(
            self._reviews.record_statement,
            as_principal(principal_of(req)),
            DraftKey(namespace, *name),
            draft,
            _read_statement(req, body, topic),
        )
        resp.media = {"head": draft.head, "review": review_json.review(found)}

    async def _check_exists(self, namespace: str, name: DraftName, topic: Topic) -> None:
        if not await run_in_process(self._store.drafts.has_record, namespace, name, KINDS[topic.kind], topic.id):
            raise NotFound(f"There is no {topic.kind} with the id {topic.id} in this draft; nothing was recorded.")


class PublishReview:
    """The review that led to a publish: its remarks stay after the draft or proposal has ended."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """Show a window of the remarks on the commits of the publish, oldest first unless `newest`."""
        window = read_window(req)
        head, commits = await run_in_process(self._store.publishes.merged_commits, namespace, project, version)
        remarks = await run_in_thread(self._reviews.remarks_on, namespace, project, commits)
        find = partial(publish_topic_identities, self._store, namespace, project, version)
        resp.media = await _show(req, namespace, project, remarks, window, head, find)


async def _show(
    req: Request,
    namespace: str,
    project: str,
    remarks: Sequence[Remark],
    window: Window,
    head: str | None,
    find: Callable[[Collection[Topic]], Mapping[tuple[str, str], str]],
) -> dict[str, Any]:
    """Return the JSON of a window of remarks; `find` returns the names of records that the caller may read, in a pool process."""
    limit, offset = window
    shown = (remarks[::-1] if read_flag(req, "newest") else remarks)[offset : offset + limit]
    readable = {item_kind(kind) for kind in readable_kinds(req, namespace, project)}
    topics = {remark.topic for remark in shown if remark.topic and remark.topic.kind in readable}
    identities = await run_in_process(find, topics) if topics else {}
    return {
        "items": [review_json.remark(remark, head, identities) for remark in shown],
        "total": len(remarks),
        "limit": limit,
        "offset": offset,
        "head": head,
    }


def _read_statement(req: Request, body: dict[str, Any], topic: Topic | None) -> ReviewStatement:
    return ReviewStatement(Action(body["action"]), body["head"], body.get("note", ""), topic, Origin(req.remote_addr))
