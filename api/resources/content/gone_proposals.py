"""Proposals that are gone: the answer tells those who could read them what became of them."""

from falcon.asgi import Request

from api.db.namespaces.reviews import Remark
from api.errors import ApiError, not_found
from api.http.guard.access import principal_of
from api.http.guard.proposal_access import readable_projects, reads_all, unknown_proposal
from api.http.response.json_views import dump_timestamp
from api.reviews.reviewing import Reviews
from api.runtime.jobs.background import run_in_process, run_in_thread
from gitstore.layout import PROPOSAL_PREFIX, CommitId
from gitstore.proposals.merges import GoneMerge
from gitstore.store.store import Store


async def explain_absence(req: Request, store: Store, reviews: Reviews, namespace: str, wanted: str) -> ApiError:
    """Return the 404 of a proposal that does not exist: merged, with its publishes, or removed, or unknown."""
    remarks: list[Remark] = await run_in_thread(reviews.last_remarks, namespace, f"{PROPOSAL_PREFIX}{wanted}")
    heads = {CommitId(remark.head) for remark in remarks}
    merge: GoneMerge | None = await run_in_process(store.proposals.find_gone_merge, namespace, wanted, heads)
    if merge and not any(_is_later(remark, merge) for remark in remarks[:1]):
        return _merged(req, namespace, wanted, merge)
    principal = principal_of(req)
    if not readable_projects(principal, namespace, {remark.draft.project for remark in remarks}):
        return unknown_proposal(wanted)
    return not_found(
        f"The proposal {wanted} is gone: its branch was removed or renamed, and no recent publish merged it."
    )


def _is_later(remark: Remark, merge: GoneMerge) -> bool:
    """Tell whether a remark is on a branch of the same name that was pushed again after the merge."""
    return remark.head != merge.head and int(remark.at.timestamp()) >= merge.time


def _merged(req: Request, namespace: str, wanted: str, merge: GoneMerge) -> ApiError:
    principal = principal_of(req)
    readable = readable_projects(principal, namespace, merge.projects)
    if not readable and not reads_all(principal, namespace):
        return unknown_proposal(wanted)
    shown = {name: merge.projects[name] for name in sorted(readable)}
    listed = ", ".join(f"publish {found.number} of {name}" for name, found in shown.items())
    by = {"publishedBy": merge.publisher, "publishedAt": dump_timestamp(merge.time)}
    error = not_found(f"The proposal {wanted} is merged{f': it is {listed}' if listed else ''}.")
    return error.with_details(
        mergedAs={
            name: {"version": found.version, "publishNumber": found.number, **by} for name, found in shown.items()
        }
    )
