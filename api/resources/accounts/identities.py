"""The identity of a user at the OpenID provider, over HTTP."""

from falcon.asgi import Request, Response

from api.auth.identities import Identities
from api.auth.permissions.principal import as_principal
from api.http.guard.access import grants, principal_of
from api.http.guard.content_body import read_content
from api.http.request.parameters import read_id
from api.runtime.jobs.background import run_in_thread


class UserIdentity:
    """The identity of one user."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities

    @grants("user", "read")
    async def on_get(self, _req: Request, resp: Response, id: str) -> None:
        """Show the identity; 404 if there is none."""
        resp.media = (await run_in_thread(self._identities.find, read_id(id, "user")))._asdict()

    @grants("user", "write")
    async def on_put(self, req: Request, resp: Response, id: str) -> None:
        """Set the identity: the person with this subject logs in as the user; 409 if another user has it."""
        number, caller = read_id(id, "user"), as_principal(principal_of(req))
        body = await read_content(req, "identity-put")
        resp.media = (await run_in_thread(self._identities.set, caller, number, body["subject"]))._asdict()

    @grants("user", "write")
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """Remove the identity, and end the sessions of the user: 204."""
        await run_in_thread(self._identities.remove, as_principal(principal_of(req)), read_id(id, "user"))
        resp.status = 204
