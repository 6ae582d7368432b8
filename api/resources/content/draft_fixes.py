"""The safe fixes of a draft's rules: listed, and applied as one commit."""

from collections.abc import Collection
from typing import Any

from falcon.asgi import Request, Response

from api.http.guard.access import author_of, grants, heavy, principal_of, readable_kinds, reads_project, require
from api.http.guard.content_body import read_content
from api.http.request.parameters import Window, read_draft_name, read_window
from api.runtime.jobs.background import run_in_process
from content.changes.diff import Change, ChangeType, identity_field, item_kind
from content.changes.fixes import FixKind
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.file_fixes import RuleFix
from gitstore.drafts.bulk.fixing import FixRequest
from gitstore.drafts.drafts import DraftName
from gitstore.layout import CommitId
from gitstore.store.store import Store

_TITLES = {
    FixKind.CHAIN: "Lead to the end of the chain at once",
    FixKind.DUPLICATE: "Remove this exact duplicate",
    FixKind.HOST: "Write the host as requests have it",
    FixKind.ENCODING: "Write encoded characters as requests have them",
}


class DraftFixList:
    """The fixes of a draft, in a body of at most `limit` bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @heavy
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the rules that can be fixed, each with its fields before and after."""
        name, kinds = DraftName(project, read_draft_name(req)), readable_kinds(req, namespace, project)
        resp.media = await run_in_process(_show, self._store, namespace, name, kinds, read_window(req))

    @heavy
    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Apply the fixes of the named rules, or of all of the kinds that the caller may write."""
        body = await read_content(req, "draft-fix", self._limit)
        kinds = _writable_kinds(req, namespace, project)
        chosen = frozenset((each["file"], each["line"]) for each in body.get("rules", ()))
        name = DraftName(project, read_draft_name(req))
        order = FixRequest(name, author_of(req), chosen, body.get("head", ""), kinds)
        head, fixed = await run_in_process(_fix, self._store, namespace, order)
        resp.media = {"head": head, "fixed": fixed}


def _writable_kinds(req: Request, namespace: str, project: str) -> frozenset[Kind]:
    """Return the kinds that the caller may write; raises 403 where there is none."""
    can = principal_of(req).can
    found = frozenset(kind for kind in Kind if can(item_kind(kind), "write", namespace, project))
    if not found:
        require(req, "redirect", "write", namespace, project)
    return found


def _show(store: Store, namespace: str, name: DraftName, kinds: Collection[Kind], window: Window) -> dict[str, Any]:
    """Return a window of the fixes as JSON; built in the pool process, so that only the window is sent back."""
    found = store.drafts.fixes(namespace, name)
    shown = [fix for fix in found.fixes if fix.kind in kinds]
    items = [_show_fix(fix) for fix in shown[window.offset : window.offset + window.limit]]
    return {"head": found.head, "items": items, "total": len(shown), "limit": window.limit, "offset": window.offset}


def _show_fix(fix: RuleFix) -> dict[str, Any]:
    change = Change(fix.kind, fix.before.record, fix.after)
    fields = {} if change.change is ChangeType.REMOVED else change.fields
    return {
        "kind": item_kind(fix.kind),
        "id": fix.before.record.id,
        identity_field(fix.kind): fix.before.record.identity,
        "file": fix.before.file,
        "line": fix.before.line,
        "fixes": [each.value for each in fix.kinds],
        "title": "; ".join(_TITLES[each] for each in fix.kinds),
        "change": change.change.value,
        "fields": {name: {"old": old, "new": new} for name, (old, new) in fields.items()},
    }


def _fix(store: Store, namespace: str, order: FixRequest) -> tuple[CommitId | None, int]:
    return store.drafts.fix(namespace, order)
