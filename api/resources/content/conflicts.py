"""The resolution of a draft's conflicts with release."""

from typing import Any

from falcon.asgi import Request, Response

from api.http.guard.access import author_of, readable_kinds, reads_project, require
from api.http.guard.content_body import read_content
from api.http.request.parameters import read_draft_name
from api.http.response.redaction import redact_conflicts
from api.runtime.jobs.background import run_in_process
from gitstore.drafts.drafts import DraftName
from gitstore.merge.choices import FILE, Choice
from gitstore.merge.resolving import ResolveRequest, ResolveResult
from gitstore.store.store import Store

_RESOURCES = {FILE: "project"}  # kind of a conflict -> resource of the grant, if the names differ


class DraftResolve:
    """The conflicts of a draft; `limit` is the maximum size of the body in bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Resolve some or all conflicts; needs the write grant of each kind, and of the project for a file."""
        body = await read_content(req, "draft-resolve", self._limit)
        for kind in {choice["kind"] for choice in body["choices"]}:
            require(req, _RESOURCES.get(kind, kind), "write", namespace, project)
        name, choices = DraftName(project, read_draft_name(req)), [_choice(each) for each in body["choices"]]
        order = ResolveRequest(name, choices, author_of(req), body.get("head", ""), body.get("release", ""))
        done = await run_in_process(_resolve, self._store, namespace, order)
        rest = redact_conflicts(done.conflicts, readable_kinds(req, namespace, project))
        resp.media = {"head": done.head, "settled": done.settled, "conflicts": rest}


def _resolve(store: Store, namespace: str, order: ResolveRequest) -> ResolveResult:
    return store.drafts.resolve(namespace, order)


def _choice(body: dict[str, Any]) -> Choice:
    about = body["file"] if body["kind"] == FILE else body["id"]
    return Choice(body["kind"], about, body.get("field", ""), body.get("take", "value"), body.get("value"))
