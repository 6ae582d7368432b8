"""Inspection of a project's revisions: test, lint and diff."""

from collections.abc import Collection
from typing import Any

import orjson
from falcon import MEDIA_JSON
from falcon.asgi import Request, Response

from api.errors import bad_request
from api.http.guard.access import can_see_drafts, grants, heavy, principal_of, readable_kinds
from api.http.guard.revision_access import resolve_readable_revision
from api.http.request.json_body import read_json
from api.http.request.parameters import Window, read_draft_name, read_flag, read_text, read_window
from api.http.response import json_views
from api.http.response.redaction import redact_problems
from api.resources.content.url_tests import BODY_LIMIT, MOST_IN_THREAD, Visible, resolve_answered, resolve_urls_at
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader
from content.changes.diff import count, item_kind
from content.records.problem import Severity
from content.records.problem_report import ProblemFilter, summarize
from content.records.vocabulary import Kind
from gitstore.comparison.impact_view import view_impact
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.revisions import DRAFT, PUBLISHED
from gitstore.store.store import Store


class Test:
    """Test requests against the rules of a revision."""

    def __init__(self, releases: ReleaseLoader, store: Store) -> None:
        self._releases = releases
        self._store = store

    @heavy
    @grants("redirect", "read")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show how each URL resolves, also with changes that nothing stores.

        Response, rule, file and line, losing candidates, and redirect chain.
        """
        body = await read_json(req, "test-request", BODY_LIMIT)
        urls, word = body["urls"], str(body.get("at", PUBLISHED))
        at = await resolve_readable_revision(req, self._store, "redirect", namespace, project, word)
        resp.content_type = MEDIA_JSON
        changes, name = body.get("changes", []), (namespace, DraftName(project, read_draft_name(req)))
        is_small = at == PUBLISHED and not changes and len(urls) <= MOST_IN_THREAD
        visible = _find_visible(req, namespace, project, at)
        matcher = (await self._releases.project(namespace, project)).release.matcher if is_small else None
        if matcher and not matcher.is_costly:
            resp.data = await run_in_thread(resolve_answered, matcher, urls, visible)
        if resp.data is None:
            resp.data = await run_in_process(resolve_urls_at, self._store, name, at, urls, changes, visible)


def _find_visible(req: Request, namespace: str, project: str, at: str) -> Visible:
    """Return the kinds that a test of the revision may name: `at` is a branch or draft only for who may see redirects there."""
    readable, principal = readable_kinds(req, namespace, project), principal_of(req)
    in_drafts = [kind for kind in readable if can_see_drafts(principal, item_kind(kind), namespace, project)]
    may_be_draft = at != PUBLISHED and Kind.REDIRECTS in in_drafts
    return Visible(in_drafts if may_be_draft else readable, in_drafts)


class Lint:
    """The errors and warnings of a revision."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @heavy
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the errors and warnings of a revision (`?at=` published, draft, or a version), with counts."""
        place = (namespace, project, read_text(req, "at") or PUBLISHED, read_draft_name(req))
        readable, window = readable_kinds(req, namespace, project), read_window(req)
        resp.data = await run_in_process(_lint, self._store, place, _read_filter(req), window, readable)
        resp.content_type = MEDIA_JSON


def _read_filter(req: Request) -> ProblemFilter:
    """Read `code` (several with commas between), `severity` and `file`; 400 for a severity that does not exist."""
    severity = read_text(req, "severity") or ""
    if severity and severity not in set(Severity):
        raise bad_request(f"'severity' must be {' or '.join(Severity)}.", "bad_parameter")
    codes = frozenset(filter(None, (read_text(req, "code") or "").split(",")))
    return ProblemFilter(codes, severity, read_text(req, "file") or "")


def _lint(
    store: Store, place: tuple[str, str, str, str], wanted: ProblemFilter, window: Window, readable: Collection[Kind]
) -> bytes:
    """Return a window of a lint as JSON; built in the pool process, so that only the window is sent back."""
    problems = store.revisions.lint(*place)
    found = wanted.select(problems)
    shown = redact_problems(found[window.offset : window.offset + window.limit], readable)
    envelope = {"total": len(found), "limit": window.limit, "offset": window.offset}
    return orjson.dumps({"items": [problem.wire() for problem in shown], **envelope, **summarize(problems)})


class Diff:
    """The differences between two revisions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @heavy
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the changed fields of each rule from `?from=` (default published) to `?to=` (default draft).

        With `?impact=true` the response has what they cause beyond their own lines too.
        """
        has_impact, kinds = read_flag(req, "impact"), readable_kinds(req, namespace, project)
        ends = (read_text(req, "from") or PUBLISHED, read_text(req, "to") or DRAFT)
        place = (namespace, project, *ends, read_draft_name(req))
        found = await run_in_process(_compare, self._store, place, kinds, has_impact=has_impact)
        resp.media = {"from": ends[0], "to": ends[1], **found}


def _compare(
    store: Store, place: tuple[str, str, str, str, str], kinds: Collection[Kind], *, has_impact: bool
) -> dict[str, Any]:
    """Return a difference as JSON; built in the pool process, so that only what the caller may read is sent back."""
    found = store.revisions.difference(*place, finds_impact=has_impact)
    changes = {kind: found.changes[kind] for kind in kinds}
    counts = json_views.counts({kind: count(of_kind) for kind, of_kind in changes.items()})
    shown = {"counts": counts, "files": json_views.files(found.files), "changes": json_views.changes(changes)}
    return shown | ({"impact": json_views.impact(view_impact(found.impact, kinds))} if has_impact else {})
