"""Access to the revisions of a project: drafts and branches need more than the read grant of a resource."""

from falcon.asgi import Request

from api.http.guard.access import can_see_drafts, missing_grant, principal_of
from api.runtime.jobs.background import run_in_thread
from gitstore.drafts.revisions import PUBLISHED
from gitstore.store.store import Store


async def resolve_readable_revision(
    req: Request, store: Store, resource: str, namespace: str, project: str, word: str
) -> str:
    """Return the revision to read; raises Forbidden unless it is published or the caller may see drafts.

    A branch may have the name of a version, so a caller who may not see drafts gets the SHA of the version.
    """
    if word == PUBLISHED or can_see_drafts(principal_of(req), resource, namespace, project):
        return word
    found = await run_in_thread(store.publishes.resolve_version, namespace, project, word)
    if found is None:
        raise missing_grant([("project", "read"), (resource, "write")], namespace, project)
    return str(found[0])
