"""API tokens over HTTP; the value of one is in the answer that makes it, and nowhere else."""

from typing import Any

from falcon.asgi import Request, Response

from api.access import grants, principal_of
from api.background import in_thread
from api.body import read_json
from api.errors import invalid
from api.identity.grants import load_grant
from api.identity.principal import caller
from api.identity.roles import load_grants
from api.identity.tokens import Tokens
from api.paging import write_window
from api.parameters import read_window
from api.resources.record_id import read_id
from api.state.moment import dump_time, load_time
from api.state.tokens import ApiToken
from content.problem import Problem


class ApiTokens:
    """All API tokens."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @grants("token", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """A window of the tokens without their values, in the order they were made."""
        limit, offset = read_window(req)
        found, total = await in_thread(self._tokens.window, limit, offset)
        write_window(resp, [show_token(token) for token in found], total, limit, offset)

    @grants("token", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Make a token: 201 with its value; 403 for grants beyond the caller's own."""
        body = await read_json(req, "token-create")
        wanted = [load_grant(grant) for grant in body["grants"]]
        actor, expires_at = caller(principal_of(req)), _read_expiry(body.get("expiresAt"))
        issued = await in_thread(self._tokens.create, actor, body["name"], wanted, expires_at)
        resp.status = 201
        resp.location = f"/api/token/{issued.token.id}"
        resp.media = {**show_token(issued.token), "token": issued.value}


class ApiTokenResource:
    """One API token."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @grants("token", "read")
    async def on_get(self, _req: Request, resp: Response, id: str) -> None:
        """The token without its value."""
        resp.media = show_token(await in_thread(self._tokens.find, read_id(id, "API token")))

    @grants("token", "write")
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """Remove the token: 204; it is refused from now on."""
        await in_thread(self._tokens.remove, caller(principal_of(req)), read_id(id, "API token"))
        resp.status = 204

    @grants("token", "write")
    async def on_post_rotate(self, req: Request, resp: Response, id: str) -> None:
        """A new value, shown this once; the one before is refused from now on."""
        issued = await in_thread(self._tokens.rotate, caller(principal_of(req)), read_id(id, "API token"))
        resp.media = {**show_token(issued.token), "token": issued.value}


def _read_expiry(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return load_time(text)
    except ValueError as ex:
        problem = Problem("bad_format", "This is not a moment that there is.", pointer="/expiresAt")
        raise invalid("The body is not what this call takes; the problems say where.", [problem]) from ex


def show_token(token: ApiToken) -> dict[str, Any]:
    """The JSON shape of a token, without its value."""
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
