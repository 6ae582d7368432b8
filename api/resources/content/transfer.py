"""Bulk import into a draft, and export of any revision."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import orjson
from falcon.asgi import Request, Response

from api.errors import ApiError, bad_request
from api.http.guard.access import (
    author_of,
    can_see_drafts,
    grants,
    grants_any,
    heavy,
    principal_of,
    readable_kinds,
    require,
)
from api.http.guard.content_body import check_file
from api.http.guard.revision_access import resolve_readable_revision
from api.http.request.parameters import read_commit, read_draft_name, read_flag, read_text, read_word
from api.http.request.record_query import read_record_query
from api.http.request.upload import read_upload
from api.http.response.redaction import redact_problems
from api.runtime.handover import Handover
from api.runtime.jobs.background import run_in_process, run_in_thread
from content.changes.diff import item_kind
from content.formats.spreadsheet import UTF_16_MARKS, as_utf8
from content.formats.tsv import read_rows, write_rows
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import Kind
from gitstore.comparison.impact_view import MAX_SHOWN
from gitstore.drafts.bulk.import_lint import ImportFinding
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.listing import EVERYTHING, Query
from gitstore.drafts.revisions import PUBLISHED
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.dump import new_file


class Import:
    """Bulk import of redirects into a draft."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @heavy
    @grants("redirect", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Import a table as one commit; invalid rows stop it (422 with the report) unless `skipErrors=true`.

        With `?head=`, only while the draft is at this commit.
        """
        options = ImportOptions(
            overwrite=read_flag(req, "overwrite"),
            dry_run=read_flag(req, "dryRun"),
            skip_errors=read_flag(req, "skipErrors"),
            head=read_commit(req, "head"),
        )
        name = DraftName(project, read_draft_name(req))
        upload = await read_upload(req, self._limit)
        is_utf16 = upload.data.startswith(UTF_16_MARKS)
        await check_file(req, await run_in_thread(as_utf8, upload.data) if is_utf16 else upload.data)
        data = Handover(upload.data)
        readable = [kind for kind in readable_kinds(req, namespace, project) if _can_see(req, kind, namespace, project)]
        done = await run_in_process(import_bytes, self._store, namespace, name, data, options, author_of(req), readable)
        report, is_refused = done
        if is_refused:
            message = "Some rows are invalid; nothing was imported. Fix them, or leave them out with skipErrors=true."
            raise ApiError(422, "invalid_rows", message).with_details(report=report)
        resp.media = report


class ExportRequest(NamedTuple):
    """The wanted part of an export: a format, and the records of some kinds that match a query."""

    format: str
    kinds: tuple[Kind, ...]
    query: Query


class Export:
    """A revision of a project as a file."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @heavy
    @grants_any(("redirect", "read"), ("page", "read"))
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Export a revision (`?at=`) by `?format=`: `tsv` (as for import) or `yaml` of a `?kind=`, or `json` (all).

        The filters and `sort` of the draft's records apply to `tsv` and `yaml`.
        """
        wanted = _read_request(req)
        at = read_text(req, "at") or PUBLISHED
        for resource in map(item_kind, wanted.kinds):
            require(req, resource, "read", namespace, project)
            at = await resolve_readable_revision(req, self._store, resource, namespace, project, at)
        resp.data = await run_in_process(
            export_bytes, self._store, namespace, project, wanted, at, read_draft_name(req)
        )
        resp.content_type = _MEDIA_TYPES[wanted.format]
        name = f"{project}-pages" if wanted.kinds == (Kind.PAGES,) else project
        resp.set_header("Content-Disposition", f'attachment; filename="{name}.{wanted.format}"')


def _can_see(req: Request, kind: Kind, namespace: str, project: str) -> bool:
    return can_see_drafts(principal_of(req), item_kind(kind), namespace, project)


def _read_request(req: Request) -> ExportRequest:
    kind = read_word(req, "kind", {item_kind(each): each for each in Kind})
    default = "yaml" if kind is Kind.PAGES else "tsv"
    wanted = read_word(req, "format", {each: each for each in _MEDIA_TYPES}) or default
    query = read_record_query(req, kind or Kind.REDIRECTS)
    if wanted == "json":
        if kind or query != EVERYTHING:
            message = "A kind, filter or order needs the format tsv or yaml: json is all content."
            raise bad_request(message, "bad_parameter")
        return ExportRequest(wanted, tuple(Kind), query)
    if kind is Kind.PAGES and wanted == "tsv":
        raise bad_request("Pages need the format yaml: a line of tsv cannot hold their content.", "bad_parameter")
    if kind is Kind.PAGES and query.status:
        raise bad_request("Pages have no status. Leave out 'status'.", "bad_parameter")
    return ExportRequest(wanted, (kind or Kind.REDIRECTS,), query)


def import_bytes(
    store: Store,
    namespace: str,
    name: DraftName,
    data: Handover,
    options: ImportOptions,
    author: Author,
    readable: Collection[Kind],
) -> tuple[dict[str, object], bool]:
    """Import a file's bytes; returns the report, and whether the import was refused. Runs in a pool process.

    The findings of a dry run, and the fields that are kept, are redacted for a caller who may read the drafts of the
    `readable` kinds alone.

    The plan, which holds every row, is not returned: receiving 100,000 rows would block the service for a second.
    """
    rows = read_rows(data.chunks(), budget=store.drafts.call_budget(namespace, name))
    done = store.drafts.import_rows(namespace, name, rows, options, author)
    plan = done.plan
    report = {**plan.report(), "head": done.head or done.seen, "neverAnswer": done.never_answer}
    if Kind.REDIRECTS not in readable:
        report["skippedRows"] = [{**each.report(), "fields": {}} for each in plan.listed_skipped]
    if options.dry_run:
        report |= _list_findings(done.findings, readable)
    stops = plan.is_unreadable or not options.skip_errors
    return report, bool(plan.wrong) and stops and not options.dry_run


def _list_findings(found: Sequence[ImportFinding] | None, readable: Collection[Kind]) -> dict[str, object]:
    """Return the first findings of a dry run as JSON, and their number, which is null where they are unknown."""
    shown = list(found or ())[:MAX_SHOWN]
    if len(readable) < len(Kind):
        shown = [ImportFinding(problem) for problem in redact_problems((each.problem for each in shown), readable)]
    return {"findings": [each.wire() for each in shown], "findingsTotal": None if found is None else len(found)}


def export_bytes(store: Store, namespace: str, project: str, wanted: ExportRequest, at: str, draft: str) -> bytes:
    """Return a revision as a file's bytes, of the records that match; runs in a pool process."""
    found = {kind: store.revisions.records(namespace, project, kind, at, draft, wanted.query) for kind in wanted.kinds}
    if wanted.format == "json":
        return orjson.dumps({kind.value: [each.fields() for each in records] for kind, records in found.items()})
    [(kind, records)] = found.items()
    if wanted.format == "tsv":
        return b"".join(write_rows(each for each in records if isinstance(each, Redirect)))
    return new_file(kind, [_with_content(each) for each in records], "flow" if kind is Kind.REDIRECTS else "block")


def _with_content(record: Record) -> Record:
    """Return a record without the name of a content file: an export is one file."""
    return replace(record, content_file="") if isinstance(record, Page) else record


_MEDIA_TYPES = {
    "tsv": "text/tab-separated-values; charset=utf-8",
    "json": "application/json",
    "yaml": "application/yaml",
}
