"""The records of a draft: list, add, replace, change and remove; each edit is one commit."""

from dataclasses import replace
from functools import partial
from typing import Any

from falcon.asgi import Request, Response

from api.http.guard.access import author_of, grants_item, reads_drafts, require_drafts
from api.http.guard.content_body import read_content
from api.http.request.if_match import read_if_match
from api.http.request.json_body import clear_fields
from api.http.request.parameters import read_draft_name, read_window
from api.http.request.record_query import read_identity, read_record_query
from api.http.response import json_views
from api.http.response.paging import write_window
from api.http.response.replies import etag_matches
from api.runtime.jobs.background import run_in_thread
from content.changes.diff import item_kind
from content.records.record import record_of
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete, Patch, Put
from gitstore.drafts.listing import DraftRecord, Span
from gitstore.store.store import Store


class DraftItems:
    """The records of one kind in a draft."""

    def __init__(self, store: Store, kind: Kind, limit: int) -> None:
        self._store = store
        self._kind = kind
        self._limit = limit
        self.resource_name = item_kind(kind)

    @reads_drafts
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the draft's records, filtered and sorted; needs access to drafts."""
        require_drafts(req, self.resource_name, namespace, project)
        limit, offset = read_window(req)
        name = DraftName(project, read_draft_name(req))
        query = replace(read_record_query(req, self._kind), identity=read_identity(req, self._kind) or "")
        known = partial(_matches, req.get_header("If-None-Match"))
        found = await run_in_thread(
            self._store.drafts.records, namespace, name, self._kind, query, Span(offset, limit), known
        )
        resp.set_header("ETag", f'"{found.etag}"')
        if known(found.etag):
            resp.status = 304
        else:
            items = [json_views.item(item) for item in found.items]
            write_window(resp, items, found.total, limit, offset, head=found.head)

    @grants_item("write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Add a record: 201."""
        body = await read_content(req, f"{self.resource_name}-put", self._limit)
        name = DraftName(project, read_draft_name(req))
        record = record_of(self._kind, body)
        edit = Put(self._kind, record, create=True, file=body.get("file", ""))
        written = await run_in_thread(self._store.drafts.write, namespace, name, edit, author_of(req))
        resp.status = 201
        resp.location = f"{req.path}/{record.id}"
        _write(resp, written)


class DraftItem:
    """One record of a draft."""

    def __init__(self, store: Store, kind: Kind, limit: int) -> None:
        self._store = store
        self._kind = kind
        self._limit = limit
        self.resource_name = item_kind(kind)

    @reads_drafts
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Show the record with its etag; needs access to drafts."""
        require_drafts(req, self.resource_name, namespace, project)
        name = DraftName(project, read_draft_name(req))
        _write(resp, await run_in_thread(self._store.drafts.record, namespace, name, self._kind, id))

    @grants_item("write")
    async def on_put(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Replace the record, if it still has the etag of `If-Match`."""
        body = await read_content(req, f"{self.resource_name}-put", self._limit)
        name = DraftName(project, read_draft_name(req))
        edit = Put(self._kind, record_of(self._kind, body), id, etag=read_if_match(req), file=body.get("file", ""))
        await self._apply(req, resp, namespace, name, edit)

    @grants_item("write")
    async def on_patch(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Change the fields that the body names, or clear them by null; the others stay as they are at that moment."""
        body = clear_fields(await read_content(req, f"{self.resource_name}-patch", self._limit), note="", tags=[])
        name = DraftName(project, read_draft_name(req))
        edit = Patch(self._kind, id, body, read_if_match(req), body.get("file", ""))
        await self._apply(req, resp, namespace, name, edit)

    @grants_item("write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Remove the record: 204."""
        edit = Delete(self._kind, id, read_if_match(req))
        await run_in_thread(
            self._store.drafts.edit, namespace, DraftName(project, read_draft_name(req)), [edit], author_of(req)
        )
        resp.status = 204

    async def _apply(self, req: Request, resp: Response, namespace: str, name: DraftName, edit: Put | Patch) -> None:
        _write(resp, await run_in_thread(self._store.drafts.write, namespace, name, edit, author_of(req)))


def _write(resp: Response, item: DraftRecord) -> None:
    shown: dict[str, Any] = json_views.item(item)
    resp.set_header("ETag", f'"{item.etag}"')
    resp.media = shown


def _matches(header: str | None, etag: str) -> bool:
    return etag_matches(etag, header)
