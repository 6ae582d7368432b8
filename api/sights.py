"""Which states of a project a caller may read: of drafts and branches only those who see the project's work."""

from falcon.asgi import Request

from api.access import principal_of, sees_drafts
from api.background import in_thread
from api.refusal import lacking
from gitstore.states import PUBLISHED
from gitstore.store import Store


async def readable_state(req: Request, store: Store, resource: str, namespace: str, project: str, word: str) -> str:
    """The word of a state, or the SHA that it stands for: Forbidden unless it is published, or the caller may see drafts.

    A branch may be named as a version is, so who may not see it is given the SHA of the version.
    """
    if word == PUBLISHED or sees_drafts(principal_of(req), resource, namespace, project):
        return word
    found = await in_thread(store.resolve_version, namespace, project, word)
    if found is None:
        raise lacking([("project", "read"), (resource, "write")], namespace, project)
    return str(found[0])
