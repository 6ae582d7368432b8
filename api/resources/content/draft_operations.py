"""Operations on many records of a draft: revert, search and replace, and the review view."""

from typing import Any

from falcon.asgi import Request, Response

from api.errors import invalid
from api.http.guard.access import (
    author_of,
    grants,
    heavy,
    principal_of,
    readable_kinds,
    reads_project,
    require,
    require_drafts,
)
from api.http.guard.content_body import read_content
from api.http.request.parameters import read_draft_name, read_flag, read_window
from api.http.response import json_views
from api.runtime.jobs.background import run_in_process, run_in_thread
from content.changes.assignment import Assignment, Removal
from content.changes.diff import Counts, count, item_kind
from content.changes.replacement import FIELDS, Replacement
from content.records.problem import Problem
from content.records.vocabulary import STATUS_BY_WORD, Kind
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.bulk.replacing import ReplacePreview, ReplaceResult
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.listing import Query
from gitstore.drafts.reverting import FEW, RevertRequest
from gitstore.git.repository import Author
from gitstore.layout import CommitId
from gitstore.store.store import Store

_KINDS = {item_kind(kind): kind for kind in Kind}


class DraftRevert:
    """The revert of some changes of a draft; `limit` is the maximum size of the body in bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Discard the changes of some records, all or none; needs the write grant of each of their kinds."""
        body = await read_content(req, "draft-revert", self._limit)
        can = principal_of(req).can
        kinds = frozenset(kind for kind in Kind if can(item_kind(kind), "write", namespace, project))
        name = DraftName(project, read_draft_name(req))
        order = RevertRequest(name, frozenset(body["ids"]), author_of(req), body.get("head", ""), kinds)
        run = run_in_thread if len(order.ids) <= FEW else run_in_process
        head, counts = await run(revert_and_count, self._store, namespace, order)
        resp.media = {"head": head, "changes": json_views.counts(counts)}


def revert_and_count(store: Store, namespace: str, order: RevertRequest) -> tuple[CommitId | None, dict[Kind, Counts]]:
    """Revert changes; returns the draft's head and the counts of changed records. Runs in a pool process."""
    done = store.drafts.revert(namespace, order)
    return done.head, {kind: count(change for change in done.changes if change.kind is kind) for kind in Kind}


class DraftReplace:
    """Changes of many records of a draft at once, such as search and replace; `limit` is the maximum size of the body in bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @heavy
    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Change the records as one commit, or with `dryRun` show the changes; needs the write grant of each kind.

        A dry run needs access to drafts instead.
        """
        body = await read_content(req, "draft-replace", self._limit)
        is_dry_run, window = read_flag(req, "dryRun"), read_window(req)
        order = _replace_order(DraftName(project, read_draft_name(req)), body)
        for kind in map(item_kind, order.kinds):
            if is_dry_run:
                require_drafts(req, kind, namespace, project)
            else:
                require(req, kind, "write", namespace, project)
        if is_dry_run:
            found = await run_in_process(_preview, self._store, namespace, order, window.offset, window.limit)
            resp.media = {**found, "limit": window.limit, "offset": window.offset}
        else:
            done = await run_in_process(_replace, self._store, namespace, order, author_of(req))
            resp.media = {"head": done.head, "changes": json_views.counts(done.counts)}


class DraftDiff:
    """The review view of a draft."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @heavy
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the draft's changes with their effects; only of the kinds that the caller may read."""
        limit, offset = read_window(req)
        name, kinds = DraftName(project, read_draft_name(req)), readable_kinds(req, namespace, project)
        found = await run_in_process(_view, self._store, namespace, name, kinds, offset, limit)
        resp.media = {**found, "limit": limit, "offset": offset}


def _preview(store: Store, namespace: str, order: ReplaceRequest, offset: int, limit: int) -> dict[str, Any]:
    """Return a window of a dry run as JSON; built in the pool process, so that only the window is sent back."""
    return _preview_wire(store.drafts.preview_replacement(namespace, order, offset, limit))


def _preview_wire(found: ReplacePreview) -> dict[str, Any]:
    return {
        "items": [each.wire() for each in found.items],
        "total": sum(found.counts.values()),
        "counts": {kind.value: found.counts[kind] for kind in Kind},
        "wrong": found.wrong,
        "head": found.head,
    }


def _replace(store: Store, namespace: str, order: ReplaceRequest, author: Author) -> ReplaceResult:
    return store.drafts.replace(namespace, order, author)


def _view(store: Store, namespace: str, name: DraftName, kinds: list[Kind], offset: int, limit: int) -> dict[str, Any]:
    """Return the review view as JSON; built in the pool process, so that only the window is sent back."""
    return json_views.review_view(store.drafts.review_view(namespace, name, kinds, offset, limit))


def _replace_order(name: DraftName, body: dict[str, Any]) -> ReplaceRequest:
    kinds = body.get("kinds", ["redirect"])
    _require_one_change(body, kinds)
    fields = body.get("fields", ["target"]) if "find" in body else []
    known = {field for kind in kinds for field in FIELDS[kind]}
    wrong = [
        Problem("wrong_value", f"must be a text field of {' or '.join(kinds)}: {', '.join(sorted(known))}", pointer=at)
        for at, field in ((f"/fields/{place}", field) for place, field in enumerate(fields))
        if field not in known
    ]
    if wrong:
        raise invalid("Some fields do not exist in the given kinds; see the problems.", wrong, "invalid_body")
    where = body.get("where", {})
    query = Query(
        text=where.get("q", ""),
        type=where.get("type", ""),
        status=STATUS_BY_WORD[str(where["status"])].value if "status" in where else "",
        tag=where.get("tag", ""),
        change=where.get("change", ""),
    )
    return ReplaceRequest(
        name,
        _change_of(body),
        frozenset(fields),
        tuple(_KINDS[kind] for kind in dict.fromkeys(kinds)),
        query,
        frozenset(body.get("ids", ())),
        body.get("head", ""),
    )


def _require_one_change(body: dict[str, Any], kinds: list[str]) -> None:
    """Refuse fields that have no effect: those of a search without one, and a status of pages."""
    is_search = {"find", "replace"} <= body.keys()
    wrong = [
        Problem("wrong_value", "belongs to find with replace, without set or remove", pointer=f"/{name}")
        for name in ("find", "replace", "regex", "fields")
        if name in body and not is_search
    ]
    if "status" in body.get("set", {}) and "redirect" not in kinds:
        wrong.append(Problem("wrong_value", "is only for redirects; pages have no status", pointer="/set/status"))
    if wrong:
        raise invalid("The change has fields of another one; see the problems.", wrong, "invalid_body")


def _change_of(body: dict[str, Any]) -> Replacement | Assignment | Removal:
    """Return the one change that the body has, as its schema says."""
    if "find" in body:
        return Replacement(body["find"], body["replace"], body.get("regex", False))
    if "set" not in body:
        return Removal()
    new = body["set"]
    return Assignment(
        STATUS_BY_WORD[str(new["status"])] if "status" in new else None,
        tuple(new["tags"]) if "tags" in new else None,
        tuple(new.get("addTags", ())),
        frozenset(new.get("removeTags", ())),
    )
