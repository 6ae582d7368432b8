"""Work on a draft that is more than single edits: discarding some of it, replacing text in it, and the review view."""

from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import grants, principal_of, readable_kinds, reads_project, require, require_drafts
from api.authors import author_of
from api.background import in_worker
from api.body import read_json
from api.errors import invalid
from api.parameters import read_draft, read_flag, read_window
from content.diff import Counts, count, item_kind
from content.problem import Problem
from content.replacement import FIELDS, Replacement
from content.vocabulary import STATUS_BY_WORD, Kind
from gitstore.drafts import DraftName
from gitstore.layout import CommitId
from gitstore.listing import Query
from gitstore.replacement_plan import ReplaceOrder
from gitstore.replacing import Preview, Replacing
from gitstore.repository import Author
from gitstore.reverting import RevertOrder
from gitstore.store import Store

_KINDS = {item_kind(kind): kind for kind in Kind}


class DraftRevert:
    """Discarding some changes of a draft; `limit` is the size of the body in bytes at most."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Discard the changes of some records, all or none; it needs the write grant of each kind that they are of."""
        body = await read_json(req, "draft-revert", self._limit)
        may = principal_of(req).may
        kinds = frozenset(kind for kind in Kind if may(item_kind(kind), "write", namespace, project))
        name = DraftName(project, read_draft(req))
        order = RevertOrder(name, frozenset(body["ids"]), author_of(req), body.get("head", ""), kinds)
        head, counts = await in_worker(revert_counted, self._store, namespace, order)
        resp.media = {"head": head, "changes": wire.counts(counts)}


def revert_counted(store: Store, namespace: str, order: RevertOrder) -> tuple[CommitId | None, dict[Kind, Counts]]:
    """Revert changes; gives the draft's head and how many records that changed. Runs in a process of its own."""
    done = store.revert(namespace, order)
    return done.head, {kind: count(change for change in done.changes if change.kind is kind) for kind in Kind}


class DraftReplace:
    """Search and replace in a draft; `limit` is the size of the body in bytes at most."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Replace as one commit, or with `dryRun` say what would change; it needs the write grant of each kind.

        A dry run is for those who may see the draft.
        """
        body = await read_json(req, "draft-replace", self._limit)
        is_dry, window = read_flag(req, "dryRun"), read_window(req)
        order = _replace_order(DraftName(project, read_draft(req)), body)
        for kind in map(item_kind, order.kinds):
            if is_dry:
                require_drafts(req, kind, namespace, project)
            else:
                require(req, kind, "write", namespace, project)
        if is_dry:
            found = await in_worker(_preview, self._store, namespace, order, window.offset, window.limit)
            resp.media = {**found, "limit": window.limit, "offset": window.offset}
        else:
            done = await in_worker(_replace, self._store, namespace, order, author_of(req))
            resp.media = {"head": done.head, "changes": wire.counts(done.counts)}


class DraftDiff:
    """A draft as its reviewer looks at it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """What the draft changes, rule by rule, in a window, with what that does; of the kinds that one may read."""
        limit, offset = read_window(req)
        name, kinds = DraftName(project, read_draft(req)), readable_kinds(req, namespace, project)
        found = await in_worker(_view, self._store, namespace, name, kinds, offset, limit)
        resp.media = {**found, "limit": limit, "offset": offset}


def _preview(store: Store, namespace: str, order: ReplaceOrder, offset: int, limit: int) -> dict[str, Any]:
    """A dry run as JSON, made where the work is done: a window of it is all that is sent on."""
    return _preview_wire(store.preview_replacement(namespace, order, offset, limit))


def _preview_wire(found: Preview) -> dict[str, Any]:
    return {
        "items": [each.wire() for each in found.items],
        "total": sum(found.counts.values()),
        "counts": {kind.value: found.counts[kind] for kind in Kind},
        "wrong": found.wrong,
        "head": found.head,
    }


def _replace(store: Store, namespace: str, order: ReplaceOrder, author: Author) -> Replacing:
    return store.replace_all(namespace, order, author)


def _view(store: Store, namespace: str, name: DraftName, kinds: list[Kind], offset: int, limit: int) -> dict[str, Any]:
    """The review view as JSON, made where the work is done."""
    return wire.review_view(store.view_draft(namespace, name, kinds, offset, limit))


def _replace_order(name: DraftName, body: dict[str, Any]) -> ReplaceOrder:
    kinds = body.get("kinds", ["redirect"])
    fields = body.get("fields", ["target"])
    known = {field for kind in kinds for field in FIELDS[kind]}
    wrong = [
        Problem("wrong_value", f"must be a text field of {' or '.join(kinds)}: {', '.join(sorted(known))}", pointer=at)
        for at, field in ((f"/fields/{place}", field) for place, field in enumerate(fields))
        if field not in known
    ]
    if wrong:
        raise invalid("Some of the fields are not those of the records that are sought.", wrong, "invalid_body")
    where = body.get("where", {})
    query = Query(
        text=where.get("q", ""),
        type=where.get("type", ""),
        status=STATUS_BY_WORD[str(where["status"])].value if "status" in where else "",
        tag=where.get("tag", ""),
        change=where.get("change", ""),
    )
    return ReplaceOrder(
        name,
        Replacement(body["find"], body["replace"], body.get("regex", False)),
        frozenset(fields),
        tuple(_KINDS[kind] for kind in dict.fromkeys(kinds)),
        query,
        frozenset(body.get("ids", ())),
        body.get("head", ""),
    )
