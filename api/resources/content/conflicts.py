"""The resolution of a draft's conflicts with release."""

from falcon.asgi import Request, Response

from api.http.guard.access import author_of, readable_kinds, reads_project, require
from api.http.guard.content_body import read_content
from api.http.request.choices import choice_resource, load_choices
from api.http.request.parameters import read_draft_name
from api.http.response.redaction import redact_conflicts
from api.runtime.jobs.background import run_in_process
from gitstore.drafts.drafts import DraftName
from gitstore.merge.resolving import ResolveRequest, ResolveResult
from gitstore.store.store import Store


class DraftResolve:
    """The conflicts of a draft; `limit` is the maximum size of the body in bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Resolve some or all conflicts; needs the write grant of each kind, and of the project for a file."""
        body = await read_content(req, "draft-resolve", self._limit)
        name, choices = DraftName(project, read_draft_name(req)), load_choices(body["choices"])
        for kind in {choice.kind for choice in choices}:
            require(req, choice_resource(kind), "write", namespace, project)
        order = ResolveRequest(name, choices, author_of(req), body.get("head", ""), body.get("release", ""))
        done = await run_in_process(_resolve, self._store, namespace, order)
        rest = redact_conflicts(done.conflicts, readable_kinds(req, namespace, project))
        resp.media = {"head": done.head, "settled": done.settled, "conflicts": rest}


def _resolve(store: Store, namespace: str, order: ResolveRequest) -> ResolveResult:
    return store.drafts.resolve(namespace, order)
