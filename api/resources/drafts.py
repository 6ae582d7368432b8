"""A draft as a whole: what it changes, many changes at once, and its end."""

from collections.abc import Sequence
from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import grants, readable_kinds, reads_project, require
from api.authors import author_of
from api.background import in_thread, in_worker
from api.body import read_json
from api.errors import ApiError
from api.parameters import read_draft
from api.redaction import redact_conflicts, redact_problems
from api.reviewing import Reviews
from api.state.reviews import DraftKey
from content.diff import Counts, count
from content.problem import Problem, errors
from content.record import identity_id, record_of
from content.record_rules import record_problems
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Delete, Edit, Put
from gitstore.errors import Invalid, UnknownRecord
from gitstore.layout import CommitId
from gitstore.repository import Author
from gitstore.store import Store

_TOLD_AT_MOST = 50
_SHOWN = 200
_KINDS = {"redirect": Kind.REDIRECTS, "page": Kind.PAGES}


class DraftResource:
    """A draft as a whole."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """What the draft changes, what is wrong with it, what conflicts with release, where its review stands."""
        name = DraftName(project, read_draft(req))
        report = await in_worker(self._store.report, namespace, name)
        review = await in_thread(self._reviews.glance, DraftKey(namespace, *name), report.under_review)
        readable = readable_kinds(req, namespace, project)
        resp.media = {
            **wire.draft(name.draft, report),
            "problems": [problem.wire() for problem in redact_problems(report.problems, readable)],
            "conflicts": redact_conflicts(report.conflicts, readable),
            "review": wire.review(review) if review else None,
        }

    @grants("redirect", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Open an old version again as a draft: 201. It may hold pages, so the caller needs page:write too."""
        require(req, "page", "write", namespace, project)
        body = await read_json(req, "reopen")
        name, word = DraftName(project, read_draft(req)), str(body["version"])
        texts = body.get("message", ""), body.get("head", "")
        head, counts = await in_worker(self._store.reopen, namespace, name, word, author_of(req), *texts)
        resp.status = 201
        resp.media = {"head": head, "changes": wire.counts(counts)}

    @grants("redirect", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Throw the draft away: 204. It may hold pages, so the caller needs page:write too."""
        require(req, "page", "write", namespace, project)
        await in_thread(self._store.discard, namespace, DraftName(project, read_draft(req)))
        resp.status = 204


class DraftChanges:
    """Many changes at once, in a body of at most `limit` bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Make all changes of a list as one commit, or none; it needs the write grant of each kind that it changes."""
        body: Any = await read_json(req, "draft-changes", limit=self._limit)
        for kind in {change["kind"] for change in body}:
            require(req, kind, "write", namespace, project)
        name, edits = DraftName(project, read_draft(req)), [_edit(change) for change in body]
        await in_thread(_refuse_wrong, edits)
        try:
            head, counts = await in_worker(edit_counted, self._store, namespace, name, edits, author_of(req))
        except UnknownRecord as ex:
            raise _unknown(body[ex.place], ex.place) from ex
        resp.media = {"head": head, "changes": wire.counts(counts)}


def edit_counted(
    store: Store, namespace: str, name: DraftName, edits: Sequence[Edit], author: Author
) -> tuple[CommitId, dict[Kind, Counts]]:
    """Make edits; gives the draft's head and how many records they changed. Runs in a process of its own."""
    edited = store.edit(namespace, name, edits, author)
    return edited.head, {kind: count(change for change in edited.changes if change.kind is kind) for kind in Kind}


def _refuse_wrong(edits: Sequence[Edit]) -> None:
    """Name every record of a list that is wrong in itself by its place in the list."""
    found = [
        problem.under(f"/{place}/item")
        for place, edit in enumerate(edits)
        if isinstance(edit, Put)
        for problem in errors(record_problems(edit.record))
    ]
    if found:
        what = "1 problem was" if len(found) == 1 else f"{len(found)} problems were"
        raise Invalid(f"{what} found in the records; nothing was changed.", found[:_TOLD_AT_MOST])


def _unknown(change: dict[str, Any], place: int) -> ApiError:
    """404 for a deletion of what is not there, in the words in which it was sent."""
    field = next(name for name in ("id", "source", "path") if name in change)
    what = f"There is no {change['kind']} with the {field} {change[field][:_SHOWN]!r} in this draft"
    problem = Problem("unknown_record", f"{what}.", pointer=f"/{place}/{field}")
    return ApiError(404, "not_found", f"{what} (/{place}/{field}); nothing was changed.", [problem])


def _edit(change: dict[str, Any]) -> Edit:
    kind = _KINDS[change["kind"]]
    if change["op"] == "put":
        return Put(kind, record_of(kind, change["item"]), file=change["item"].get("file", ""))
    identity = change.get("source", change.get("path", ""))
    return Delete(kind, change.get("id") or identity_id(identity))
