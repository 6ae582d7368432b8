"""The single records of a draft: listed, added, replaced, changed, removed; each edit is one commit."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import grants_item, reads_drafts, require_drafts
from api.authors import author_of
from api.background import in_thread
from api.body import read_json
from api.errors import ApiError, bad_request
from api.paging import write_window
from api.parameters import read_draft, read_text, read_window
from api.replies import is_known
from content.diff import ChangeType, item_kind
from content.record import record_of
from content.vocabulary import STATUS_BY_WORD, Kind, PageType, RedirectType
from gitstore.drafts import DraftName
from gitstore.edits import Delete, Put
from gitstore.listing import SORTS, Item, Query, Span
from gitstore.store import Store

_TAG = re.compile('"([^"]+)"')
_TYPES = {Kind.REDIRECTS: RedirectType, Kind.PAGES: PageType}


class DraftItems:
    """The records of one kind in a draft."""

    def __init__(self, store: Store, kind: Kind, limit: int) -> None:
        self._store = store
        self._kind = kind
        self._limit = limit
        self.resource_name = item_kind(kind)

    @reads_drafts
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """A window of the working state, filtered and sorted; for those who may see drafts."""
        require_drafts(req, self.resource_name, namespace, project)
        limit, offset = read_window(req)
        name, query = DraftName(project, read_draft(req)), _query(req, self._kind)
        known = partial(_names, req.get_header("If-None-Match"))
        found = await in_thread(self._store.items, namespace, name, self._kind, query, Span(offset, limit), known)
        resp.set_header("ETag", f'"{found.etag}"')
        if known(found.etag):
            resp.status = 304
        else:
            write_window(resp, [wire.item(item) for item in found.items], found.total, limit, offset)

    @grants_item("write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Add a record: 201."""
        body = await read_json(req, f"{self.resource_name}-put", self._limit)
        name = DraftName(project, read_draft(req))
        record = record_of(self._kind, body)
        edit = Put(self._kind, record, create=True, file=body.get("file", ""))
        await in_thread(self._store.edit, namespace, name, [edit], author_of(req))
        resp.status = 201
        resp.location = f"{req.path}/{record.id}"
        _write(resp, await in_thread(self._store.item, namespace, name, self._kind, record.id))


class DraftItem:
    """One record of a draft."""

    def __init__(self, store: Store, kind: Kind, limit: int) -> None:
        self._store = store
        self._kind = kind
        self._limit = limit
        self.resource_name = item_kind(kind)

    @reads_drafts
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """The record with its etag; for those who may see drafts."""
        require_drafts(req, self.resource_name, namespace, project)
        name = DraftName(project, read_draft(req))
        _write(resp, await in_thread(self._store.item, namespace, name, self._kind, id))

    @grants_item("write")
    async def on_put(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Replace the record; `If-Match` names the etag that it must still have."""
        body = await read_json(req, f"{self.resource_name}-put", self._limit)
        name = DraftName(project, read_draft(req))
        edit = Put(self._kind, record_of(self._kind, body), id, etag=_if_match(req), file=body.get("file", ""))
        await self._make(req, resp, namespace, name, edit)

    @grants_item("write")
    async def on_patch(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Change the fields that the body names; a record that is changed meanwhile is 412."""
        body = await read_json(req, f"{self.resource_name}-patch", self._limit)
        name = DraftName(project, read_draft(req))
        before: Item = await in_thread(self._store.item, namespace, name, self._kind, id)
        record = record_of(self._kind, {**before.placed.record.fields(), **body})
        edit = Put(self._kind, record, id, etag=_if_match(req) or before.etag, file=body.get("file", ""))
        await self._make(req, resp, namespace, name, edit)

    @grants_item("write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, project: str, id: str) -> None:
        """Remove the record: 204."""
        edit = Delete(self._kind, id, _if_match(req))
        await in_thread(self._store.edit, namespace, DraftName(project, read_draft(req)), [edit], author_of(req))
        resp.status = 204

    async def _make(self, req: Request, resp: Response, namespace: str, name: DraftName, edit: Put) -> None:
        await in_thread(self._store.edit, namespace, name, [edit], author_of(req))
        _write(resp, await in_thread(self._store.item, namespace, name, self._kind, edit.record.id))


def _write(resp: Response, item: Item) -> None:
    shown: dict[str, Any] = wire.item(item)
    resp.set_header("ETag", f'"{item.etag}"')
    resp.media = shown


def _names(header: str | None, etag: str) -> bool:
    return is_known(etag, header)


def _query(req: Request, kind: Kind) -> Query:
    return Query(
        text=read_text(req, "q") or "",
        type=_word(req, "type", {each.value: each.value for each in _TYPES[kind]}),
        status=_word(req, "status", {word: status.value for word, status in STATUS_BY_WORD.items()}),
        tag=read_text(req, "tag") or "",
        change=_word(req, "change", {each.value: each.value for each in ChangeType}),
        sort=_word(req, "sort", {word: word for word in SORTS}) or "file",
    )


def _word(req: Request, name: str, words: Mapping[str, str]) -> str:
    """What one of a few words stands for; empty where none is given, 400 for another one."""
    text = read_text(req, name)
    if text and text not in words:
        raise bad_request(f"'{name}' must be one of {', '.join(words)}.", "bad_parameter")
    return words[text] if text else ""


def _if_match(req: Request) -> str:
    """The one etag of If-Match; empty where there is none, or `*`, which any record has."""
    header = req.get_header("If-Match", default="*").strip()
    if header == "*":
        return ""
    tag = _TAG.fullmatch(header)
    if tag:
        return tag.group(1)
    raise ApiError(400, "bad_header", 'If-Match takes one etag as it was given, such as "0123456789abcdef".')
