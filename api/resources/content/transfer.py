"""Bulk import into a draft, and export of any revision."""

from collections.abc import Callable, Iterable

import orjson
from falcon.asgi import Request, Response

from api.errors import ApiError, bad_request
from api.http.guard.access import author_of, grants, heavy, require
from api.http.guard.content_body import check_file
from api.http.guard.revision_access import resolve_readable_revision
from api.http.request.parameters import read_draft_name, read_flag, read_text
from api.http.request.record_query import read_record_query
from api.http.request.upload import read_upload
from api.runtime.handover import Handover
from api.runtime.jobs.background import run_in_process
from content.formats.tsv import read_rows, write_rows
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.importing import ImportOptions
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
        """Import a TSV as one commit; invalid rows stop it (422 with the report) unless `skipErrors=true`."""
        options = ImportOptions(
            overwrite=read_flag(req, "overwrite"),
            dry_run=read_flag(req, "dryRun"),
            skip_errors=read_flag(req, "skipErrors"),
        )
        name = DraftName(project, read_draft_name(req))
        upload = await read_upload(req, self._limit)
        await check_file(req, upload.data)
        data = Handover(upload.data)
        done = await run_in_process(import_bytes, self._store, namespace, name, data, options, author_of(req))
        report, is_refused = done
        if is_refused:
            message = "Some rows are invalid; nothing was imported. Fix them, or leave them out with skipErrors=true."
            raise ApiError(422, "invalid_rows", message).with_details(report=report)
        resp.media = report


class Export:
    """A revision of a project as a file."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @heavy
    @grants("redirect", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Export a revision (`?at=`) by `?format=`: `tsv` (redirects, as for import), `json` (all), `yaml` (redirects).

        The filters and `sort` of the draft's redirects apply to `tsv` and `yaml`.
        """
        wanted = read_text(req, "format") or "tsv"
        if wanted not in _FORMATS:
            raise bad_request(f"'format' must be one of {', '.join(_FORMATS)}.", "bad_parameter")
        query = read_record_query(req, Kind.REDIRECTS)
        if wanted == "json":
            if query != EVERYTHING:
                raise bad_request(
                    "A filter or order needs the format tsv or yaml: json is all content.", "bad_parameter"
                )
            require(req, "page", "read", namespace, project)
        at = read_text(req, "at") or PUBLISHED
        for resource in ["redirect", "page"] if wanted == "json" else ["redirect"]:
            at = await resolve_readable_revision(req, self._store, resource, namespace, project, at)
        media_type, _ = _FORMATS[wanted]
        resp.data = await run_in_process(
            export_bytes, self._store, namespace, project, wanted, at, read_draft_name(req), query
        )
        resp.content_type = media_type
        resp.set_header("Content-Disposition", f'attachment; filename="{project}.{wanted}"')


def import_bytes(
    store: Store, namespace: str, name: DraftName, data: Handover, options: ImportOptions, author: Author
) -> tuple[dict[str, object], bool]:
    """Import a file's bytes; returns the report, and whether the import was refused. Runs in a pool process.

    The plan, which holds every row, is not returned: receiving 100,000 rows would block the service for a second.
    """
    rows = read_rows(data.chunks(), budget=store.drafts.call_budget(namespace, name))
    done = store.drafts.import_rows(namespace, name, rows, options, author)
    plan, report = done.plan, {**done.plan.report(), "neverAnswer": done.never_answer}
    stops = plan.is_unreadable or not options.skip_errors
    return report, bool(plan.wrong) and stops and not options.dry_run


def export_bytes(
    store: Store, namespace: str, project: str, wanted: str, at: str, draft: str, query: Query = EVERYTHING
) -> bytes:
    """Return a revision as a file's bytes, of the redirects that match; runs in a pool process."""
    redirects = [
        record
        for record in store.revisions.records(namespace, project, Kind.REDIRECTS, at, draft, query)
        if isinstance(record, Redirect)
    ]
    if wanted == "json":
        pages = store.revisions.records(namespace, project, Kind.PAGES, at, draft)
        return orjson.dumps(
            {"redirects": [each.fields() for each in redirects], "pages": [each.fields() for each in pages]}
        )
    return _FORMATS[wanted][1](redirects)


def _tsv(redirects: Iterable[Redirect]) -> bytes:
    return b"".join(write_rows(redirects))


def _yaml(redirects: Iterable[Redirect]) -> bytes:
    return new_file(Kind.REDIRECTS, list(redirects), "flow")


_FORMATS: dict[str, tuple[str, Callable[[Iterable[Redirect]], bytes]]] = {
    "tsv": ("text/tab-separated-values; charset=utf-8", _tsv),
    "json": ("application/json", _tsv),
    "yaml": ("application/yaml", _yaml),
}
