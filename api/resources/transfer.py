"""Bulk import into a draft, and export of any state."""

from collections.abc import Callable, Iterable

import orjson
from falcon.asgi import Request, Response

from api.access import grants, require
from api.authors import author_of
from api.background import in_worker
from api.errors import ApiError, bad_request
from api.parameters import read_draft, read_flag, read_text
from api.sights import readable_state
from api.upload import read_upload
from content.record import Redirect
from content.tsv import read_rows, write_rows
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.dump import new_file
from gitstore.importing import ImportOptions
from gitstore.repository import Author
from gitstore.states import PUBLISHED
from gitstore.store import Store


class Import:
    """Bulk import of redirects into a draft."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @grants("redirect", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Import a TSV as one commit; rows in error stop it (422 with the report) unless `skipErrors=true`."""
        options = ImportOptions(
            overwrite=read_flag(req, "overwrite"),
            dry_run=read_flag(req, "dryRun"),
            skip_errors=read_flag(req, "skipErrors"),
        )
        name = DraftName(project, read_draft(req))
        upload = await read_upload(req, self._limit)
        done = await in_worker(import_bytes, self._store, namespace, name, upload.data, options, author_of(req))
        report, is_refused = done
        if is_refused:
            message = "Some rows are wrong, so nothing was imported. Mend them, or leave them out with skipErrors=true."
            raise ApiError(422, "invalid_rows", message).beside(report=report)
        resp.media = report


class Export:
    """A state of a project as a file."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("redirect", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """`?format=tsv` (redirects, goes back in through import), `json` (all), `yaml` (redirects), `&at=` which state."""
        wanted = read_text(req, "format") or "tsv"
        if wanted not in _FORMATS:
            raise bad_request(f"'format' must be one of {', '.join(_FORMATS)}.", "bad_parameter")
        if wanted == "json":
            require(req, "page", "read", namespace, project)
        at = read_text(req, "at") or PUBLISHED
        for resource in ["redirect", "page"] if wanted == "json" else ["redirect"]:
            at = await readable_state(req, self._store, resource, namespace, project, at)
        media_type, _ = _FORMATS[wanted]
        resp.data = await in_worker(export_bytes, self._store, namespace, project, wanted, at, read_draft(req))
        resp.content_type = media_type
        resp.set_header("Content-Disposition", f'attachment; filename="{project}.{wanted}"')


def import_bytes(
    store: Store, namespace: str, name: DraftName, data: bytes, options: ImportOptions, author: Author
) -> tuple[dict[str, object], bool]:
    """Import a file's bytes; gives the report, and whether it was refused. Runs in a process of its own.

    The plan itself, of every row, stays there: reading 100,000 rows back would hold up the service for a second.
    """
    plan = store.import_rows(namespace, name, read_rows(data), options, author).plan
    stops = plan.is_unreadable or not options.skip_errors
    return plan.report(), bool(plan.wrong) and stops and not options.dry_run


def export_bytes(store: Store, namespace: str, project: str, wanted: str, at: str, draft: str) -> bytes:
    """A state as a file's bytes; runs in a process of its own."""
    redirects = [
        record
        for record in store.records(namespace, project, Kind.REDIRECTS, at, draft)
        if isinstance(record, Redirect)
    ]
    if wanted == "json":
        pages = store.records(namespace, project, Kind.PAGES, at, draft)
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
