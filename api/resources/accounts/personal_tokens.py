"""The caller's personal tokens over HTTP; a value is shown only by the response that creates or rotates it."""

from falcon.asgi import Request, Response

from api.auth.browser_sessions import own_account
from api.auth.permissions.principal import as_principal
from api.auth.tokens.personal_tokens import PersonalTokens
from api.http.guard.access import any_principal, principal_of
from api.http.guard.content_body import read_content
from api.http.request.parameters import read_id, read_window
from api.http.response.paging import write_window
from api.resources.accounts.tokens import check_new_token, read_new_token, read_overlap, show_token, write_created
from api.runtime.jobs.background import run_in_thread


class MyTokens:
    """The personal tokens of the caller."""

    def __init__(self, tokens: PersonalTokens) -> None:
        self._tokens = tokens

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the caller's tokens without their values, in the order of creation."""
        user = own_account(as_principal(principal_of(req)))
        limit, offset = read_window(req)
        found, total = await run_in_thread(self._tokens.window, user, limit, offset)
        write_window(resp, [show_token(token) for token in found], total, limit, offset)

    @any_principal
    async def on_post(self, req: Request, resp: Response) -> None:
        """Create a token: 201 with its value; 403 for grants beyond the caller's own."""
        caller = as_principal(principal_of(req))
        user = own_account(caller)
        further = check_new_token(self._tokens.problems)
        new = read_new_token(await read_content(req, "personal-token-create", further=further))
        write_created(resp, await run_in_thread(self._tokens.create, caller, user, new), "/api/me/token")


class MyToken:
    """One personal token of the caller."""

    def __init__(self, tokens: PersonalTokens) -> None:
        self._tokens = tokens

    @any_principal
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """Remove the token: 204; it is invalid from now on."""
        caller = as_principal(principal_of(req))
        await run_in_thread(self._tokens.remove, caller, own_account(caller), read_id(id, "API token"))
        resp.status = 204

    @any_principal
    async def on_post_rotate(self, req: Request, resp: Response, id: str) -> None:
        """Rotate the value: the response shows the new one, once; the old one is valid for the overlap in the body."""
        caller = as_principal(principal_of(req))
        user, number = own_account(caller), read_id(id, "API token")
        overlap = await read_overlap(req)
        issued = await run_in_thread(self._tokens.rotate, caller, user, number, overlap)
        resp.media = {**show_token(issued.token), "token": issued.value}
