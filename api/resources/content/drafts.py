"""Drafts as a whole: report, bulk changes, reopening and discarding."""

from collections.abc import Sequence
from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.namespaces.reviews import DraftKey
from api.http.guard.access import author_of, grants, principal_of, readable_kinds, reads_project, require
from api.http.guard.content_body import read_content
from api.http.request.parameters import read_commit, read_draft_name, read_window
from api.http.request.record_query import read_change_query
from api.http.response import json_views
from api.http.response.paging import write_window
from api.http.response.redaction import redact_conflicts, show_problems
from api.resources.content.draft_edits import check_records, read_edits, unknown_record
from api.reviews import review_json
from api.reviews.reviewing import Reviews
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.upstreams.pull_publishes import PullPublishes, show_pull
from content.changes.diff import Counts, count
from content.records.problem import Problem, Severity
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Edit
from gitstore.drafts.listing import Span
from gitstore.errors import UnknownRecord
from gitstore.git.repository import Author
from gitstore.layout import CommitId
from gitstore.store.store import Store

_MAX_DRAFT_PROBLEMS = 1000


class DraftList:
    """The drafts of a project that have changes."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the drafts with their authors, changes, conflicts and review status, the newest first."""
        heads = await run_in_thread(self._store.drafts.heads, {namespace: [project]})
        found = await run_in_process(self._store.drafts.listed, namespace, project) if heads else []
        if not found:
            await run_in_thread(self._store.releases.project, namespace, project)  # 404 for one that does not exist
        keys = {DraftKey(namespace, *head.name): opened.review_subject for head, opened, _ in found}
        reviews = await run_in_thread(self._reviews.find_reviews, keys, as_principal(principal_of(req)))
        items = [
            {
                "draft": head.name.draft,
                "head": opened.head,
                "updatedAt": json_views.dump_timestamp(head.time),
                "updatedBy": head.author,
                "authors": [author.name for author in opened.review_subject.authors],
                "changes": json_views.counts(counts),
                "conflicts": opened.conflicts,
                "review": review_json.review(review) if review else None,
            }
            for (head, opened, counts), review in zip(found, reviews.values(), strict=True)
        ]
        resp.media = {"items": items}


class DraftResource:
    """A draft as a whole."""

    def __init__(self, store: Store, reviews: Reviews, pulls: PullPublishes) -> None:
        self._store = store
        self._reviews = reviews
        self._pulls = pulls

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the draft's changes, problems, conflicts with release, and review status."""
        name = DraftName(project, read_draft_name(req))
        report = await run_in_process(self._store.drafts.report, namespace, name)
        caller, key = as_principal(principal_of(req)), DraftKey(namespace, *name)
        review = await run_in_thread(self._reviews.find_review, key, report.review_subject, caller)
        pull = await run_in_thread(self._pulls.find, namespace, name)
        readable, problems = readable_kinds(req, namespace, project), _first_problems(report.problems)
        find, tree = self._store.revisions.subjects, report.state.tree if report.is_mergeable else None
        subjects = await run_in_thread(find, namespace, project, tree, problems) if problems and tree else ()
        resp.media = {
            **json_views.draft(name.draft, report),
            "problems": show_problems(problems, subjects, readable),
            "conflicts": redact_conflicts(report.conflicts, readable),
            "review": review_json.review(review) if review else None,
            "pullRequest": show_pull(pull),
        }

    @grants("redirect", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Reopen an old version as a draft: 201. It may hold pages, so the caller needs page:write too."""
        require(req, "page", "write", namespace, project)
        body = await read_content(req, "reopen")
        name, word = DraftName(project, read_draft_name(req)), str(body["version"])
        texts = body.get("message", ""), body.get("head", "")
        head, counts = await run_in_process(self._store.drafts.reopen, namespace, name, word, author_of(req), *texts)
        resp.status = 201
        resp.media = {"head": head, "changes": json_views.counts(counts)}

    @grants("redirect", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Discard the draft, with `?head=` only at this commit: 204. It may hold pages, so the caller needs page:write too."""
        require(req, "page", "write", namespace, project)
        name, wanted = DraftName(project, read_draft_name(req)), read_commit(req, "head")
        head: CommitId | None = await run_in_thread(self._store.drafts.discard, namespace, name, wanted)
        req.context.removed = {"draft": name.draft, "head": head}  # for the audit trail
        resp.status = 204


def _first_problems(problems: Sequence[Problem]) -> Sequence[Problem]:
    """Return the first problems of a draft, errors before warnings if there are more; P/lint has all of them."""
    if len(problems) <= _MAX_DRAFT_PROBLEMS:
        return problems
    return sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)[:_MAX_DRAFT_PROBLEMS]


class DraftEdits:
    """The changes of a draft: shown, and made in bulk in a body of at most `limit` bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the draft's changes, filtered by `?q=` and `?change=`; only of the kinds that the caller may read."""
        limit, offset = read_window(req)
        name, kinds = DraftName(project, read_draft_name(req)), readable_kinds(req, namespace, project)
        find = self._store.drafts.changes
        query = read_change_query(req)
        state, counts, changes, total = await run_in_thread(find, namespace, name, kinds, Span(offset, limit), query)
        items = [change.wire() for change in changes]
        head = {"base": state.base, "head": state.head, "counts": json_views.counts(counts)}
        write_window(resp, items, total, limit, offset, **head)

    @reads_project
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Apply all changes of a list as one commit, or none; needs the write grant of each kind that it changes."""
        body: Any = await read_content(req, "draft-changes", limit=self._limit)
        for kind in {change["kind"] for change in body}:
            require(req, kind, "write", namespace, project)
        name, edits = DraftName(project, read_draft_name(req)), read_edits(body)
        wanted = read_commit(req, "head")
        try:
            head, counts = await run_in_process(
                edit_and_count, self._store, namespace, name, edits, author_of(req), wanted
            )
        except UnknownRecord as ex:
            raise unknown_record(body[ex.place], f"/{ex.place}") from ex
        resp.media = {"head": head, "changes": json_views.counts(counts)}


def edit_and_count(
    store: Store, namespace: str, name: DraftName, edits: Sequence[Edit], author: Author, wanted: str = ""
) -> tuple[CommitId, dict[Kind, Counts]]:
    """Apply edits; returns the draft's head and the counts of changed records. Runs in a pool process."""
    check_records(edits, store.drafts.call_budget(namespace, name))
    edited = store.drafts.edit(namespace, name, edits, author, wanted)
    return edited.head, {kind: count(change for change in edited.changes if change.kind is kind) for kind in Kind}
