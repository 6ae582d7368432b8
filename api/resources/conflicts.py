"""Settling the conflicts of a draft with release."""

from typing import Any

from falcon.asgi import Request, Response

from api.access import readable_kinds, reads_project, require
from api.authors import author_of
from api.background import in_worker
from api.body import read_json
from api.parameters import read_draft
from api.redaction import redact_conflicts
from gitstore.choices import FILE, Choice
from gitstore.drafts import DraftName
from gitstore.resolving import Resolved, ResolveOrder
from gitstore.store import Store

_RESOURCES = {FILE: "project"}
"""What a grant calls the kind of a conflict, where that is another word."""


class DraftResolve:
    """The conflicts of a draft; `limit` is the size of the body in bytes at most."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Settle some conflicts, or all; it needs the write grant of each kind, for a file that of the project."""
        body = await read_json(req, "draft-resolve", self._limit)
        for kind in {choice["kind"] for choice in body["choices"]}:
            require(req, _RESOURCES.get(kind, kind), "write", namespace, project)
        name, choices = DraftName(project, read_draft(req)), [_choice(each) for each in body["choices"]]
        order = ResolveOrder(name, choices, author_of(req), body.get("head", ""))
        done = await in_worker(_resolve, self._store, namespace, order)
        rest = redact_conflicts(done.conflicts, readable_kinds(req, namespace, project))
        resp.media = {"head": done.head, "settled": done.settled, "conflicts": rest}


def _resolve(store: Store, namespace: str, order: ResolveOrder) -> Resolved:
    return store.resolve(namespace, order)


def _choice(body: dict[str, Any]) -> Choice:
    about = body["file"] if body["kind"] == FILE else body["id"]
    return Choice(body["kind"], about, body.get("field", ""), body.get("take", "value"), body.get("value"))
