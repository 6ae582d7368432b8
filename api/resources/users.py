"""Accounts over HTTP, and the caller's own."""

from typing import Any

from falcon.asgi import Request, Response

from api.access import any_principal, grants, principal_of
from api.background import in_thread
from api.body import read_json
from api.identity.accounts import Accounts, NewUser
from api.identity.principal import Principal, PrincipalKind, caller
from api.paging import write_window
from api.parameters import read_window
from api.resources.record_id import read_id
from api.state.moment import dump_time
from api.state.users import User


class Users:
    """All accounts."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @grants("user", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """A window of the accounts, in the order they were made."""
        limit, offset = read_window(req)
        found, total = await in_thread(self._accounts.window, limit, offset)
        write_window(resp, [show_user(user) for user in found], total, limit, offset)

    @grants("user", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Make an account: 201; 409 where the name is taken, 403 for roles beyond the caller's own grants."""
        body = await read_json(req, "user-create")
        user = await in_thread(self._accounts.create, caller(principal_of(req)), NewUser(**body))
        resp.status = 201
        resp.location = f"/api/user/{user.id}"
        resp.media = show_user(user)


class UserResource:
    """One account."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @grants("user", "read")
    async def on_get(self, _req: Request, resp: Response, id: str) -> None:
        """The account."""
        resp.media = show_user(await in_thread(self._accounts.find, read_id(id, "user")))

    @grants("user", "write")
    async def on_patch(self, req: Request, resp: Response, id: str) -> None:
        """Change names, roles, password, or whether it is active; a new password ends its sessions."""
        number = read_id(id, "user")
        body = await read_json(req, "user-update")
        resp.media = show_user(await in_thread(self._accounts.change, caller(principal_of(req)), number, body))

    @grants("user", "write")
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """Remove the account: 204; 409 where nobody would be left who may do everything."""
        await in_thread(self._accounts.remove, caller(principal_of(req)), read_id(id, "user"))
        resp.status = 204


class Me:
    """Whoever is calling."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Who the caller is and what they may do."""
        principal = caller(principal_of(req))
        user = await in_thread(self._accounts.own, principal) if principal.kind is PrincipalKind.USER else None
        resp.media = _show_caller(principal, user)

    @any_principal
    async def on_patch(self, req: Request, resp: Response) -> None:
        """Change one's own name, or password given the current one; a new password ends all sessions.

        429 after too many wrong ones, as for logins.
        """
        principal = caller(principal_of(req))
        body = await read_json(req, "me-update")
        user = await in_thread(self._accounts.change_own, principal, body, req.remote_addr)
        resp.media = _show_caller(principal, user)


def show_user(user: User) -> dict[str, Any]:
    """The JSON shape of an account."""
    return {
        "id": user.id,
        "username": user.username,
        "firstname": user.firstname,
        "lastname": user.lastname,
        "active": user.active,
        "roles": list(user.roles),
        "createdAt": dump_time(user.created_at),
        "lastLoginAt": dump_time(user.last_login_at) if user.last_login_at else None,
    }


def _show_caller(principal: Principal, user: User | None) -> dict[str, Any]:
    account = {name: value for name, value in show_user(user).items() if name in _OWN} if user else {}
    grants_held = [grant.wire() for grant in principal.grants]
    return {
        "kind": principal.kind.value,
        "id": principal.id,
        "name": principal.name,
        **account,
        "grants": grants_held,
    }


_OWN = {"username", "firstname", "lastname", "roles"}
