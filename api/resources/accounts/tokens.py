"""API tokens over HTTP; a value is shown only by the response that creates or rotates it."""

from typing import Any

from falcon.asgi import Request, Response

from api.auth.grants import load_grant
from api.auth.principal import as_principal
from api.auth.roles import load_grants
from api.auth.tokens import Tokens
from api.db.accounts.tokens import ApiToken
from api.db.timestamps import dump_time, load_time
from api.errors import invalid
from api.http.guard.access import grants, principal_of
from api.http.request.json_body import read_json
from api.http.request.parameters import read_id, read_window
from api.http.response.paging import write_window
from api.runtime.jobs.background import run_in_thread
from content.records.problem import Problem


class ApiTokens:
    """All API tokens."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @grants("token", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the tokens without their values, in the order of creation."""
        limit, offset = read_window(req)
        found, total = await run_in_thread(self._tokens.window, limit, offset)
        write_window(resp, [show_token(token) for token in found], total, limit, offset)

    @grants("token", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Create a token: 201 with its value; 403 for grants beyond the caller's own."""
        body = await read_json(req, "token-create")
        wanted = [load_grant(grant) for grant in body["grants"]]
        actor, expires_at = as_principal(principal_of(req)), _read_expiry(body.get("expiresAt"))
        issued = await run_in_thread(self._tokens.create, actor, body["name"], wanted, expires_at)
        resp.status = 201
        resp.location = f"/api/token/{issued.token.id}"
        resp.media = {**show_token(issued.token), "token": issued.value}


class ApiTokenResource:
    """One API token."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @grants("token", "read")
    async def on_get(self, _req: Request, resp: Response, id: str) -> None:
        """Show the token without its value."""
        resp.media = show_token(await run_in_thread(self._tokens.find, read_id(id, "API token")))

    @grants("token", "write")
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """Remove the token: 204; it is invalid from now on."""
        await run_in_thread(self._tokens.remove, as_principal(principal_of(req)), read_id(id, "API token"))
        resp.status = 204

    @grants("token", "write")
    async def on_post_rotate(self, req: Request, resp: Response, id: str) -> None:
        """Rotate the value: the response shows the new one, once; the old one is invalid from now on."""
        issued = await run_in_thread(self._tokens.rotate, as_principal(principal_of(req)), read_id(id, "API token"))
        resp.media = {**show_token(issued.token), "token": issued.value}


def _read_expiry(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return load_time(text)
    except ValueError as ex:
        problem = Problem("bad_format", "This date does not exist.", pointer="/expiresAt")
        raise invalid("The body does not match its schema; see the problems.", [problem]) from ex


def show_token(token: ApiToken) -> dict[str, Any]:
    """Return the JSON of a token, without its value."""
    return {
        "id": token.id,
        "name": token.name,
        "preview": token.preview,
        "grants": [grant.wire() for grant in load_grants(token.grants)],
        "expiresAt": dump_time(token.expires_at) if token.expires_at else None,
        "createdAt": dump_time(token.created_at),
        "createdBy": token.created_by,
        "lastUsedAt": dump_time(token.last_used_at) if token.last_used_at else None,
    }
