"""Proposals, the branches that people push: list, create, show, update, merge into release, and delete."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.namespaces.reviews import DraftKey, Origin
from api.http.guard.access import any_principal, author_of, missing_grant, principal_of, readable_kinds
from api.http.guard.content_body import read_content, read_optional_content
from api.http.guard.proposal_access import (
    WRITE,
    is_visible,
    merge_scopes,
    readable_projects,
    reader_of,
    require_choices,
    require_covered,
    require_namespace,
    require_visible,
    unknown_proposal,
    write_scope,
)
from api.http.request.choices import load_choices
from api.http.request.override import read_override
from api.http.request.parameters import read_commit, read_name, read_number, read_text
from api.http.response import proposal_views
from api.http.response.paging import write_window
from api.http.response.redaction import redact_conflicts, redact_problems
from api.resources.content.gone_proposals import explain_absence
from api.reviews import review_json
from api.reviews.review import Review
from api.reviews.reviewing import Override, Reviews
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.settings import DAY
from content.records.names import DEFAULT_DRAFT
from content.records.problem import Problem
from gitstore.drafts.drafts import DraftName
from gitstore.errors import Conflicts, Invalid, NotFound
from gitstore.layout import CommitId
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.proposal import Proposal
from gitstore.proposals.publishing import BESIDE, MergeRequest, MergeResult
from gitstore.proposals.report import ProposalReport
from gitstore.pushes.push import Scope
from gitstore.store.store import Store

_DEFAULT_LIMIT = 50  # each of a window is merged to see whether it can be


class ProposalSummaries:
    """The summaries of proposals as the caller may read them; one is stale after so many `stale_days` without a commit."""

    def __init__(self, store: Store, reviews: Reviews, stale_days: int) -> None:
        self._store = store
        self._reviews = reviews
        self._stale_days = stale_days

    async def show(self, req: Request, namespace: str, proposals: Sequence[Proposal]) -> list[dict[str, Any]]:
        """Return the JSON of each proposal of a namespace."""
        reports = await run_in_process(self._store.proposals.reports, namespace, proposals)
        reviews = await _find_reviews(req, self._reviews, namespace, reports)
        oldest = _oldest(self._stale_days)
        sources = await run_in_thread(self._store.upstreams.sources, namespace)
        return [
            _with_reviews(
                proposal_views.summary(each, reader_of(req, namespace, each.proposal), oldest, sources), each, reviews
            )
            for each in reports
        ]


class Proposals:
    """The proposals of a namespace; one is stale after so many `stale_days` without a commit."""

    def __init__(self, store: Store, reviews: Reviews, stale_days: int) -> None:
        self._store = store
        self._reviews = reviews
        self._stale_days = stale_days
        self._summaries = ProposalSummaries(store, reviews, stale_days)

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """List the proposals that change a project that the caller may read, the newest first.

        `?project=` names one, and `?q=` has a text of the title, the branch or the author.
        """
        principal = principal_of(req)
        require_namespace(principal, namespace)
        limit, offset = read_number(req, "limit", _DEFAULT_LIMIT), read_number(req, "offset", 0)
        project, text = read_name(req, "project"), (read_text(req, "q") or "").strip().casefold()
        found: Sequence[Proposal] = await run_in_process(self._store.proposals.all, namespace)
        visible = [
            each
            for each in found
            if is_visible(principal, namespace, each)
            and (project is None or project in _shown(req, namespace, each))
            and (not text or proposal_views.has_text(each, reader_of(req, namespace, each), text))
        ]
        items = await self._summaries.show(req, namespace, visible[offset : offset + limit])
        write_window(resp, items, len(visible), limit, offset)

    @any_principal
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Make a proposal from a draft: 201. The draft stays."""
        principal, body = principal_of(req), await read_content(req, "proposal-create")
        project = body["project"]
        if not any(principal.can(*each, namespace, project) for each in WRITE):
            raise missing_grant(WRITE, namespace, project)
        if not principal.can("project", "read", namespace, project):
            raise missing_grant([("project", "read")], namespace, project)
        name = DraftName(project, body.get("draft", DEFAULT_DRAFT))
        made: Proposal = await run_in_process(
            self._store.proposals.create, namespace, body["branch"], name, body.get("head", "")
        )
        resp.status = 201
        resp.location = f"/api/namespace/{namespace}/proposal/{made.id}"
        resp.media = await _show(req, self._store, self._reviews, self._stale_days, namespace, made)


class ProposalResource:
    """One proposal."""

    def __init__(self, store: Store, reviews: Reviews, stale_days: int) -> None:
        self._store = store
        self._reviews = reviews
        self._stale_days = stale_days

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Show the proposal: its changes, problems, conflicts with release and reviews, by project."""
        found = await read_visible(req, self._store, self._reviews, namespace, id)
        resp.media = await _show(req, self._store, self._reviews, self._stale_days, namespace, found)

    @any_principal
    async def on_delete(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Remove the branch: 204; with `?head=` only if it is at this commit."""
        found = await read_visible(req, self._store, self._reviews, namespace, id)
        scope = _require_writable(req, namespace, found)
        wanted = read_commit(req, "head")
        head: CommitId | None = await run_in_thread(self._store.proposals.delete, namespace, id, scope, wanted)
        req.context.removed = {"branch": found.branch, "head": head}  # for the audit trail
        resp.status = 204


class ProposalUpdate:
    """The merge of release into the branch of a proposal; `limit` is the maximum size of the body in bytes."""

    def __init__(self, store: Store, reviews: Reviews, stale_days: int, limit: int) -> None:
        self._store = store
        self._reviews = reviews
        self._stale_days = stale_days
        self._limit = limit

    @any_principal
    async def on_post(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Merge release into the branch by rule and choices, as one commit with two parents; respond with the proposal then."""
        require_namespace(principal_of(req), namespace)
        body = await read_optional_content(req, "proposal-update", self._limit)
        choices = load_choices(body.get("choices", ()))
        found = await read_visible(req, self._store, self._reviews, namespace, id)
        scope = _require_writable(req, namespace, found)
        require_choices(principal_of(req), namespace, choices)
        request = UpdateRequest(id, author_of(req), scope, body.get("head", ""), body.get("release", ""), choices)
        with _redact_errors(req, namespace):
            updated: Proposal = await run_in_process(self._store.proposals.update, namespace, request)
        resp.media = await _show(req, self._store, self._reviews, self._stale_days, namespace, updated)


class ProposalMerge:
    """The merge of a proposal into release."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @any_principal
    async def on_post(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Publish all projects of the proposal as one commit, or none; a repeat returns the existing publish."""
        require_namespace(principal_of(req), namespace)
        body = await read_optional_content(req, "proposal-merge")
        if "override" in body:
            body["override"] = read_override(body["override"])
        proposal = await self._find(req, namespace, id)
        projects = proposal.projects if proposal else await self._projects(namespace)
        request = MergeRequest(
            id,
            author_of(req),
            merge_scopes(principal_of(req), namespace, projects),
            body.get("head", ""),
            body.get("message", ""),
            body.get("override", ""),
        )
        if proposal:
            await self._require_scopes(req, namespace, proposal, request)
        with _redact_errors(req, namespace):
            found: MergeResult = await run_in_process(
                self._store.proposals.merge,
                namespace,
                request,
                partial(self._reviews.project_verdicts, namespace, f"proposal/{id}"),
            )
        if proposal is None and not _may_see(request.scopes.publish, found.projects):
            raise unknown_proposal(id)
        if proposal and request.override:
            await self._note_override(req, namespace, proposal, request, found)
        for _ in found.projects if proposal else ():
            req.context.counters.add_publish("publish")
        resp.media = proposal_views.merged(found)

    async def _find(self, req: Request, namespace: str, wanted: str) -> Proposal | None:
        """Return the proposal; None for one that is gone, since the request may repeat one that was answered."""
        try:
            found: Proposal = await run_in_process(self._store.proposals.read, namespace, wanted)
        except NotFound:
            return None
        return require_visible(principal_of(req), namespace, found)

    async def _projects(self, namespace: str) -> Collection[str]:
        served = await run_in_thread(self._store.releases.namespace, namespace)
        return tuple(served.projects)

    async def _require_scopes(self, req: Request, namespace: str, proposal: Proposal, request: MergeRequest) -> None:
        """Check the grants, and record an override in the audit trail of each project before the merge."""
        principal, scopes = principal_of(req), request.scopes
        require_covered(principal, namespace, proposal, scopes.publish, "project:publish")
        if request.override:
            require_covered(principal, namespace, proposal, scopes.override, "project:override")
            for project in proposal.projects or BESIDE:
                await run_in_thread(self._reviews.ask_override, _override(req, namespace, project, proposal, request))

    async def _note_override(
        self, req: Request, namespace: str, proposal: Proposal, request: MergeRequest, found: MergeResult
    ) -> None:
        for project, number in found.numbers.items():
            override = _override(req, namespace, project, proposal, request)
            await run_in_thread(self._reviews.note_override, override, found.commit, number)


async def read_visible(req: Request, store: Store, reviews: Reviews, namespace: str, wanted: str) -> Proposal:
    """Return a proposal that the caller may read, else raise a 404, which tells what became of it."""
    require_namespace(principal_of(req), namespace)
    try:
        found: Proposal = await run_in_process(store.proposals.read, namespace, wanted)
    except NotFound:
        raise await explain_absence(req, store, reviews, namespace, wanted) from None
    return require_visible(principal_of(req), namespace, found)


def _require_writable(req: Request, namespace: str, proposal: Proposal) -> Scope:
    """Return the scope in which the caller may write; raise Forbidden unless it covers what the proposal changes."""
    principal = principal_of(req)
    scope = write_scope(principal, namespace, proposal.projects)
    require_covered(principal, namespace, proposal, scope, "a write grant")
    return scope


def _override(req: Request, namespace: str, project: str, proposal: Proposal, request: MergeRequest) -> Override:
    actor, key = as_principal(principal_of(req)).actor(), DraftKey(namespace, project, proposal.review_name)
    return Override(actor, key, request.override, proposal.head, Origin(req.remote_addr))


async def _show(
    req: Request, store: Store, reviews: Reviews, stale_days: int, namespace: str, found: Proposal
) -> dict[str, Any]:
    report: ProposalReport = await run_in_process(store.proposals.report_with_texts, namespace, found)
    known = await _find_reviews(req, reviews, namespace, [report])
    sources = await run_in_thread(store.upstreams.sources, namespace)
    shown = proposal_views.detail(report, reader_of(req, namespace, found), _oldest(stale_days), sources)
    return _with_reviews(shown, report, known)


def _shown(req: Request, namespace: str, proposal: Proposal) -> Collection[str]:
    return readable_projects(principal_of(req), namespace, proposal.projects)


async def _find_reviews(
    req: Request, reviews: Reviews, namespace: str, reports: Sequence[ProposalReport]
) -> dict[tuple[str, str], Review | None]:
    """Return the review of each project of each proposal, by the proposal's id and the project."""
    subjects = {
        DraftKey(namespace, project.name, report.proposal.review_name): project.review_subject
        for report in reports
        for project in report.projects
    }
    found = await run_in_thread(reviews.find_reviews, subjects, as_principal(principal_of(req)))
    return {(key.draft, key.project): review for key, review in found.items()}


def _with_reviews(
    shown: dict[str, Any], report: ProposalReport, reviews: dict[tuple[str, str], Review | None]
) -> dict[str, Any]:
    name = report.proposal.review_name
    found = {project["name"]: reviews.get((name, project["name"])) for project in shown["projects"]}
    projects = [
        {**project, "review": review_json.review(review) if (review := found[project["name"]]) else None}
        for project in shown["projects"]
    ]
    return {**shown, "projects": projects}


def _oldest(stale_days: int) -> float:
    return time.time() - stale_days * DAY


def _may_see(scope: Scope, projects: Collection[str]) -> bool:
    """Tell whether a caller may see a merge that was answered before; without a project, it had files beside them."""
    return scope.everywhere or (bool(projects) and all(map(scope.covers, projects)))


@contextmanager
def _redact_errors(req: Request, namespace: str) -> Iterator[None]:
    """Redact the conflicts and problems of a refused merge that the caller may not read, each by its project."""
    try:
        yield
    except Conflicts as ex:
        conflicts = [_redact_conflict(req, namespace, each) for each in ex.conflicts]
        raise Conflicts(str(ex), conflicts) from ex
    except Invalid as ex:
        problems = [_redact_problem(req, namespace, each) for each in ex.problems]
        raise Invalid(str(ex), problems) from ex


def _redact_conflict(req: Request, namespace: str, conflict: dict[str, Any]) -> dict[str, Any]:
    project = conflict.get("project")
    if project is None:
        return conflict
    [shown] = redact_conflicts([conflict], readable_kinds(req, namespace, project))
    return {**shown, "project": project}


def _redact_problem(req: Request, namespace: str, problem: Problem) -> Problem:
    project, slash, _ = problem.file.partition("/")
    if not slash:
        return problem
    return redact_problems([problem], readable_kinds(req, namespace, project))[0]
