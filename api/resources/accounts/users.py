"""User accounts over HTTP, and the caller's own account."""

from typing import Any

from falcon.asgi import Request, Response

from api.auth.accounts import Accounts, NewUser
from api.auth.permissions.principal import Principal, PrincipalKind, as_principal
from api.db.accounts.users import User
from api.db.timestamps import dump_time
from api.http.guard.access import any_principal, grants, principal_of
from api.http.guard.content_body import read_content
from api.http.request.json_body import FieldCheck, clear_fields
from api.http.request.parameters import read_id, read_text, read_window
from api.http.response.paging import write_window
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.password_checks import PasswordChecks


class Users:
    """All accounts."""

    def __init__(self, accounts: Accounts, checks: PasswordChecks) -> None:
        self._accounts = accounts
        self._checks = checks

    @grants("user", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the accounts, in the order of creation: those whose names contain the text `q`."""
        limit, offset = read_window(req)
        found, total = await run_in_thread(self._accounts.window, limit, offset, read_text(req, "q") or "")
        write_window(resp, [show_user(user) for user in found], total, limit, offset)

    @grants("user", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Create an account: 201; 409 if the name is taken, 403 for roles beyond the caller's own grants."""
        body = await read_content(req, "user-create", further=_check_fields(self._accounts))
        actor = as_principal(principal_of(req))
        user = await self._checks.run(req.remote_addr, self._accounts.create, actor, NewUser(**body))
        resp.status = 201
        resp.location = f"/api/user/{user.id}"
        resp.media = show_user(user)


class UserResource:
    """One account."""

    def __init__(self, accounts: Accounts, checks: PasswordChecks) -> None:
        self._accounts = accounts
        self._checks = checks

    @grants("user", "read")
    async def on_get(self, _req: Request, resp: Response, id: str) -> None:
        """Show the account."""
        resp.media = show_user(await run_in_thread(self._accounts.find, read_id(id, "user")))

    @grants("user", "write")
    async def on_patch(self, req: Request, resp: Response, id: str) -> None:
        """Change names, roles, password or `active`; a new password ends the sessions of the account."""
        number = read_id(id, "user")
        read = await read_content(req, "user-update", further=_check_fields(self._accounts))
        body = clear_fields(read, firstname="", lastname="")
        actor = as_principal(principal_of(req))
        resp.media = show_user(await self._checks.run(req.remote_addr, self._accounts.change, actor, number, body))

    @grants("user", "write")
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """Remove the account: 204; 409 for the last account with every grant."""
        await run_in_thread(self._accounts.remove, as_principal(principal_of(req)), read_id(id, "user"))
        resp.status = 204


class Me:
    """The caller's own account."""

    def __init__(self, accounts: Accounts, checks: PasswordChecks) -> None:
        self._accounts = accounts
        self._checks = checks

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show the caller and their grants."""
        principal = as_principal(principal_of(req))
        user = await run_in_thread(self._accounts.find_own, principal) if principal.kind is PrincipalKind.USER else None
        resp.media = _show_caller(principal, user)

    @any_principal
    async def on_patch(self, req: Request, resp: Response) -> None:
        """Change the caller's name, or their password given the current one; a new password ends all sessions.

        429 after too many wrong passwords, as for logins.
        """
        principal = as_principal(principal_of(req))
        body = clear_fields(await read_content(req, "me-update"), firstname="", lastname="")
        address = req.remote_addr
        user = await self._checks.run(address, self._accounts.change_own, principal, body, address)
        resp.media = _show_caller(principal, user)


def _check_fields(accounts: Accounts) -> FieldCheck:
    return lambda fields, _refused: accounts.problems(fields)


def show_user(user: User) -> dict[str, Any]:
    """Return the JSON of an account."""
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
