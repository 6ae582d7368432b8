"""API tokens over HTTP; a value is shown only by the response that creates or rotates it."""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.grants import load_grant
from api.auth.permissions.principal import as_principal
from api.auth.permissions.roles import load_grants
from api.auth.tokens.new_token import IssuedToken, NewToken
from api.auth.tokens.tokens import Tokens
from api.db.accounts.tokens import ApiToken
from api.db.timestamps import dump_time, load_time
from api.http.guard.access import grants, principal_of
from api.http.guard.content_body import read_content
from api.http.request.json_body import FieldCheck, read_optional_json
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
        body = await read_content(req, "token-create", further=check_new_token(self._tokens.problems))
        new, actor = read_new_token(body), as_principal(principal_of(req))
        issued = await run_in_thread(self._tokens.create, actor, new.name, new.grants, new.expires_at, new.role)
        write_created(resp, issued, "/api/token")


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
        """Rotate the value: the response shows the new one, once; the old one is valid for the overlap in the body."""
        number, overlap = read_id(id, "API token"), await read_overlap(req)
        issued = await run_in_thread(self._tokens.rotate, as_principal(principal_of(req)), number, overlap)
        resp.media = {**show_token(issued.token), "token": issued.value}


def read_new_token(body: Mapping[str, Any]) -> NewToken:
    """Read the fields of a new token from a body; ValueError for a date that does not exist."""
    grants, text = tuple(load_grant(grant) for grant in body.get("grants", ())), body.get("expiresAt")
    return NewToken(body.get("name", ""), grants, load_time(text) if text else None, body.get("role"))


def check_new_token(find: Callable[[NewToken, Collection[str]], list[Problem]]) -> FieldCheck:
    """Return the check of the fields of a new token, by the operations that will create it."""

    def check(fields: Mapping[str, Any], skipped: Collection[str]) -> list[Problem]:
        try:
            return find(read_new_token(fields), skipped)
        except ValueError:
            problem = Problem("bad_format", "This date does not exist.", pointer="/expiresAt")
            return [problem, *find(read_new_token({**fields, "expiresAt": None}), {*skipped, "expiresAt"})]

    return check


async def read_overlap(req: Request) -> timedelta:
    """Read from the optional body for how long the old value of a token stays valid; 0 by default."""
    return timedelta(seconds=(await read_optional_json(req, "token-rotate")).get("overlap", 0))


def write_created(resp: Response, issued: IssuedToken, path: str) -> None:
    """Write the answer to the creation of a token, with its value."""
    resp.status = 201
    resp.location = f"{path}/{issued.token.id}"
    resp.media = {**show_token(issued.token), "token": issued.value}


def show_token(token: ApiToken) -> dict[str, Any]:
    """Return the JSON of a token, without its value."""
    return {
        "id": token.id,
        "name": token.name,
        "preview": token.preview,
        "grants": [grant.wire() for grant in load_grants(token.grants)],
        "role": token.role,
        "owner": {"id": token.owner_id, "username": token.owner} if token.owner_id else None,
        "expiresAt": dump_time(token.expires_at) if token.expires_at else None,
        "previousValidUntil": dump_time(token.previous_until) if token.previous_until else None,
        "createdAt": dump_time(token.created_at),
        "createdBy": token.created_by,
        "lastUsedAt": dump_time(token.last_used_at) if token.last_used_at else None,
    }
