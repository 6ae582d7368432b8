"""Reviews of proposals: remarks, verdicts and status, by project."""

from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.namespaces.reviews import Action, DraftKey, Origin, Remark, Topic
from api.errors import Forbidden, not_found
from api.http.guard.access import any_principal, principal_of, require
from api.http.guard.content_body import read_content
from api.http.guard.proposal_access import readable_projects
from api.http.request.parameters import read_flag, read_window
from api.resources.content.proposals import read_visible
from api.reviews import review_json
from api.reviews.proposal_thread import join_remarks
from api.reviews.review_json import KINDS
from api.reviews.reviewing import REVIEW_GRANTS, Reviews, ReviewStatement
from api.runtime.jobs.background import REVIEW_QUEUE, queue_key, run_in_process, run_in_thread
from content.changes.diff import item_kind
from gitstore.errors import StaleProposal
from gitstore.proposals.report import ProposalReport
from gitstore.publish.authorship import ReviewSubject
from gitstore.store.store import Store


class ProposalReview:
    """The review of a proposal: a thread of remarks, and a status for each project that it changes."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Show a window of the remarks, oldest first unless `newest`, and the status of the review of each project."""
        limit, offset = read_window(req)
        report = await self._report(req, namespace, id)
        threads = await run_in_thread(
            self._reviews.threads, _subjects(req, namespace, report), as_principal(principal_of(req))
        )
        remarks = join_remarks(thread.remarks for thread in threads.values())
        shown = (remarks[::-1] if read_flag(req, "newest") else remarks)[offset : offset + limit]
        head = report.proposal.head
        identities = await self._identities(req, namespace, report, shown)
        resp.media = {
            "items": [_remark(each, head, identities) for each in shown],
            "total": len(remarks),
            "limit": limit,
            "offset": offset,
            "head": head,
            "reviews": {key.project: review_json.review(thread.review) for key, thread in threads.items()},
        }

    @any_principal
    async def on_post(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Request a review, approve, reject or comment, in one project or in all in which the caller may.

        It has its own queue, like the verdicts on drafts.
        """
        queue_key.set(f"{REVIEW_QUEUE}{namespace}")
        body = await read_content(req, "proposal-review-action")
        report = await self._report(req, namespace, id)
        if body["head"] != report.proposal.head:
            raise StaleProposal(
                f"The proposal {id} is at {report.proposal.head}; the request names {body['head']}. Read it again, then retry."
            )
        topic = Topic(**body["item"]) if "item" in body else None
        subjects = _chosen(req, _subjects(req, namespace, report), body)
        if topic:
            subjects = await self._with_record(req, namespace, report, subjects, topic)
        statement = ReviewStatement(
            Action(body["action"]), body["head"], body.get("note", ""), topic, Origin(req.remote_addr)
        )
        found = await run_in_thread(self._reviews.record_together, as_principal(principal_of(req)), subjects, statement)
        resp.media = {
            "head": report.proposal.head,
            "reviews": {key.project: review_json.review(each) for key, each in found.items()},
        }

    async def _identities(
        self, req: Request, namespace: str, report: ProposalReport, groups: list[list[Remark]]
    ) -> dict[tuple[str, str], str]:
        """Return the sources and paths of the records of comments that the caller may read."""
        can = principal_of(req).can
        topics = {
            (remark.draft.project, KINDS[remark.topic.kind], remark.topic.id)
            for group in groups
            for remark in group
            if remark.topic and can(remark.topic.kind, "read", namespace, remark.draft.project)
        }
        if not topics:
            return {}
        found = await run_in_process(self._store.proposals.identities, namespace, report.proposal, topics)
        return {(item_kind(kind), record_id): identity for (_, kind, record_id), identity in found.items()}

    async def _with_record(
        self,
        req: Request,
        namespace: str,
        report: ProposalReport,
        subjects: dict[DraftKey, ReviewSubject],
        topic: Topic,
    ) -> dict[DraftKey, ReviewSubject]:
        """Return the subjects of the projects that have the record of a comment; raise a 404 if none has it."""
        for key in subjects:
            require(req, topic.kind, "read", namespace, key.project)
        wanted = {(key.project, KINDS[topic.kind], topic.id) for key in subjects}
        found = await run_in_process(self._store.proposals.identities, namespace, report.proposal, wanted)
        if not found:
            raise not_found(f"There is no {topic.kind} with the id {topic.id} in this proposal; nothing was recorded.")
        return {key: each for key, each in subjects.items() if (key.project, KINDS[topic.kind], topic.id) in found}

    async def _report(self, req: Request, namespace: str, wanted: str) -> ProposalReport:
        found = await read_visible(req, self._store, self._reviews, namespace, wanted)
        [report] = await run_in_process(self._store.proposals.reports, namespace, [found])
        return report


def _subjects(req: Request, namespace: str, report: ProposalReport) -> dict[DraftKey, ReviewSubject]:
    readable = readable_projects(principal_of(req), namespace, report.proposal.projects)
    return {
        DraftKey(namespace, each.name, report.proposal.review_name): each.review_subject
        for each in report.projects
        if each.name in readable
    }


def _chosen(
    req: Request, subjects: dict[DraftKey, ReviewSubject], body: dict[str, Any]
) -> dict[DraftKey, ReviewSubject]:
    """Return the subjects of a statement: of the project in the body, else of all in which the caller may make it."""
    wanted = body.get("project")
    if wanted is not None:
        found = {key: subject for key, subject in subjects.items() if key.project == wanted}
        if not found:
            raise not_found(f"The proposal does not change a project {wanted!r} that you may read.")
        return found
    accepted = REVIEW_GRANTS if body["action"] in {"request", "comment"} else REVIEW_GRANTS[:1]
    principal = principal_of(req)
    found = {
        key: subject
        for key, subject in subjects.items()
        if any(principal.can(*each, key.namespace, key.project) for each in accepted)
    }
    if not found:
        needed = " or ".join(":".join(each) for each in accepted)
        raise Forbidden(
            f"You may not {body['action']} this proposal. You need the grant {needed} in a project that it changes."
        )
    return found


def _remark(group: list[Remark], head: str | None, identities: dict[tuple[str, str], str]) -> dict[str, Any]:
    shown = review_json.remark(group[0], head, identities)
    return {**shown, "projects": [remark.draft.project for remark in group]}
